// RUN: tile-opt %s --split-input-file -p check-exchange | filecheck %s

// Every tile sends its four words to all tiles, itself included, and all receive the
// sixteen in order. Tile 0 is still sending when words arrive, so x and y are apart.
// CHECK-LABEL: memory.program @gather
// CHECK: scheduled length 28 bound_receive 28 bound_send 14 bound_control 9 messages 4 row_bytes 36
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @gather {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 1) from "f.mlir":1:8
    %y = memory.buffer operand "y" 64 bytes on <0 [4:1]> align 8 live [0, 1) from "f.mlir":2:8
    memory.apart %x / %y because "sent while received" from "f.mlir":2:8
    exchange.phase 0 "gather" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16] bytes 4 replicas [4 step 1]> from "f.mlir":2:8
    } scheduled length 28 bound_receive 28 bound_send 14 bound_control 9 messages 4 row_bytes 36 rows <
      tile 0 send 0:16 at 0 receive 32:48 from 0 at 10, 48:64 from 1 at 14, 64:80 from 2 at 18, 80:96 from 3 at 22
      tile 1 send 0:16 at 4 receive 32:48 from 0 at 10, 48:64 from 1 at 14, 64:80 from 2 at 18, 80:96 from 3 at 22
      tile 2 send 0:16 at 8 receive 32:48 from 0 at 12, 48:64 from 1 at 16, 64:80 from 2 at 20, 80:96 from 3 at 24
      tile 3 send 0:16 at 12 receive 32:48 from 0 at 12, 48:64 from 1 at 16, 64:80 from 2 at 20, 80:96 from 3 at 24> from "f.mlir":2:8
  }
}

// -----

// Tile 0 keeps its own words by a copy, and no tile sends while it receives.
// CHECK-LABEL: memory.program @halves
// CHECK: codelet.copy
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @halves {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 2) from "f.mlir":1:8
    %y = memory.buffer operand "y" 32 bytes on <0 [2:1]> align 8 live [0, 2) from "f.mlir":2:8
    exchange.phase 0 "collect" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } scheduled length 18 bound_receive 18 bound_send 14 bound_control 6 messages 3 row_bytes 24 rows <
      tile 0 receive 48:64 from 1 at 10
      tile 1 send 0:16 at 0 receive 32:48 from 2 at 10, 48:64 from 3 at 14
      tile 2 send 0:16 at 0
      tile 3 send 0:16 at 4> from "f.mlir":2:8
    codelet.compute 1 "own" {
      codelet.copy %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } from "f.mlir":2:8
  }
}

// -----

// A phase in which nothing moves takes no cycle and no row.
// CHECK-LABEL: memory.program @nothing
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @nothing {
    exchange.phase 0 "none" {
    } scheduled length 0 bound_receive 0 bound_send 0 bound_control 0 messages 0 row_bytes 0 rows <> from "f.mlir":2:8
  }
}
