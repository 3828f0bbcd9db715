// RUN: tile-opt %s --split-input-file | tile-opt --split-input-file | filecheck %s

// A buffer says its purpose, name, bytes, tiles and lifetime; a word of alignment, any
// region and an address not yet known are left out.
// CHECK-LABEL: memory.program @buffers {
// CHECK-NEXT: %x = memory.buffer input "x" 64 bytes on <0 [4:1]> live [0, 1) from "f.mlir":3:8
// CHECK-NEXT: %left = memory.buffer operand "up.left" 96 bytes on <0 [2:2], 1> align 16 region interleaved live [0, 1), [2, 3) at 8192 from "<unknown>"
// CHECK-NEXT: %part = memory.buffer stack "part" 32 bytes on <> live [0, 2) inside %left + 64 at 8256
// CHECK-NEXT: %gone = memory.buffer scratch "never alive" 0 bytes on <3>
memory.program @buffers {
  %x = memory.buffer input "x" 64 bytes on <0 [4:1]> live [0, 1) from "f.mlir":3:8
  %left = memory.buffer operand "up.left" 96 bytes on <0 [2:2], 1> align 16 region interleaved live [0, 1), [2, 3) at 8192 from "<unknown>"
  %part = memory.buffer stack "part" 32 bytes on <> live [0, 2) inside %left + 64 at 8256
  %gone = memory.buffer scratch "never alive" 0 bytes on <3>
}

// -----

// Arguments, constants and results are bound to buffers in a layout; pairs are kept
// apart for a reason; the map says what placement found.
// CHECK-LABEL: memory.program @binds {
// CHECK: memory.map minimal footprint 160 limit 4096 support 128 code 64 program 8 row_bytes 0 profile 8 live_peak 160 peak_step 0 peaks [] from "f.mlir":1:1
// CHECK: memory.bind input 0 "x" %x : tensor<3x5xf16> layout <[15] bytes 2 spread [4 step 1] packed> from "f.mlir":1:8
// CHECK: memory.bind constant 0 "c" %c : tensor<2xf32> layout <[2] bytes 4> = dense<[1.000000e+00, 0xFF800000]> : tensor<2xf32> from "f.mlir":2:3
// CHECK: memory.bind output 0 "y" %x : tensor<15xf16> layout <[3 / 2 step 1 grain 2 balanced, 5 / 2 step 2 / 1] bytes 2 order [1, 0, 1:2] first 1 replicas [2 step 8] partial 2 step 4 spread [2 step 16, 2 step 32] by 16>
// CHECK: memory.apart %x / %c, %c / %x because "matmul reads one and writes the other" from "f.mlir":5:1
memory.program @binds {
  memory.map minimal footprint 160 limit 4096 support 128 code 64 program 8 row_bytes 0 profile 8 live_peak 160 peak_step 0 peaks [] from "f.mlir":1:1
  %x = memory.buffer input "x" 64 bytes on <0 [4:1]> live [0, 1)
  %c = memory.buffer constant "c" 8 bytes on <0> live [0, 1)
  memory.bind input 0 "x" %x : tensor<3x5xf16> layout <[15] bytes 2 spread [4 step 1] packed> from "f.mlir":1:8
  memory.bind constant 0 "c" %c : tensor<2xf32> layout <[2] bytes 4> = dense<[1.0, 0xFF800000]> : tensor<2xf32> from "f.mlir":2:3
  memory.bind output 0 "y" %x : tensor<15xf16> layout <[3 / 2 step 1 grain 2 balanced, 5 / 2 step 2 / 1] bytes 2 order [1, 0, 1:2] first 1 replicas [2 step 8] partial 2 step 4 spread [2 step 16, 2 step 32] by 16>
  memory.apart %x / %c, %c / %x because "matmul reads one and writes the other" from "f.mlir":5:1
}

// -----

// A program may be empty, and attributes that nobody knows stay.
// CHECK-LABEL: memory.program @empty {
// CHECK-NEXT: } attributes {note = "kept"} from "f.mlir":1:1
memory.program @empty {
} attributes {note = "kept"} from "f.mlir":1:1
