// RUN: not tile-opt %s --split-input-file -p 'search-plan{budget=10367}' 2>&1 | filecheck %s
// RUN: not tile-opt %s --split-input-file -p 'search-plan{budget=8KB}' 2>&1 | filecheck %s --check-prefix=SIZE
// RUN: not tile-opt %s --split-input-file -p 'search-plan{budgets=8KiB}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not tile-opt %s --split-input-file -p 'search-plan{plans=0}' 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not tile-opt %s --split-input-file -p 'search-plan{plans=-1}' 2>&1 | filecheck %s --check-prefix=NEGATIVE

// SIZE: error: {{.*}}'8KB' is not a size: write plain bytes, or whole KiB, MiB or GiB
// OPTION: error: search-plan has no option 'budgets'; did you mean budget? (it takes: budget, plans, {{.*}})
// NONE: error: search-plan keeps at least 1 plan, not plans=0
// NEGATIVE: error: search-plan keeps at least 1 plan, not plans=-1

// One byte too few: 2048 of support, twice 4096 for x and its result, a 64th for gaps.
// The place is that of the fullest group.
// CHECK: f.mlir:2:8: error: no plan fits a budget of 10367 bytes a tile (2048 of them support); the smallest budget that works is 10368 bytes, fullest in 'h', step 'compute', tile 0; largest there: x at h 4096, h 4096
!x = tensor<4096xf32>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 4096) considered 4 dropped () columns ["parts.d0"] paths ["direct"] rests ["block row_major"] steps [1] table dense<[[4], [2]]> : tensor<2x1xi32> from "f.mlir":2:8
}

// -----

// Where not even all of a tile is enough, no budget is named.
// CHECK: error: no plan fits a budget of 10367 bytes a tile (2048 of them support); no plan fits the 16256 bytes of a tile either
!x = tensor<8192xf32>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 8192) considered 4 dropped () columns ["parts.d0"] paths ["direct"] rests ["block row_major"] steps [1] table dense<[[4], [2]]> : tensor<2x1xi32>
}

// -----

// A budget below the support has no room for a tensor; a budget of just that is looked at.
// CHECK: error: budget 10367 bytes is below the support reservation of 10368 bytes of mini4; give at least that, and room for tensors
!x = tensor<6xf32>
module attributes {tile.machine = {base = "mini4", memory = {support_bytes = 10368 : i64}}, tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    return %x : !x
  }
}

// -----

// CHECK: error: no plan fits a budget of 10367 bytes a tile (10367 of them support); the smallest budget that works is {{10[0-9]+}} bytes
!x = tensor<6xf32>
module attributes {tile.machine = {base = "mini4", memory = {support_bytes = 10367 : i64}}, tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 6) considered 1 dropped () columns ["parts.d0"] paths ["direct"] rests ["block row_major"] steps [1] table dense<[[1]]> : tensor<1x1xi32>
}

// -----

// A program without a step has to fit as well: 2048 of support, 8192 for what it returns,
// and a 64th for gaps.
// CHECK: error: no plan fits a budget of 10367 bytes a tile (2048 of them support); the smallest budget that works is 10368 bytes
!x = tensor<8192xf32>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    return %x : !x
  }
}

// -----

// CHECK: error: no plan fits a budget of 10367 bytes a tile (2048 of them support); no plan fits the 16256 bytes of a tile either
!x = tensor<16384xf32>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    return %x : !x
  }
}

// -----

// Budget and reserve share 16256 bytes, these are 16257.
// CHECK: error: budget 10367 and reserve 5890 bytes are together more than the 16256 bytes that a tile of mini4 can use; lower one of them
!x = tensor<6xf32>
module attributes {tile.machine = "mini4", tile.rung = 2, tile.reserve = 5890} {
  func.func @main(%x: !x) -> !x {
    return %x : !x
  }
}

// -----

// CHECK: error: {{.*}}search-plan reads rung 2 (catalogue), the module is at rung 1 (tensor program)
!x = tensor<6xf32>
module attributes {tile.machine = "mini4"} {
  func.func @main(%x: !x) -> !x {
    return %x : !x
  }
}

// -----

// Every group has its catalogue, in order, and there are no others.
// CHECK: error: the catalogues are of [], the program has ['h']
!x = tensor<6xf32>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x : !x
    return %h : !x
  }
}

// -----

// CHECK: error: the catalogues are of ['g'], the program has ['h']
!x = tensor<6xf32>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x : !x
    return %h : !x
  }
  plan.catalogue "g" (d0 6) considered 1 dropped () columns ["parts.d0"] paths ["direct"] rests ["block row_major"] steps [1] table dense<[[1]]> : tensor<1x1xi32>
}

// -----

// A table has a column for each dimension of its group.
// CHECK: f.mlir:3:8: error: the table has 2 columns for 1 dimensions
!x = tensor<6xf32>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 6, d1 1) considered 1 dropped () columns ["parts.d0", "parts.d1"] paths ["direct"] rests ["block row_major"] steps [1] table dense<[[1, 1]]> : tensor<1x2xi32> from "f.mlir":3:8
}

// -----

// Words of a catalogue that are none: a way, a place, an order, and a place without one.
// CHECK: f.mlir:3:8: error: the catalogue's choices cannot be read: 'direkt' is no way; known are stored, direct, relay, pack, stream, direct_steps, relay_steps
!x = tensor<6xf32>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 6) considered 1 dropped () columns ["parts.d0"] paths ["direkt"] rests ["block row_major"] steps [1] table dense<[[1]]> : tensor<1x1xi32> from "f.mlir":3:8
}

// -----

// CHECK: f.mlir:4:8: error: the catalogue's choices cannot be read: 'cutx' is no place; known are block, linear, cut0, cut1, ...
!x = tensor<6xf32>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 6) considered 1 dropped () columns ["parts.d0"] paths ["direct"] rests ["cutx row_major"] steps [1] table dense<[[1]]> : tensor<1x1xi32> from "f.mlir":4:8
}

// -----

// CHECK: f.mlir:5:8: error: the catalogue's choices cannot be read: 'column_major' is no order; known are row_major, panel
!x = tensor<6xf32>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 6) considered 1 dropped () columns ["parts.d0"] paths ["direct"] rests ["block column_major"] steps [1] table dense<[[1]]> : tensor<1x1xi32> from "f.mlir":5:8
}

// -----

// CHECK: f.mlir:6:8: error: the catalogue's choices cannot be read: a result has a place and an order
!x = tensor<6xf32>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 6) considered 1 dropped () columns ["parts.d0"] paths ["direct"] rests ["block"] steps [1] table dense<[[1]]> : tensor<1x1xi32> from "f.mlir":6:8
}

// -----

// CHECK: f.mlir:7:8: error: a way has a word for each of 1 operands
!x = tensor<6xf32>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 6) considered 1 dropped () columns ["parts.d0"] paths ["direct", "direct stored"] rests ["block row_major"] steps [1] table dense<[[1]]> : tensor<1x1xi32> from "f.mlir":7:8
}

// -----

// A grid has no more parts than there are tiles.
// CHECK: f.mlir:9:8: error: a row of the table is no grid of 1 to 4 tiles
!x = tensor<6xf32>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 6) considered 1 dropped () columns ["parts.d0"] paths ["direct"] rests ["block row_major"] steps [1] table dense<[[4], [5]]> : tensor<2x1xi32> from "f.mlir":9:8
}

// -----

// A group without candidates cannot be run.
// CHECK: f.mlir:9:9: error: the catalogue of 'h' has no candidate
!x = tensor<6xf32>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 6) considered 1 dropped () columns ["parts.d0"] paths ["direct"] rests ["cut0 row_major"] steps [1] table dense<[[4], [2]]> : tensor<2x1xi32> from "f.mlir":9:9
}

// -----

// What no candidate has is refused where its group stands, with what there is instead.
// CHECK: f.mlir:9:10: error: no candidate of 'h' has d0 3; d0 there is 2, 4 (3 parts give no smaller block than 2)
!x = tensor<16xf16>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x {tile.plan = {grid = {d0 = 3}}} : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 16) considered 1 dropped () columns ["parts.d0"] paths ["direct"] rests ["block row_major"] steps [1] table dense<[[4], [2]]> : tensor<2x1xi32> from "f.mlir":9:10
}

// -----

// Reading what is asked fails at the operation.
// CHECK: :{{[0-9]+}}:10: error: tile.plan: 'step' cannot be asked; known are grid, steps, paths, rest, order
!x = tensor<16xf16>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x {tile.plan = {step = 3}} : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 16) considered 1 dropped () columns ["parts.d0"] paths ["direct"] rests ["block row_major"] steps [1] table dense<[[4], [2]]> : tensor<2x1xi32> from "f.mlir":9:10
}

// -----

// Operations of one group must agree.
// CHECK: :{{[0-9]+}}:10: error: tile.plan: steps is asked to be 1 and 2, by operations that are planned together
!x = tensor<16xf16>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x {tile.plan = {steps = 1}} : !x
    %g = tile.exp %h {tile.plan = {steps = 2}} : !x
    return %g : !x
  }
  plan.catalogue "h" (d0 16) considered 1 dropped () columns ["parts.d0"] paths ["direct"] rests ["block row_major"] steps [1] table dense<[[4], [2]]> : tensor<2x1xi32> from "f.mlir":9:10
}

// -----

// A reshape is no step of any plan.
// CHECK: :{{[0-9]+}}:10: error: tile.plan: tile.reshape has no plan, as nothing of it is computed
!x = tensor<16xf16>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> tensor<4x4xf16> {
    %h = tile.neg %x : !x
    %g = tile.reshape %h {tile.plan = {steps = 2}} : !x -> tensor<4x4xf16>
    return %g : tensor<4x4xf16>
  }
  plan.catalogue "h" (d0 16) considered 1 dropped () columns ["parts.d0"] paths ["direct"] rests ["block row_major"] steps [1] table dense<[[4], [2]]> : tensor<2x1xi32> from "f.mlir":9:10
}

// -----

// A function asks for chunks only.
// CHECK: :{{[0-9]+}}:3: error: tile.plan: only chunks is asked of a function, not steps
!x = tensor<16xf16>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> !x attributes {tile.plan = {steps = 2}} {
    %h = tile.neg %x : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 16) considered 1 dropped () columns ["parts.d0"] paths ["direct"] rests ["block row_major"] steps [1] table dense<[[4], [2]]> : tensor<2x1xi32> from "f.mlir":9:10
}
