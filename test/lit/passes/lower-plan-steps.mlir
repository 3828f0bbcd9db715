// RUN: tile-opt %s -p lower-plan | filecheck %s
// RUN: tile-opt %s -p lower-plan,schedule-exchange,check-exchange,place-memory,check-memory | filecheck %s --check-prefix PLACED

// The depth of 16 comes in two steps of 8, one panel each. x is spread over the 2 tiles
// that share each of its row blocks, w over the 2 that share its column blocks; both are
// gathered a window at a time, in one phase, into one buffer each. The second product
// adds to the first where it lies.
// CHECK: %y.xs = memory.buffer operand "y.xs" 32 bytes
// CHECK-SAME: live [0, 4)
// CHECK: %y.ws = memory.buffer operand "y.ws" 128 bytes
// CHECK-SAME: live [0, 4)
// CHECK: %y = memory.buffer result "y" 32 bytes
// CHECK-SAME: live [1, 6)

// CHECK: exchange.phase 0
// CHECK-NEXT: exchange.move %x to %y.xs
// CHECK: window [1 from 0 for 8]
// CHECK: exchange.move %w to %y.ws
// CHECK: window [0 from 0 for 8]
// CHECK: codelet.compute 1
// CHECK-NEXT: codelet.run matmul (b 1, m 2, n 4, k 8) on <0 [4:1]>
// CHECK-NEXT: (%y.xs: f16
// CHECK-NEXT: %y.ws: f16{{.*}}) ->
// CHECK: exchange.phase 2
// CHECK-NEXT: exchange.move %x to %y.xs
// CHECK: window [1 from 8 for 8]
// CHECK: exchange.move %w to %y.ws
// CHECK: codelet.compute 3
// CHECK: (%y.xs: f16
// CHECK-NEXT: %y.ws: f16
// CHECK-NEXT: %y: f16
// CHECK-NEXT: (%y: f16

// The two windows of an operand take turns at one address.
// PLACED: memory.map
// PLACED-SAME: footprint
module attributes {tile.machine = "mini4", tile.rung = 3 : i64, tile.budget = 8192 : i64} {
  func.func @main(%x: tensor<4x16xf16> {tile.parameter}, %w: tensor<16x8xf16> {tile.parameter}) -> tensor<4x8xf16> {
    %xs = plan.load %x for "y" : tensor<4x16xf16> layout <[4 / 2 step 2, 16] bytes 2 order [1, 0, 1:8] spread [2 step 1] by 32>
    %ws = plan.load %w for "y" : tensor<16x8xf16> layout <[16, 8 / 2 step 1 grain 4] bytes 2 order [0, 1, 1:8, 0:8] spread [2 step 2] by 32>
    %x0 = plan.relayout %xs for "y" slot "x" : tensor<4x16xf16> layout <[4 / 2 step 2, 16] bytes 2 order [1, 0, 1:8] replicas [2 step 1] window [1 from 0 for 8]>
    %w0 = plan.relayout %ws for "y" slot "w" joined : tensor<16x8xf16> layout <[16, 8 / 2 step 1 grain 4] bytes 2 order [0, 1, 1:8, 0:8] replicas [2 step 2] window [0 from 0 for 8]>
    %y0 = plan.compute matmul (b, m, n, k) grid <[1, 4 / 2 step 2, 8 / 2 step 1 grain 4, 16] bytes 1 window [3 from 0 for 8]>
      (%x0 [m, k] : tensor<4x16xf16>, %w0 [k, n] : tensor<16x8xf16>) -> [m, n] for "y" {accumulate = "f16"}
      : tensor<4x8xf16> layout <[4 / 2 step 2, 8 / 2 step 1 grain 4] bytes 2 order [1, 0, 1:8]>
    %x1 = plan.relayout %xs for "y" slot "x" : tensor<4x16xf16> layout <[4 / 2 step 2, 16] bytes 2 order [1, 0, 1:8] replicas [2 step 1] window [1 from 8 for 8]>
    %w1 = plan.relayout %ws for "y" slot "w" joined : tensor<16x8xf16> layout <[16, 8 / 2 step 1 grain 4] bytes 2 order [0, 1, 1:8, 0:8] replicas [2 step 2] window [0 from 8 for 8]>
    %y1 = plan.compute matmul (b, m, n, k) grid <[1, 4 / 2 step 2, 8 / 2 step 1 grain 4, 16] bytes 1 window [3 from 8 for 8]>
      (%x1 [m, k] : tensor<4x16xf16>, %w1 [k, n] : tensor<16x8xf16>, %y0 [m, n] : tensor<4x8xf16>) -> [m, n] for "y" {accumulate = "f16"}
      : tensor<4x8xf16> layout <[4 / 2 step 2, 8 / 2 step 1 grain 4] bytes 2 order [1, 0, 1:8]>
    %r = plan.relayout %y1 for "y" : tensor<4x8xf16> layout <[32] bytes 2 spread [4 step 1] packed>
    func.return %r : tensor<4x8xf16>
  }
}
