// RUN: tile-opt %s --split-input-file | tile-opt --split-input-file | filecheck %s
// RUN: tile-opt %s --split-input-file --print-op-generic | tile-opt --split-input-file | filecheck %s

// A value is loaded, moved and computed; a step without an estimate says none.
// CHECK-LABEL: @steps
// CHECK: %0 = plan.load %x for "g"
// CHECK-NEXT: : tensor<4x8xf16> layout <[32] bytes 2 spread [4 step 1] packed> from "f.mlir":3:8
// CHECK-NEXT: %1 = plan.relayout %0 for "g" estimate 9 exchange 70
// CHECK-NEXT: : tensor<4x8xf16> layout <[4, 8 / 2 step 1] bytes 2> from "f.mlir":3:8
// CHECK-NEXT: %2 = plan.compute map (d0, d1) grid <[4, 8 / 2 step 1] bytes 1>
// CHECK-NEXT: (%1 [d0, d1] : tensor<4x8xf16>) -> [d0, d1] for "g" {stages = []} estimate 5
// CHECK-NEXT: : tensor<4x8xf16> layout <[4, 8 / 2 step 1] bytes 2> from "f.mlir":3:8
// CHECK-NEXT: %3 = plan.relayout %2 for "g"
// CHECK-NEXT: : tensor<4x8xf16> layout <[32] bytes 2 spread [4 step 1] packed>{{$}}
// CHECK-NEXT: func.return %3
!x = tensor<4x8xf16>
module @steps {
  func.func @main(%x: !x) -> !x {
    %0 = plan.load %x for "g" : !x layout <[32] bytes 2 spread [4 step 1] packed> from "f.mlir":3:8
    %1 = plan.relayout %0 for "g" estimate 9 exchange 70 : !x layout <[4, 8 / 2 step 1] bytes 2> from "f.mlir":3:8
    %2 = plan.compute map (d0, d1) grid <[4, 8 / 2 step 1] bytes 1> (%1 [d0, d1] : !x) -> [d0, d1] for "g" {stages = []} estimate 5 : !x layout <[4, 8 / 2 step 1] bytes 2> from "f.mlir":3:8
    %3 = plan.relayout %2 for "g" : !x layout <[32] bytes 2 spread [4 step 1] packed>
    return %3 : !x
  }
}

// -----

// A relayout may fill padding first, share its buffer with others and join the phase
// before it; an operand that comes in steps holds a window of its block.
// CHECK-LABEL: @in_steps
// CHECK: %1 = plan.relayout %0 for "g" zeroed 1 estimate_of_zeros 3 slot "g.x" estimate 9 exchange 70
// CHECK-NEXT: : tensor<4x10xf16> layout <[4, 10] bytes 2 order [1, 0, 1:8] window [1 from 0 for 8]>
// CHECK-NEXT: %2 = plan.relayout %0 for "g" slot "g.x" joined
// CHECK-NEXT: : tensor<4x10xf16> layout <[4, 10] bytes 2 order [1, 0, 1:8] window [1 from 8 for 8]>
// CHECK-NEXT: %3 = plan.relayout %0 for "g" zeroed 0 estimate_of_zeros 0 exchange 60
!x = tensor<4x10xf16>
module @in_steps {
  func.func @main(%x: !x) {
    %0 = plan.load %x for "g" : !x layout <[40] bytes 2 spread [4 step 1] packed>
    %1 = plan.relayout %0 for "g" zeroed 1 estimate_of_zeros 3 slot "g.x" estimate 9 exchange 70 : !x layout <[4, 10] bytes 2 order [1, 0, 1:8] window [1 from 0 for 8]>
    %2 = plan.relayout %0 for "g" slot "g.x" joined : !x layout <[4, 10] bytes 2 order [1, 0, 1:8] window [1 from 8 for 8]>
    %3 = plan.relayout %0 for "g" zeroed 0 exchange 60 : !x layout <[4, 10] bytes 2>
    return
  }
}

// -----

// A product names the dimensions of every operand and has partial sums on 2 tiles; a
// reduction adds them, counting on each tile's own or not. A step may have no input.
// CHECK-LABEL: @product
// CHECK: %2 = plan.compute matmul (b, m, n, k) grid <[1, 4, 8, 16 / 2 step 1 grain 8] bytes 1>
// CHECK-NEXT: (%0 [b, m, k] : tensor<4x16xf16>, %1 [b, k, n] : tensor<16x8xf16>) -> [b, m, n] for "h" {accumulate = "f32"}
// CHECK-NEXT: : tensor<4x8xf32> layout <[1, 4, 8] bytes 4 partial 2 step 1>
// CHECK-NEXT: %3 = plan.reduce sum %2 own for "h" estimate 5 exchange 60
// CHECK-NEXT: : tensor<4x8xf32> layout <[1, 4 / 2 step 1, 8] bytes 4> from "f.mlir":1:1
// CHECK-NEXT: %4 = plan.reduce max %2 for "h"
// CHECK-NEXT: : tensor<4x8xf32> layout <[32] bytes 4 first 1>
// CHECK-NEXT: %5 = plan.compute map (d0) grid <[32] bytes 1>
// CHECK-NEXT: () -> [d0] for "e"
// CHECK-NEXT: : tensor<32xf32> layout <[32] bytes 4>
// CHECK-NEXT: %6 = plan.compute map () grid <[] bytes 1>
// CHECK-NEXT: () -> [] for "scalar"
module @product {
  func.func @main(%x: tensor<4x16xf16>, %w: tensor<16x8xf16>) {
    %0 = plan.load %x for "h" : tensor<4x16xf16> layout <[1, 4, 16 / 2 step 1 grain 8] bytes 2 order [0, 2, 1, 2:8]>
    %1 = plan.load %w for "h" : tensor<16x8xf16> layout <[1, 16 / 2 step 1 grain 8, 8] bytes 2 order [0, 1, 2, 2:8, 1:8]>
    %2 = plan.compute matmul (b, m, n, k) grid <[1, 4, 8, 16 / 2 step 1 grain 8] bytes 1> (%0 [b, m, k] : tensor<4x16xf16>, %1 [b, k, n] : tensor<16x8xf16>) -> [b, m, n] for "h" {accumulate = "f32"} : tensor<4x8xf32> layout <[1, 4, 8] bytes 4 partial 2 step 1>
    %3 = plan.reduce sum %2 own for "h" estimate 5 exchange 60 : tensor<4x8xf32> layout <[1, 4 / 2 step 1, 8] bytes 4> from "f.mlir":1:1
    %4 = plan.reduce max %2 for "h" : tensor<4x8xf32> layout <[32] bytes 4 first 1>
    %5 = plan.compute map (d0) grid <[32] bytes 1> () -> [d0] for "e" : tensor<32xf32> layout <[32] bytes 4>
    %6 = plan.compute map () grid <[] bytes 1> () -> [] for "scalar" : tensor<f32> layout <[] bytes 4>
    return
  }
}

// -----

// Partial sums may be added in batches: some of them, onto the sum of others.
// CHECK-LABEL: @batches
// CHECK: %1 = plan.part %0 for "h"
// CHECK-NEXT: : tensor<4x8xf32> layout <[4, 8] bytes 4 partial 3 step 1>
// CHECK-NEXT: %2 = plan.reduce sum %1 for "h"
// CHECK-NEXT: : tensor<4x8xf32> layout <[4 / 4 step 1, 8] bytes 4>
// CHECK-NEXT: %3 = plan.part %0 for "h"
// CHECK-NEXT: : tensor<4x8xf32> layout <[4, 8] bytes 4 first 3 partial 1 step 1> from "f.mlir":1:1
// CHECK-NEXT: %4 = plan.reduce sum %3 onto %2 for "h" estimate 5 exchange 60
!y = tensor<4x8xf32>
module @batches {
  func.func @main(%x: !y) -> !y {
    %0 = plan.load %x for "h" : !y layout <[4, 8] bytes 4 partial 4 step 1>
    %1 = plan.part %0 for "h" : !y layout <[4, 8] bytes 4 partial 3 step 1>
    %2 = plan.reduce sum %1 for "h" : !y layout <[4 / 4 step 1, 8] bytes 4>
    %3 = plan.part %0 for "h" : !y layout <[4, 8] bytes 4 first 3 partial 1 step 1> from "f.mlir":1:1
    %4 = plan.reduce sum %3 onto %2 for "h" estimate 5 exchange 60 : !y layout <[4 / 4 step 1, 8] bytes 4>
    return %4 : !y
  }
}

// -----

// Several plans stand side by side, each with its cycles and bytes, and behind them what
// each is made of; a plan may give nothing, and a view changes the shape of what it gives.
// CHECK-LABEL: @choices
// CHECK: %r = plan.alternatives : (tensor<2x3xf32>) plan 7 cycles 2100 bytes {
// CHECK-NEXT: %0 = plan.load %x for "fast"
// CHECK-NEXT: : tensor<6xf32> layout <[6] bytes 4>
// CHECK-NEXT: %1 = plan.view %0 : tensor<6xf32> to tensor<2x3xf32>
// CHECK-NEXT: plan.yield %1 : tensor<2x3xf32>
// CHECK-NEXT: } plan 9 cycles 2060 bytes {
// CHECK-NEXT: plan.yield %y : tensor<2x3xf32>
// CHECK-NEXT: } choices [{fast = {steps = 1 : i64}}, {}] from "f.mlir":2:3
// CHECK-NEXT: plan.alternatives : () plan 0 cycles 0 bytes {
// CHECK-NEXT: plan.yield
// CHECK-NEXT: } attributes {note = "kept"}
module @choices {
  func.func @main(%x: tensor<6xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %r = plan.alternatives : (tensor<2x3xf32>) plan 7 cycles 2100 bytes {
      %0 = plan.load %x for "fast" : tensor<6xf32> layout <[6] bytes 4>
      %1 = plan.view %0 : tensor<6xf32> to tensor<2x3xf32>
      plan.yield %1 : tensor<2x3xf32>
    } plan 9 cycles 2060 bytes {
      plan.yield %y : tensor<2x3xf32>
    } choices [{fast = {steps = 1}}, {}] from "f.mlir":2:3
    plan.alternatives : () plan 0 cycles 0 bytes {
      plan.yield
    } attributes {note = "kept"}
    return %r : tensor<2x3xf32>
  }
}

// -----

// A catalogue has a row for every grid and words for what is chosen besides; the one of
// a group without dimensions has one row of no number.
// CHECK-LABEL: @catalogues
// CHECK: plan.catalogue "h" (b 1, m 4, n 8, k 16) considered 8 dropped (same_block 2, tiles 3)
// CHECK-NEXT: columns ["parts.b", "parts.m", "parts.n", "parts.k"]
// CHECK-NEXT: paths ["direct stored", "relay stream"]
// CHECK-NEXT: rests ["block panel", "linear row_major", "cut1 panel"]
// CHECK-NEXT: steps [1, 2]
// CHECK-NEXT: table dense<{{\[\[}}1, 1, 1, 1], [1, 2, 1, 2]]> : tensor<2x4xi32> from "f.mlir":3:8
// CHECK-NEXT: plan.catalogue "scalar" () considered 1 dropped ()
// CHECK-NEXT: columns []
// CHECK-NEXT: paths []
// CHECK-NEXT: rests ["block row_major"]
// CHECK-NEXT: steps []
// CHECK-NEXT: table dense<> : tensor<1x0xi32> attributes {note = "kept"}
module @catalogues {
  plan.catalogue "h" (b 1, m 4, n 8, k 16) considered 8 dropped (same_block 2, tiles 3) columns ["parts.b", "parts.m", "parts.n", "parts.k"] paths ["direct stored", "relay stream"] rests ["block panel", "linear row_major", "cut1 panel"] steps [1, 2] table dense<[[1, 1, 1, 1], [1, 2, 1, 2]]> : tensor<2x4xi32> from "f.mlir":3:8
  plan.catalogue "scalar" () considered 1 dropped () columns [] paths [] rests ["block row_major"] steps [] table dense<> : tensor<1x0xi32> attributes {note = "kept"}
}

// -----

// A layout as an attribute of its own: all it can say, and what it leaves out by default.
// CHECK-LABEL: @layouts
// CHECK-SAME: a = #plan.layout<[729 / 9 step 162 / 6 step 1 grain 14 balanced, 1152] bytes 1 order [1, 0, 1:32] first 3 replicas [2 step 8] partial 2 step 4 spread [2 step 16, 2 step 32] by 16 window [1 from 0 for 64, 0 from 2 for 1]>
// CHECK-SAME: b = #plan.layout<[2, 3] bytes 4>
// CHECK-SAME: c = #plan.layout<[8 / 2] bytes 2 packed>
module @layouts attributes {
  a = #plan.layout<[729 / 9 step 162 / 6 step 1 grain 14 balanced, 1152] bytes 1 order [1, 0, 1:32] first 3 replicas [2 step 8] partial 2 step 4 spread [2 step 16, 2 step 32] by 16 window [1 from 0 for 64, 0 from 2 for 1]>,
  b = #plan.layout<[2, 3] bytes 4 order [0, 1] first 0>,
  c = #plan.layout<[8 / 2 step 0 grain 1] bytes 2 spread [] by 8 packed>
} {}
