// RUN: tile-opt %s --split-input-file -p check-memory | filecheck %s

// x and y are apart in step 0, y and z in step 1; z takes the bytes that x had.
// CHECK-LABEL: memory.program @double
// CHECK: memory.map minimal footprint 2176 limit 4096 support 2048 code 1280 program 16 row_bytes 36 profile 64 live_peak 2176 peak_step 1 peaks [2128, 2176]
module attributes {tile.machine = "mini4", tile.rung = 6 : i64, tile.budget = 4096 : i64} {
  memory.program @double {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 1) at 2176 from "f.mlir":1:8
    %y = memory.buffer operand "y" 64 bytes on <0 [4:1]> align 8 live [0, 2) at 3072 from "f.mlir":2:8
    %z = memory.buffer output "z" 64 bytes on <0 [4:1]> align 8 live [1, 2) at 2176 from "f.mlir":3:8
    memory.bind input 0 "x" %x : tensor<16xf32> layout <[16] bytes 4 spread [4 step 1]> from "f.mlir":1:8
    memory.bind output 0 "z" %z : tensor<16xf32> layout <[16] bytes 4 replicas [4 step 1]> from "f.mlir":3:8
    memory.apart %x / %y because "sent while received" from "f.mlir":2:8
    memory.map minimal footprint 2176 limit 4096 support 2048 code 1280 program 16 row_bytes 36 profile 64 live_peak 2176 peak_step 1 peaks [2128, 2176] from "f.mlir":4:1
    exchange.phase 0 "gather" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16] bytes 4 replicas [4 step 1]> from "f.mlir":2:8
    } scheduled length 28 bound_receive 28 bound_send 14 bound_control 9 messages 4 row_bytes 36 rows <
      tile 0 send 0:16 at 0 receive 32:48 from 0 at 10, 48:64 from 1 at 14, 64:80 from 2 at 18, 80:96 from 3 at 22
      tile 1 send 0:16 at 4 receive 32:48 from 0 at 10, 48:64 from 1 at 14, 64:80 from 2 at 18, 80:96 from 3 at 22
      tile 2 send 0:16 at 8 receive 32:48 from 0 at 12, 48:64 from 1 at 16, 64:80 from 2 at 20, 80:96 from 3 at 24
      tile 3 send 0:16 at 12 receive 32:48 from 0 at 12, 48:64 from 1 at 16, 64:80 from 2 at 20, 80:96 from 3 at 24> from "f.mlir":2:8
    codelet.compute 1 "double" {
      codelet.run map (d0 16) on <0 [4:1]>
        (%y: f32 d0 [16:4]) ->
        (%z: f32 d0 [16:4])
        {stages = [{function = "add", operands = [0], format = "f32", scale = 0}]} from "f.mlir":3:8
    } from "f.mlir":3:8
  }
}

// -----

// A reshape is an alias: one buffer and its bytes, counted once. A matmul's operand
// `right` and its result lie in interleaved memory, aligned to 16 bytes.
// CHECK-LABEL: memory.program @product
module attributes {tile.machine = "mini4", tile.rung = 6 : i64} {
  memory.program @product {
    %a = memory.buffer input "a" 64 bytes on <0> align 8 live [0, 1) at 2176 from "f.mlir":1:8
    %v = memory.buffer operand "a.view" 64 bytes on <0> align 8 live [0, 1) inside %a at 2176 from "f.mlir":2:8
    %w = memory.buffer parameter "w" 128 bytes on <0> align 16 region interleaved live [0, 1) at 8192 from "f.mlir":1:30
    %r = memory.buffer output "r" 128 bytes on <0> align 16 region interleaved live [0, 1) at 10240 from "f.mlir":3:8
    memory.bind input 0 "a" %a : tensor<2x8xf32> layout <[16] bytes 4> from "f.mlir":1:8
    memory.bind parameter 1 "w" %w : tensor<4x8xf32> layout <[4, 8] bytes 4> from "f.mlir":1:30
    memory.bind output 0 "r" %r : tensor<4x8xf32> layout <[4, 8] bytes 4> from "f.mlir":3:8
    memory.map minimal footprint 2368 limit 16256 support 2048 code 1280 program 8 row_bytes 0 profile 64 live_peak 2368 peak_step 0 peaks [2368] from "f.mlir":4:1
    codelet.compute 0 "product" {
      codelet.run matmul (b 1, m 4, n 8, k 4) on <0>
        (%v: f32 m [4:16] k [4:4],
         %w: f32 k [4:32] n [8:4]) ->
        (%r: f32 m [4:32] n [8:4])
        {accumulate = "f32"} from "f.mlir":3:8
    } from "f.mlir":3:8
  }
}

// -----

// What is never alive and what has no bytes takes no place (they may lie on others).
// CHECK-LABEL: memory.program @nothing
// CHECK: memory.map minimal footprint 2048
module attributes {tile.machine = "mini4", tile.rung = 6 : i64} {
  memory.program @nothing {
    %dead = memory.buffer operand "dead" 64 bytes on <0> from "f.mlir":1:8
    %none = memory.buffer input "none" 0 bytes on <0> live [0, 1) from "f.mlir":1:8
    memory.map minimal footprint 2048 limit 16256 support 2048 code 1024 program 8 row_bytes 0 profile 64 live_peak 2048 peak_step 0 peaks [2048] from "f.mlir":4:1
    codelet.compute 0 "idle" {
    } from "f.mlir":3:8
  }
}

// -----

// Without a step arguments still take their bytes, but no step has a peak.
// CHECK-LABEL: memory.program @identity
// CHECK: memory.map minimal footprint 2064 {{.*}} live_peak 2048 peak_step 0 peaks []
module attributes {tile.machine = "mini4", tile.rung = 6 : i64} {
  memory.program @identity {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 1) at 2176 from "f.mlir":1:8
    memory.bind input 0 "x" %x : tensor<16xf32> layout <[16] bytes 4 spread [4 step 1]> from "f.mlir":1:8
    memory.bind output 0 "y" %x : tensor<16xf32> layout <[16] bytes 4 spread [4 step 1]> from "f.mlir":1:8
    memory.map minimal footprint 2064 limit 16256 support 2048 code 1024 program 0 row_bytes 0 profile 64 live_peak 2048 peak_step 0 peaks [] from "f.mlir":4:1
  }
}
