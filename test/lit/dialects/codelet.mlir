// RUN: tile-opt %s | tile-opt | filecheck %s

// A compute set is one step of calls. A call names its dimensions; a view has byte
// strides for those that its operand has.
// CHECK: codelet.compute 0 "up" estimate 420 {
// CHECK-NEXT: codelet.run matmul (b 1, m 4, n 8, k 16) on <0 [4:1]>
// CHECK-NEXT: (%x: f8E4M3FNUZ scale -2 m [4:16] k [1:64, 16:1],
// CHECK-NEXT: %w: f8E4M3FNUZ n [8:16] k [16:1]) ->
// CHECK-NEXT: (%y: f16 at 4 m [4:16] n [8:2])
// CHECK-NEXT: {accumulate = "f16"} from "f.mlir":3:8
// CHECK-NEXT: codelet.run map (d0 2) on <0>
// CHECK-NEXT: () ->
// CHECK-NEXT: (%y: f16 d0 [2:2]) from "f.mlir":4:8
// CHECK-NEXT: codelet.copy %x to %y
// CHECK-NEXT: : <[16] bytes 1>
// CHECK-NEXT: to <[4, 4] bytes 1 order [1, 0]> from "f.mlir":5:8
// CHECK-NEXT: codelet.copy %x to %y staging %w stack
// CHECK-NEXT: : <[16] bytes 1 partial 2 step 1>
// CHECK-NEXT: to <[16] bytes 1 spread [2 step 1]>
// CHECK-NEXT: codelet.fill %y on <2, 3> : <[3, 5] bytes 2>
// CHECK-NEXT: codelet.fill %y axis 1 on <2, 3> : <[3, 5] bytes 2>
// CHECK-NEXT: codelet.fill whole %y on <2> : <[3, 5] bytes 2> from "f.mlir":6:1
// CHECK-NEXT: } from "f.mlir":3:8
memory.program @main {
  %x = memory.buffer operand "x" 64 bytes on <0 [4:1]> live [0, 1)
  %w = memory.buffer operand "w" 128 bytes on <0 [4:1]> live [0, 1)
  %y = memory.buffer result "y" 68 bytes on <0 [4:1]> live [0, 1)
  codelet.compute 0 "up" estimate 420 {
    codelet.run matmul (b 1, m 4, n 8, k 16) on <0 [4:1]>
      (%x: f8E4M3FNUZ scale -2 m [4:16] k [1:64, 16:1],
       %w: f8E4M3FNUZ n [8:16] k [16:1]) ->
      (%y: f16 at 4 m [4:16] n [8:2]) {accumulate = "f16"} from "f.mlir":3:8
    codelet.run map (d0 2) on <0> () -> (%y: f16 d0 [2:2]) from "f.mlir":4:8
    codelet.copy %x to %y : <[16] bytes 1> to <[4, 4] bytes 1 order [1, 0]> from "f.mlir":5:8
    codelet.copy %x to %y staging %w stack : <[16] bytes 1 partial 2 step 1> to <[16] bytes 1 spread [2 step 1]>
    codelet.fill %y on <2, 3> : <[3, 5] bytes 2>
    codelet.fill %y axis 1 on <2, 3> : <[3, 5] bytes 2>
    codelet.fill whole %y on <2> : <[3, 5] bytes 2> from "f.mlir":6:1
  } from "f.mlir":3:8
}
