// RUN: tile-opt %s --split-input-file -p lower-plan | filecheck %s

// A relayout is a phase; what stays on its tile is copied after it. The source lives to
// the last of both, the result to the end.
// CHECK-LABEL: @moved
// CHECK-SAME: tile.rung = 4
// CHECK-SAME: tile.entry = "main"
// CHECK: %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 2)
// CHECK: %g.value = memory.buffer output "g.value" 32 bytes on <0 [2:1]> align 8 live [0, 2)
// CHECK: memory.bind input 0 "x" %x : tensor<4x8xf16>
// CHECK: memory.bind output 0 "result0" %g.value : tensor<4x8xf16>
// CHECK: exchange.phase 0 "g g.value" estimate 70
// CHECK-NEXT: exchange.move %x to %g.value
// CHECK: codelet.compute 1 "g g.value copy" estimate 9
// CHECK-NEXT: codelet.copy %x to %g.value
!x = tensor<4x8xf16>
module @moved attributes {tile.machine = "mini4", tile.rung = 3} {
  func.func @main(%x: !x) -> !x {
    %0 = plan.load %x for "g" : !x layout <[32] bytes 2 spread [4 step 1] packed> from "a.mlir":1:2
    %1 = plan.relayout %0 for "g" estimate 9 exchange 70 : !x layout <[4, 8 / 2 step 1] bytes 2> from "a.mlir":1:2
    return %1 : !x
  }
}

// -----

// Tiles whose blocks have one shape share a call; places on rung 1 stay.
// CHECK-LABEL: @computed
// CHECK: codelet.compute 0 "n map" estimate 5
// CHECK-NEXT: codelet.run map (d0 4) on <0 [2:1]>
// CHECK-NEXT: (%x: f16 d0 [4:2]) ->
// CHECK-NEXT: (%n: f16 d0 [4:2])
// CHECK-NEXT: stages = [{function = "neg"
// CHECK-SAME: from "a.mlir":3:4
// CHECK: codelet.run map (d0 3) on <2>
module @computed attributes {tile.machine = "mini4", tile.rung = 3} {
  func.func @main(%x: tensor<11xf16>) -> tensor<11xf16> {
    %0 = plan.load %x for "n" : tensor<11xf16> layout <[11 / 3 step 1 grain 4] bytes 2> from "a.mlir":3:4
    %1 = plan.compute map (d0) grid <[11 / 3 step 1 grain 4] bytes 1> (%0 [d0] : tensor<11xf16>) -> [d0] for "n" {stages = [{function = "neg", operands = [], format = "f16", scale = 0 : i64}]} estimate 5 : tensor<11xf16> layout <[11 / 3 step 1 grain 4] bytes 2> from "a.mlir":3:4
    return %1 : tensor<11xf16>
  }
}

// -----

// Partial sums are stacked; each tile's own is read where it lies.
// CHECK-LABEL: @summed
// CHECK: %g = memory.buffer partial "g" 64 bytes on <0 [2:1]>
// CHECK: %g.stack = memory.buffer stack "g.stack" 32 bytes on <0 [2:1]>
// CHECK: exchange.move %g to %g.stack stack
// CHECK: codelet.run sum (p 1, d0 8) on <0>
// CHECK-NEXT: (%g.stack: f32 p [1:32] d0 [8:4],
// CHECK-NEXT: %g: f32 d0 [8:4]) ->
// CHECK: own = [0 : i64, 1 : i64, 2 : i64]
// CHECK: codelet.run sum (p 1, d0 8) on <1>
// CHECK-NEXT: (%g.stack: f32 p [1:32] d0 [8:4],
// CHECK-NEXT: %g: f32 at 32 d0 [8:4]) ->
module @summed attributes {tile.machine = "mini4", tile.rung = 3} {
  func.func @main(%x: tensor<16x6xf32>) -> tensor<16xf32> {
    %0 = plan.load %x for "g" : tensor<16x6xf32> layout <[16, 6 / 2 step 1] bytes 4> from "a.mlir":1:2
    %1 = plan.compute reduce (d0, d1) grid <[16, 6 / 2 step 1] bytes 1> (%0 [d0, d1] : tensor<16x6xf32>) -> [d0] for "g" {function = "sum", reduced = ["d1"]} estimate 5 : tensor<16xf32> layout <[16] bytes 4 partial 2 step 1> from "a.mlir":1:2
    %2 = plan.reduce sum %1 own for "g" estimate 5 exchange 60 : tensor<16xf32> layout <[16 / 2 step 1 grain 2] bytes 4> from "a.mlir":1:2
    return %2 : tensor<16xf32>
  }
}

// -----

// A view is the same buffer; an argument that no step reads stays in the interface.
// CHECK-LABEL: @seen
// CHECK: memory.bind output 0 "result0" %x : tensor<2x3xf32>
// CHECK: memory.bind input 1 "unused" %unused : tensor<5xf32>
module @seen attributes {tile.machine = "mini4", tile.rung = 3} {
  func.func @main(%x: tensor<6xf32>, %unused: tensor<5xf32>) -> tensor<2x3xf32> {
    %0 = plan.load %x for "g" : tensor<6xf32> layout <[6] bytes 4 spread [4 step 1] packed>
    %1 = plan.view %0 : tensor<6xf32> to tensor<2x3xf32>
    return %1 : tensor<2x3xf32>
  }
}

// -----

// Padding that a product reads is zeroed before its block arrives.
// CHECK-LABEL: @padded
// CHECK: codelet.compute 0 "g.value padding" estimate 3
// CHECK-NEXT: codelet.fill %g.value axis 1 on <0> : <[4, 5] bytes 2 order [1, 0, 1:8]>
// CHECK: codelet.copy %x to %g.value
module @padded attributes {tile.machine = "mini4", tile.rung = 3} {
  func.func @main(%x: tensor<4x5xf16>) -> tensor<4x5xf16> {
    %0 = plan.load %x for "g" : tensor<4x5xf16> layout <[4, 5] bytes 2>
    %1 = plan.relayout %0 for "g" zeroed 1 estimate_of_zeros 3 : tensor<4x5xf16> layout <[4, 5] bytes 2 order [1, 0, 1:8]>
    return %1 : tensor<4x5xf16>
  }
}
