// RUN: tile-opt %s --split-input-file --verify-diagnostics -p select-plan | filecheck %s

// No plan can be placed: x takes 2048 bytes of a tile, the budget leaves 952.
// CHECK: select-plan-errors.mlir:{{[0-9]+}}:{{[0-9]+}}: error: none of 1 plans can be placed within the budget; the first:
!x = tensor<512xf32>
module attributes {tile.machine = "mini4", tile.rung = 3, tile.budget = 3000} {
  func.func @main(%x: !x) -> !x {
    %r = plan.alternatives : (!x) plan 1 cycles 2100 bytes {
      %0 = plan.load %x for "g" : !x layout <[512] bytes 4>
      plan.yield %0 : !x
    }
    return %r : !x
  }
}

// -----

// CHECK: error: {{.*}}select-plan reads rung 3
module attributes {tile.machine = "mini4", tile.rung = 4} {
  memory.program @main {
  }
}
