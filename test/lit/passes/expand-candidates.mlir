// RUN: tile-opt %s --split-input-file -p expand-candidates | filecheck %s

// A ragged product on 4 tiles of 8x8 blocks: m 5 is cut into up to 4, n 10 into 2 blocks
// of columns, k 20 into 3 panels, 4 * 2 * 3 = 24. 4 parts of m have 2 rows at most, as 3
// parts have: 6 fall away; of the 3 * 2 * 3 others 9 need more than 4 tiles. w is known
// before the run, so it is stored or streamed; 3 panels allow up to 3 steps. The 5 rows may
// go one chunk after another, in chunks of 5, 3, 2 or 1. The program stays, and its text
// is kept.
// CHECK-LABEL: @ragged_product
// CHECK-SAME: tile.source = "builtin.module @ragged_product {{.*}} tile.matmul %x, %w
// CHECK-SAME: tile.rung = 2
// CHECK: %y = tile.matmul %x, %w
// CHECK: plan.catalogue "y" (b 1, m 5, n 10, k 20) considered 24 dropped (same_block 6, tiles 9)
// CHECK-NEXT: columns ["parts.b", "parts.m", "parts.n", "parts.k"]
// CHECK-NEXT: paths ["direct stored", "direct stream", "relay stored", "relay stream", "pack stored", "pack stream", "relay_steps stored", "relay_steps stream"]
// CHECK-NEXT: rests ["block panel", "linear row_major", "cut0 panel", "cut0 row_major", "cut1 panel", "cut1 row_major", "cut2 panel", "cut2 row_major"]
// CHECK-NEXT: steps [1, 2, 3]
// CHECK-NEXT: chunks [1, 2, 3, 5]
// CHECK-NEXT{LITERAL}: table dense<[[1, 1, 1, 1], [1, 1, 1, 2], [1, 1, 1, 3], [1, 1, 2, 1], [1, 1, 2, 2], [1, 2, 1, 1], [1, 2, 1, 2], [1, 2, 2, 1], [1, 3, 1, 1]]> : tensor<9x4xi32>
// CHECK-SAME: from "{{.*}}expand-candidates.mlir":{{[0-9]+}}:10
module @ragged_product attributes {tile.machine = "mini4"} {
  func.func @main(%x: tensor<5x20xf16>, %w: tensor<20x10xf16> {tile.parameter}) -> tensor<5x10xf16> {
    %y = tile.matmul %x, %w : (tensor<5x20xf16>, tensor<20x10xf16>) -> tensor<5x10xf16>
    return %y : tensor<5x10xf16>
  }
}

// -----

// On one tile there is nothing to cut.
// CHECK-LABEL: @one_tile
// CHECK: plan.catalogue "y" (b 1, m 5, n 10, k 20) considered 1 dropped (same_block 0, tiles 0)
// CHECK: steps [1, 2, 3]
// CHECK-NEXT: chunks [1, 2, 3, 5]
// CHECK-NEXT: table dense<1> : tensor<1x4xi32>
module @one_tile attributes {tile.machine = {base = "mini4", tiles = 1 : i64}} {
  func.func @main(%x: tensor<5x20xf16>, %w: tensor<20x10xf16> {tile.parameter}) -> tensor<5x10xf16> {
    %y = tile.matmul %x, %w : (tensor<5x20xf16>, tensor<20x10xf16>) -> tensor<5x10xf16>
    return %y : tensor<5x10xf16>
  }
}

// -----

// Two products in a row: the first ends with its activation and rests in panels where the
// second may read it, so no codelet has to pack it. A result with an activation is not
// summed straight into linear ownership. One panel of depth allows one step.
// CHECK-LABEL: @chain
// CHECK: plan.catalogue "h" (b 1, m 2, n 8, k 8)
// CHECK: rests ["block panel", "block row_major", "cut0 panel"
// CHECK: plan.catalogue "y" (b 1, m 2, n 8, k 8) considered 2 dropped (same_block 0, tiles 0)
// CHECK: paths ["direct stored", "direct stream", "direct_steps stored", "direct_steps stream", "relay_steps stored", "relay_steps stream"]
// CHECK-NEXT: rests ["block panel", "linear row_major", "cut0 panel"
// CHECK-NEXT: steps [1]
// CHECK-NEXT: chunks [1, 2]
// CHECK-NEXT{LITERAL}: table dense<[[1, 1, 1, 1], [1, 2, 1, 1]]> : tensor<2x4xi32>
!x = tensor<2x8xf16>
!w = tensor<8x8xf16>
module @chain attributes {tile.machine = "mini4"} {
  func.func @main(%x: !x, %a: !w {tile.parameter}, %b: !w {tile.parameter}) -> !x {
    %h = tile.matmul %x, %a : (!x, !w) -> !x
    %r = tile.relu %h : !x
    %y = tile.matmul %r, %b : (!x, !w) -> !x
    return %y : !x
  }
}

// -----

// The matrix unit does not add 8-bit products in f32: each operand is cast first, a group
// of its own. Sums in f32 come in blocks of 4 columns, so n 8 has 2 of them: 2 * 2 grids.
// CHECK-LABEL: @widened
// CHECK: plan.catalogue "x.f16" (d0 16)
// CHECK: plan.catalogue "w.f16" (d0 64)
// CHECK: paths ["stored"]
// CHECK: plan.catalogue "y" (b 1, m 2, n 8, k 8) considered 4 dropped (same_block 0, tiles 0)
// CHECK: paths ["direct direct"
module @widened attributes {tile.machine = "mini4"} {
  func.func @main(%x: tensor<2x8xf8E4M3FNUZ>, %w: tensor<8x8xf8E5M2FNUZ> {tile.parameter}) -> tensor<2x8xf32> {
    %y = tile.matmul %x, %w : (tensor<2x8xf8E4M3FNUZ>, tensor<8x8xf8E5M2FNUZ>) -> tensor<2x8xf32>
    return %y : tensor<2x8xf32>
  }
}

// -----

// Two maps of one value in a row are one group, and 2x5 elements are one dimension, cut in
// pairs of f32 (8 bytes): 5 pairs, up to 4 parts. 4 parts have 2 pairs at most, as 3 have.
// CHECK-LABEL: @maps
// CHECK-COUNT-1: plan.catalogue
// CHECK-SAME: "y" (d0 10) considered 4 dropped (same_block 1, tiles 0)
// CHECK-NEXT: columns ["parts.d0"]
// CHECK-NEXT: paths ["direct"]
// CHECK-NEXT: rests ["block row_major", "cut0 row_major"]
// CHECK-NEXT: steps [1]
// CHECK-NEXT{LITERAL}: table dense<[[1], [2], [3]]> : tensor<3x1xi32>
// CHECK-NOT: plan.catalogue
module @maps attributes {tile.machine = "mini4"} {
  func.func @main(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
    %y = tile.neg %x : tensor<2x5xf32>
    %z = tile.abs %y : tensor<2x5xf32>
    return %z : tensor<2x5xf32>
  }
}

// -----

// An operand that is broadcast keeps the dimensions apart: 3 * 4 grids of single f32. 4
// parts of 5 are as 3 parts; 3x2, 2x3 and 3x3 need too many tiles.
// CHECK-LABEL: @broadcast
// CHECK: plan.catalogue "y" (d0 3, d1 5) considered 12 dropped (same_block 3, tiles 3)
// CHECK-NEXT: columns ["parts.d0", "parts.d1"]
// CHECK-NEXT: paths ["direct stored"]
// CHECK-NEXT: rests ["block row_major", "cut0 row_major", "cut1 row_major"]
// CHECK-NEXT: steps [1]
// CHECK-NEXT: chunks [1, 2, 3]
// CHECK-NEXT{LITERAL}: table dense<[[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [3, 1]]> : tensor<6x2xi32>
module @broadcast attributes {tile.machine = "mini4"} {
  func.func @main(%x: tensor<3x5xf32>, %b: tensor<5xf32> {tile.parameter}) -> tensor<3x5xf32> {
    %y = tile.add %x, %b : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
    return %y : tensor<3x5xf32>
  }
}

// -----

// Of two reduced dimensions only the longer is cut: 2 * 3 * 4 grids with d0 cut too, 1 *
// 3 * 3 without it and with 4 parts of 5 as 3, and 3 of those need more than 4 tiles.
// CHECK-LABEL: @reduction
// CHECK: plan.catalogue "y" (d0 2, d1 3, d2 5) considered 24 dropped (same_block 15, tiles 3)
// CHECK: paths ["direct"]
// CHECK-NEXT: rests ["block row_major", "cut0 row_major"]
// CHECK-NEXT: steps [1]
// CHECK-NEXT{LITERAL}: table dense<[[1, 1, 1], [1, 1, 2], [1, 1, 3], [1, 2, 1], [1, 2, 2], [1, 3, 1]]> : tensor<6x3xi32>
module @reduction attributes {tile.machine = "mini4"} {
  func.func @main(%x: tensor<2x3x5xf32>) -> tensor<3xf32> {
    %y = tile.reduce sum %x over [0, 2] : tensor<2x3x5xf32> -> tensor<3xf32>
    return %y : tensor<3xf32>
  }
}

// -----

// A scalar has a dimension of one element, which rests on one tile.
// CHECK-LABEL: @scalar
// CHECK: plan.catalogue "y" (d0 5, one 1) considered 4 dropped (same_block 1, tiles 0)
// CHECK: rests ["block row_major", "cut0 row_major"]
// CHECK-NEXT: steps [1]
// CHECK-NEXT{LITERAL}: table dense<[[1, 1], [2, 1], [3, 1]]> : tensor<3x2xi32>
module @scalar attributes {tile.machine = "mini4"} {
  func.func @main(%x: tensor<5xf32>) -> tensor<f32> {
    %y = tile.reduce max %x over [0] : tensor<5xf32> -> tensor<f32>
    return %y : tensor<f32>
  }
}

// -----

// y is used twice, so its activation is a group of its own; z reads two values, one of
// them computed, one a constant that lies there already.
// CHECK-LABEL: @used_twice
// CHECK: plan.catalogue "y" (b 1, m 2, n 8, k 8)
// CHECK: plan.catalogue "r" (d0 16) considered 4 dropped (same_block 1, tiles 0)
// CHECK: plan.catalogue "z" (d0 16) considered 4 dropped (same_block 1, tiles 0)
// CHECK: paths ["direct direct"]
// CHECK: plan.catalogue "v" (d0 16)
// CHECK: paths ["direct stored"]
// CHECK: steps [1]
// CHECK-NEXT{LITERAL}: table dense<[[1], [2], [4]]> : tensor<3x1xi32>
!x = tensor<2x8xf16>
module @used_twice attributes {tile.machine = "mini4"} {
  func.func @main(%x: !x, %w: tensor<8x8xf16> {tile.parameter}) -> !x {
    %y = tile.matmul %x, %w : (!x, tensor<8x8xf16>) -> !x
    %r = tile.relu %y : !x
    %z = tile.mul %y, %r : !x
    %c = tile.constant splat 2.0 : !x
    %v = tile.mul %z, %c : !x
    return %v : !x
  }
}

// -----

// A transpose is a map whose operand has another order of axes; a reshape is nothing.
// CHECK-LABEL: @views
// CHECK: plan.catalogue "y" (d0 3, d1 2) considered 6 dropped (same_block 0, tiles 1)
// CHECK: paths ["direct"]
// CHECK: table
// CHECK-NOT: plan.catalogue
module @views attributes {tile.machine = "mini4"} {
  func.func @main(%x: tensor<2x3xf32>) -> tensor<6xf32> {
    %y = tile.transpose %x [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
    %z = tile.reshape %y : tensor<3x2xf32> -> tensor<6xf32>
    return %z : tensor<6xf32>
  }
}

// -----

// CHECK-LABEL: @nothing_to_do
// CHECK-SAME: tile.rung = 2
// CHECK-NOT: plan.catalogue
module @nothing_to_do attributes {tile.machine = "mini4"} {
  func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    return %x : tensor<6xf32>
  }
}
