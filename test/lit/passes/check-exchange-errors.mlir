// RUN: not tile-opt %s --split-input-file -p check-exchange 2>&1 | filecheck %s

// The checker reads rung 5 and no other.
// CHECK: check-exchange reads rung 5 (scheduled program), the module is at rung 4 (BSP program)
module attributes {tile.machine = "mini4", tile.rung = 4 : i64} {
  memory.program @collect {
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

// A phase without rows is not scheduled.
// CHECK: f.mlir:2:8: error: phase "collect" has no rows
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @collect {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 2) from "f.mlir":1:8
    %y = memory.buffer operand "y" 32 bytes on <0 [2:1]> align 8 live [0, 2) from "f.mlir":2:8
    exchange.phase 0 "collect" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    }  from "f.mlir":2:8
    codelet.compute 1 "own" {
      codelet.copy %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } from "f.mlir":2:8
  }
}

// -----

// A tile that receives a cycle late finds nobody sending.
// CHECK: f.mlir:2:8: error: phase "collect" of step 0: tile 0 takes 4 words for y + 16 from tile 1 from cycle 11 on, but in the cycles that these words need tile 1 is not always sending
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @collect {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 2) from "f.mlir":1:8
    %y = memory.buffer operand "y" 32 bytes on <0 [2:1]> align 8 live [0, 2) from "f.mlir":2:8
    exchange.phase 0 "collect" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } scheduled length 18 bound_receive 18 bound_send 14 bound_control 6 messages 3 row_bytes 24 rows <
      tile 0 receive 48:64 from 1 at 11
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

// A run that the rows leave out: its words are sent for nobody.
// CHECK: f.mlir:2:8: error: phase "collect" of step 0: tile 2 sends x + 0 in cycle 0, which no tile receives
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @collect {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 2) from "f.mlir":1:8
    %y = memory.buffer operand "y" 32 bytes on <0 [2:1]> align 8 live [0, 2) from "f.mlir":2:8
    exchange.phase 0 "collect" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } scheduled length 18 bound_receive 18 bound_send 14 bound_control 6 messages 3 row_bytes 24 rows <
      tile 0 receive 48:64 from 1 at 10
      tile 1 send 0:16 at 0 receive 48:64 from 3 at 14
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

// A run that is neither sent nor received is missing.
// CHECK: f.mlir:2:8: error: phase "collect" of step 0: the rows do not deliver 4 words of x + 0 of tile 2 to y + 0 of tile 1
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @collect {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 2) from "f.mlir":1:8
    %y = memory.buffer operand "y" 32 bytes on <0 [2:1]> align 8 live [0, 2) from "f.mlir":2:8
    exchange.phase 0 "collect" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } scheduled length 18 bound_receive 18 bound_send 14 bound_control 6 messages 3 row_bytes 24 rows <
      tile 0 receive 48:64 from 1 at 10
      tile 1 send 0:16 at 0 receive 48:64 from 3 at 14
      tile 3 send 0:16 at 4> from "f.mlir":2:8
    codelet.compute 1 "own" {
      codelet.copy %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } from "f.mlir":2:8
  }
}

// -----

// Two sources changed places.
// CHECK: f.mlir:2:8: error: phase "collect" of step 0: the rows deliver 4 words of x + 0 of tile 3 to y + 0 of tile 1, the moves ask for 4 words of x + 0 of tile 2 to y + 0 of tile 1
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @collect {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 2) from "f.mlir":1:8
    %y = memory.buffer operand "y" 32 bytes on <0 [2:1]> align 8 live [0, 2) from "f.mlir":2:8
    exchange.phase 0 "collect" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } scheduled length 18 bound_receive 18 bound_send 14 bound_control 6 messages 3 row_bytes 24 rows <
      tile 0 receive 48:64 from 1 at 10
      tile 1 send 0:16 at 0 receive 32:48 from 3 at 10, 48:64 from 2 at 14
      tile 2 send 0:16 at 4
      tile 3 send 0:16 at 0> from "f.mlir":2:8
    codelet.compute 1 "own" {
      codelet.copy %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } from "f.mlir":2:8
  }
}

// -----

// A run arrives a word beside its place.
// CHECK: f.mlir:2:8: error: phase "collect" of step 0: the rows do not deliver 4 words of x + 0 of tile 1 to y + 16 of tile 0
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @collect {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 2) from "f.mlir":1:8
    %y = memory.buffer operand "y" 32 bytes on <0 [2:1]> align 8 live [0, 2) from "f.mlir":2:8
    exchange.phase 0 "collect" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } scheduled length 18 bound_receive 18 bound_send 14 bound_control 6 messages 3 row_bytes 24 rows <
      tile 0 receive 52:68 from 1 at 10
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

// A run arrives twice.
// CHECK: f.mlir:2:8: error: phase "collect" of step 0: the rows write y + 16 of tile 0 twice
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @collect {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 2) from "f.mlir":1:8
    %y = memory.buffer operand "y" 32 bytes on <0 [2:1]> align 8 live [0, 2) from "f.mlir":2:8
    exchange.phase 0 "collect" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } scheduled length 18 bound_receive 18 bound_send 14 bound_control 6 messages 3 row_bytes 24 rows <
      tile 0 receive 48:64 from 1 at 10, 48:64 from 2 at 14
      tile 1 send 0:16 at 0 receive 32:48 from 2 at 10, 48:64 from 3 at 14
      tile 2 send 0:16 at 0, 0:16 at 4
      tile 3 send 0:16 at 4> from "f.mlir":2:8
    codelet.compute 1 "own" {
      codelet.copy %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } from "f.mlir":2:8
  }
}

// -----

// The length is the last arrival's, or the most control words.
// CHECK: f.mlir:2:8: error: phase "collect" of step 0: the phase says that its length is 19, it is 18
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @collect {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 2) from "f.mlir":1:8
    %y = memory.buffer operand "y" 32 bytes on <0 [2:1]> align 8 live [0, 2) from "f.mlir":2:8
    exchange.phase 0 "collect" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } scheduled length 19 bound_receive 18 bound_send 14 bound_control 6 messages 3 row_bytes 24 rows <
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

// Row bytes are those of the fullest tile.
// CHECK: f.mlir:2:8: error: phase "collect" of step 0: the phase says that its row bytes is 20, it is 24
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @collect {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 2) from "f.mlir":1:8
    %y = memory.buffer operand "y" 32 bytes on <0 [2:1]> align 8 live [0, 2) from "f.mlir":2:8
    exchange.phase 0 "collect" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } scheduled length 18 bound_receive 18 bound_send 14 bound_control 6 messages 3 row_bytes 20 rows <
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

// A bound is what the transfers make it.
// CHECK: f.mlir:2:8: error: phase "collect" of step 0: the phase says that its receive bound is 14, it is 18
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @collect {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 2) from "f.mlir":1:8
    %y = memory.buffer operand "y" 32 bytes on <0 [2:1]> align 8 live [0, 2) from "f.mlir":2:8
    exchange.phase 0 "collect" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } scheduled length 18 bound_receive 14 bound_send 14 bound_control 6 messages 3 row_bytes 24 rows <
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

// No phase has fewer messages than its sends need.
// CHECK: f.mlir:2:8: error: phase "collect" of step 0: the phase says that it has 2 messages; its rows hold 3 sends in 3 runs of at most 1024 words
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @collect {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 2) from "f.mlir":1:8
    %y = memory.buffer operand "y" 32 bytes on <0 [2:1]> align 8 live [0, 2) from "f.mlir":2:8
    exchange.phase 0 "collect" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } scheduled length 18 bound_receive 18 bound_send 14 bound_control 6 messages 2 row_bytes 24 rows <
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

// Tile 1 still sends when its first word arrives, and nothing keeps x and y apart.
// CHECK: f.mlir:2:8: error: phase "collect" of step 0: tile 1 reads x and writes y in cycle 10, but nothing keeps them in different memory elements
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @collect {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> align 8 live [0, 2) from "f.mlir":1:8
    %y = memory.buffer operand "y" 32 bytes on <0 [2:1]> align 8 live [0, 2) from "f.mlir":2:8
    exchange.phase 0 "collect" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]>
        to <[16 / 2 step 1] bytes 4> from "f.mlir":2:8
    } scheduled length 21 bound_receive 18 bound_send 14 bound_control 6 messages 3 row_bytes 28 rows <
      tile 0 receive 48:64 from 1 at 17
      tile 1 send 0:16 at 7 receive 32:48 from 2 at 10, 48:64 from 3 at 14
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

// The words that stay on tile 0 need a copy.
// CHECK: f.mlir:2:8: error: the relayout of x to y has bytes that stay on their tile or wait in staging, for which there are 0 codelet.copy operations
module attributes {tile.machine = "mini4", tile.rung = 5 : i64} {
  memory.program @collect {
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
      
    } from "f.mlir":2:8
  }
}

// -----

// Two words a cycle are for both tiles of a pair: tile 5 does not take them.
// CHECK: f.mlir:2:8: error: phase "pair" of step 0: tile 4 takes items of two words from tile 0 from cycle 12 on, its partner 5 does not take the same
module attributes {tile.machine = {base = "mini16", exchange = {pair_tiles = 2, pair_least_items = 2}}, tile.rung = 5 : i64} {
  memory.program @pair {
    %x = memory.buffer operand "x" 64 bytes on <0> align 8 live [0, 1) from "f.mlir":1:8
    %y = memory.buffer operand "y" 64 bytes on <4> align 8 live [0, 1) from "f.mlir":2:8
    exchange.phase 0 "pair" {
      exchange.move %x to %y : <[16] bytes 4> to <[16] bytes 4 first 4> from "f.mlir":2:8
    } scheduled length 20 bound_receive 20 bound_send 20 bound_control 4 messages 1 row_bytes 16 rows <
      tile 0 send 0:64 doubled at 0
      tile 4 receive 80:144 doubled from 0 at 12> from "f.mlir":2:8
  }
}

// -----

// The lane of tile 1 is lent until cycle 7, the word that it sends then is one too early.
// CHECK: f.mlir:2:8: error: phase "lane" of step 0: tile 1 sends in cycle 7, in which its partner 0 borrows its lane
module attributes {tile.machine = {base = "mini16", exchange = {pair_tiles = 2, pair_least_items = 2}}, tile.rung = 5 : i64} {
  memory.program @lane {
    %x = memory.buffer operand "x" 64 bytes on <0> align 8 live [0, 1) from "f.mlir":1:8
    %y = memory.buffer operand "y" 64 bytes on <4 [2:1]> align 8 live [0, 1) from "f.mlir":2:8
    %w = memory.buffer operand "w" 4 bytes on <1> align 8 live [0, 1) from "f.mlir":3:8
    %z = memory.buffer operand "z" 4 bytes on <8> align 8 live [0, 1) from "f.mlir":4:8
    exchange.phase 0 "lane" {
      exchange.move %x to %y : <[16] bytes 4> to <[16] bytes 4 first 4 replicas [2 step 1]> from "f.mlir":2:8
      exchange.move %w to %z : <[1] bytes 4 first 1> to <[1] bytes 4 first 8> from "f.mlir":2:8
    } scheduled length 22 bound_receive 20 bound_send 20 bound_control 4 messages 2 row_bytes 20 rows <
      tile 0 send 0:64 doubled at 0
      tile 1 send 160:164 at 7
      tile 4 receive 80:144 doubled from 0 at 12
      tile 5 receive 80:144 doubled from 0 at 12
      tile 8 receive 176:180 from 1 at 21> from "f.mlir":2:8
  }
}

// -----

// mini16 itself has no items of two words.
// CHECK: f.mlir:2:8: error: phase "pair" of step 0: tile 0, program 0, word 0 (0xc0380000): mini16 has no items of two words
module attributes {tile.machine = "mini16", tile.rung = 5 : i64} {
  memory.program @pair {
    %x = memory.buffer operand "x" 64 bytes on <0> align 8 live [0, 1) from "f.mlir":1:8
    %y = memory.buffer operand "y" 64 bytes on <4 [2:1]> align 8 live [0, 1) from "f.mlir":2:8
    exchange.phase 0 "pair" {
      exchange.move %x to %y : <[16] bytes 4> to <[16] bytes 4 first 4 replicas [2 step 1]> from "f.mlir":2:8
    } scheduled length 20 bound_receive 20 bound_send 20 bound_control 4 messages 1 row_bytes 16 rows <
      tile 0 send 0:64 doubled at 0
      tile 4 receive 80:144 doubled from 0 at 12
      tile 5 receive 80:144 doubled from 0 at 12> from "f.mlir":2:8
  }
}
