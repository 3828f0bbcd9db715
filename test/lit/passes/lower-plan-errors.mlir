// RUN: tile-opt %s --split-input-file --verify-diagnostics -p lower-plan | filecheck %s

// One plan must have been chosen.
// CHECK: lower-plan-errors.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 1 plans are left; run select-plan first
module attributes {tile.machine = "mini4", tile.rung = 3} {
  func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %r = plan.alternatives : (tensor<6xf32>) plan 1 cycles 2 bytes {
      %0 = plan.load %x for "g" : tensor<6xf32> layout <[6] bytes 4 spread [4 step 1] packed>
      plan.yield %0 : tensor<6xf32>
    }
    return %r : tensor<6xf32>
  }
}

// -----

// A tensor operation is no step.
// CHECK: error: tile.neg is no step of a plan
module attributes {tile.machine = "mini4", tile.rung = 3} {
  func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = tile.neg %x : tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}

// -----

// CHECK: error: plan.reduce needs partial sums
module attributes {tile.machine = "mini4", tile.rung = 3} {
  func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = plan.load %x for "g" : tensor<6xf32> layout <[6] bytes 4>
    %1 = plan.reduce sum %0 for "g" : tensor<6xf32> layout <[6] bytes 4>
    return %1 : tensor<6xf32>
  }
}

// -----

// The halves of 3 rows begin at no multiple of 8 bytes, so a codelet cannot read them there.
// CHECK: a.mlir:1:2: error: a tile's own partial does not lie where the plan has it
module attributes {tile.machine = "mini4", tile.rung = 3} {
  func.func @main(%x: tensor<6x2xf32>) -> tensor<6xf32> {
    %0 = plan.load %x for "g" : tensor<6x2xf32> layout <[6, 2 / 2 step 1] bytes 4>
    %1 = plan.compute reduce (d0, d1) grid <[6, 2 / 2 step 1] bytes 1> (%0 [d0, d1] : tensor<6x2xf32>) -> [d0] for "g" {function = "sum", reduced = ["d1"]} : tensor<6xf32> layout <[6] bytes 4 partial 2 step 1>
    %2 = plan.reduce sum %1 own for "g" : tensor<6xf32> layout <[6 / 2 step 1] bytes 4> from "a.mlir":1:2
    return %2 : tensor<6xf32>
  }
}

// -----

// Of 4 partial sums on neighbouring tiles the last 2 begin on tile 2.
// CHECK: a.mlir:1:2: error: plan.part names no partial sums of its source
module attributes {tile.machine = "mini4", tile.rung = 3} {
  func.func @main(%x: tensor<8x8xf32>) -> tensor<8xf32> {
    %0 = plan.load %x for "g" : tensor<8x8xf32> layout <[8, 8 / 4 step 1] bytes 4>
    %1 = plan.compute reduce (d0, d1) grid <[8, 8 / 4 step 1] bytes 1> (%0 [d0, d1] : tensor<8x8xf32>) -> [d0] for "g" {function = "sum", reduced = ["d1"]} : tensor<8xf32> layout <[8] bytes 4 partial 4 step 1>
    %2 = plan.part %1 for "g" : tensor<8xf32> layout <[8] bytes 4 first 3 partial 2 step 1> from "a.mlir":1:2
    %3 = plan.reduce sum %2 for "g" : tensor<8xf32> layout <[8 / 4 step 1] bytes 4>
    return %3 : tensor<8xf32>
  }
}

// -----

// A batch is added where the sum of the others lies.
// CHECK: a.mlir:1:2: error: plan.reduce adds onto a sum of other partials in its own layout
module attributes {tile.machine = "mini4", tile.rung = 3} {
  func.func @main(%x: tensor<8x8xf32>) -> tensor<8xf32> {
    %0 = plan.load %x for "g" : tensor<8x8xf32> layout <[8, 8 / 4 step 1] bytes 4>
    %1 = plan.compute reduce (d0, d1) grid <[8, 8 / 4 step 1] bytes 1> (%0 [d0, d1] : tensor<8x8xf32>) -> [d0] for "g" {function = "sum", reduced = ["d1"]} : tensor<8xf32> layout <[8] bytes 4 partial 4 step 1>
    %2 = plan.part %1 for "g" : tensor<8xf32> layout <[8] bytes 4 partial 2 step 1>
    %3 = plan.reduce sum %2 for "g" : tensor<8xf32> layout <[8 / 2 step 1] bytes 4>
    %4 = plan.part %1 for "g" : tensor<8xf32> layout <[8] bytes 4 first 2 partial 2 step 1>
    %5 = plan.reduce sum %4 onto %3 for "g" : tensor<8xf32> layout <[8 / 4 step 1] bytes 4> from "a.mlir":1:2
    return %5 : tensor<8xf32>
  }
}

// -----

// CHECK: error: {{.*}}lower-plan reads rung 3
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main() {
    return
  }
}
