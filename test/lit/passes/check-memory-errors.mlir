// RUN: not tile-opt %s --split-input-file -p check-memory 2>&1 | filecheck %s

// The checker reads rung 6 and no other.
// CHECK: check-memory reads rung 6 (placed program), the module is at rung 5 (scheduled program)
module attributes {tile.machine = "mini4", tile.rung = 5 : i64, tile.budget = 4096 : i64} {
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

// y lies where z and x need other memory elements.
// CHECK: f.mlir:3:8: error: map reads y [2240, 2304) and writes z [2176, 2240) in one memory element [2048, 3072); it needs two
module attributes {tile.machine = "mini4", tile.rung = 6 : i64, tile.budget = 4096 : i64} {
  memory.program @double {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 1) at 2176 from "f.mlir":1:8
    %y = memory.buffer operand "y" 64 bytes on <0 [4:1]> align 8 live [0, 2) at 2240 from "f.mlir":2:8
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

// y lies on x.
// CHECK: f.mlir:2:8: error: x [2176, 2192) and y [2176, 2240) share 16 bytes [2176, 2192) of tile 0 in step 0
module attributes {tile.machine = "mini4", tile.rung = 6 : i64, tile.budget = 4096 : i64} {
  memory.program @double {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 1) at 2176 from "f.mlir":1:8
    %y = memory.buffer operand "y" 64 bytes on <0 [4:1]> align 8 live [0, 2) at 2176 from "f.mlir":2:8
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

// z begins below the support's end.
// CHECK: f.mlir:3:8: error: z [2168, 2232) begins in the support, which ends at 2176
module attributes {tile.machine = "mini4", tile.rung = 6 : i64, tile.budget = 4096 : i64} {
  memory.program @double {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 1) at 2176 from "f.mlir":1:8
    %y = memory.buffer operand "y" 64 bytes on <0 [4:1]> align 8 live [0, 2) at 3072 from "f.mlir":2:8
    %z = memory.buffer output "z" 64 bytes on <0 [4:1]> align 8 live [1, 2) at 2168 from "f.mlir":3:8
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

// y asks for interleaved memory.
// CHECK: f.mlir:2:8: error: y [3072, 3136) needs interleaved memory, bytes [3072, 3136) lie in region executable
module attributes {tile.machine = "mini4", tile.rung = 6 : i64, tile.budget = 4096 : i64} {
  memory.program @double {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 1) at 2176 from "f.mlir":1:8
    %y = memory.buffer operand "y" 64 bytes on <0 [4:1]> align 8 region interleaved live [0, 2) at 3072 from "f.mlir":2:8
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

// The reserve takes the place of y.
// CHECK: f.mlir:2:8: error: y [16320, 16384) passes 16320, where the usable memory ends
module attributes {tile.machine = "mini4", tile.reserve = 64 : i64, tile.rung = 6 : i64, tile.budget = 4096 : i64} {
  memory.program @double {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 1) at 2176 from "f.mlir":1:8
    %y = memory.buffer operand "y" 64 bytes on <0 [4:1]> align 8 live [0, 2) at 16320 from "f.mlir":2:8
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

// Nobody computes z on tile 3.
// CHECK: f.mlir:3:8: error: output "z" reads z on tile 3 in step 1, which nothing has written since step 1 (live [1, 2))
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
      codelet.run map (d0 16) on <0 [3:1]>
        (%y: f32 d0 [16:4]) ->
        (%z: f32 d0 [16:4])
        {stages = [{function = "add", operands = [0], format = "f32", scale = 0}]} from "f.mlir":3:8
    } from "f.mlir":3:8
  }
}

// -----

// The map's figures are counted again.
// CHECK: f.mlir:4:1: error: the map says that footprint is 2168, it is 2176
module attributes {tile.machine = "mini4", tile.rung = 6 : i64, tile.budget = 4096 : i64} {
  memory.program @double {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 1) at 2176 from "f.mlir":1:8
    %y = memory.buffer operand "y" 64 bytes on <0 [4:1]> align 8 live [0, 2) at 3072 from "f.mlir":2:8
    %z = memory.buffer output "z" 64 bytes on <0 [4:1]> align 8 live [1, 2) at 2176 from "f.mlir":3:8
    memory.bind input 0 "x" %x : tensor<16xf32> layout <[16] bytes 4 spread [4 step 1]> from "f.mlir":1:8
    memory.bind output 0 "z" %z : tensor<16xf32> layout <[16] bytes 4 replicas [4 step 1]> from "f.mlir":3:8
    memory.apart %x / %y because "sent while received" from "f.mlir":2:8
    memory.map minimal footprint 2168 limit 4096 support 2048 code 1280 program 16 row_bytes 36 profile 64 live_peak 2176 peak_step 1 peaks [2128, 2176] from "f.mlir":4:1
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

// So are the live bytes of each step.
// CHECK: f.mlir:4:1: error: the map says that step 0 has 2120 live bytes, on tile 0 it has 2128
module attributes {tile.machine = "mini4", tile.rung = 6 : i64, tile.budget = 4096 : i64} {
  memory.program @double {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 1) at 2176 from "f.mlir":1:8
    %y = memory.buffer operand "y" 64 bytes on <0 [4:1]> align 8 live [0, 2) at 3072 from "f.mlir":2:8
    %z = memory.buffer output "z" 64 bytes on <0 [4:1]> align 8 live [1, 2) at 2176 from "f.mlir":3:8
    memory.bind input 0 "x" %x : tensor<16xf32> layout <[16] bytes 4 spread [4 step 1]> from "f.mlir":1:8
    memory.bind output 0 "z" %z : tensor<16xf32> layout <[16] bytes 4 replicas [4 step 1]> from "f.mlir":3:8
    memory.apart %x / %y because "sent while received" from "f.mlir":2:8
    memory.map minimal footprint 2176 limit 4096 support 2048 code 1280 program 16 row_bytes 36 profile 64 live_peak 2176 peak_step 1 peaks [2120, 2176] from "f.mlir":4:1
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

// The budget bounds the support and all bytes ever held.
// CHECK: tile 0 takes 2176 bytes, 1 more than the budget of 2175: 128 bytes of buffers, 2048 of support (code 1280, program 16, rows 36, profile 64; reservation 2048)
module attributes {tile.machine = "mini4", tile.rung = 6 : i64, tile.budget = 2175 : i64} {
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
