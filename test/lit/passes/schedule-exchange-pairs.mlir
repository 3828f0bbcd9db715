// RUN: tile-opt %s --split-input-file -p schedule-exchange,check-exchange | filecheck %s

// Tile 0 sends 64 bytes to two pairs of tiles, two words a cycle: 8 cycles, not 16, and
// 12 of latency to tiles 4 to 7 of mini16. Tile 1 lends its lane.
// CHECK-LABEL: @two_pairs
// CHECK: scheduled length 20 bound_receive 20 bound_send 20 bound_control 4 messages 1 row_bytes 16 ratio 1.0000 rows <
// CHECK-NEXT: tile 0 send 0:64 doubled at 0
// CHECK-NEXT: tile 4 receive 80:144 doubled from 0 at 12
// CHECK-NEXT: tile 5 receive 80:144 doubled from 0 at 12
// CHECK-NEXT: tile 6 receive 80:144 doubled from 0 at 12
// CHECK-NEXT: tile 7 receive 80:144 doubled from 0 at 12>
module @two_pairs attributes {tile.machine = {base = "mini16", exchange = {pair_tiles = 2, pair_least_items = 2}}, tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 64 bytes on <0> align 8 live [0, 1)
    %y = memory.buffer operand "y" 64 bytes on <4 [4:1]> align 8 live [0, 1)
    exchange.phase 0 "pairs" {
      exchange.move %x to %y : <[16] bytes 4> to <[16] bytes 4 first 4 replicas [4 step 1]>
    }
  }
}

// -----

// The same with eight items at least: 64 bytes are just enough, with nine they are not.
// CHECK-LABEL: @enough_items
// CHECK: tile 0 send 0:64 doubled at 0
module @enough_items attributes {tile.machine = {base = "mini16", exchange = {pair_tiles = 2, pair_least_items = 8}}, tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 64 bytes on <0> align 8 live [0, 1)
    %y = memory.buffer operand "y" 64 bytes on <4 [4:1]> align 8 live [0, 1)
    exchange.phase 0 "pairs" {
      exchange.move %x to %y : <[16] bytes 4> to <[16] bytes 4 first 4 replicas [4 step 1]>
    }
  }
}

// -----

// CHECK-LABEL: @too_few_items
// CHECK: tile 0 send 0:64 at 0
module @too_few_items attributes {tile.machine = {base = "mini16", exchange = {pair_tiles = 2, pair_least_items = 9}}, tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 64 bytes on <0> align 8 live [0, 1)
    %y = memory.buffer operand "y" 64 bytes on <4 [4:1]> align 8 live [0, 1)
    exchange.phase 0 "pairs" {
      exchange.move %x to %y : <[16] bytes 4> to <[16] bytes 4 first 4 replicas [4 step 1]>
    }
  }
}

// -----

// A buffer that may lie at any word takes words.
// CHECK-LABEL: @at_any_word
// CHECK: tile 0 send 0:64 at 0
module @at_any_word attributes {tile.machine = {base = "mini16", exchange = {pair_tiles = 2, pair_least_items = 2}}, tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 64 bytes on <0> align 8 live [0, 1)
    %y = memory.buffer operand "y" 64 bytes on <4 [4:1]> live [0, 1)
    exchange.phase 0 "pairs" {
      exchange.move %x to %y : <[16] bytes 4> to <[16] bytes 4 first 4 replicas [4 step 1]>
    }
  }
}

// -----

// Tiles of two pairs send at the same time, each on two lanes.
// CHECK-LABEL: @four_lanes
// CHECK: scheduled length 20 bound_receive 20 bound_send 20 {{.*}} messages 2
// CHECK-NEXT: tile 0 send 0:64 doubled at 0
// CHECK-NEXT: tile 2 send 0:64 doubled at 0
// CHECK-NEXT: tile 4 receive 80:144 doubled from 0 at 12
// CHECK-NEXT: tile 5 receive 80:144 doubled from 0 at 12
// CHECK-NEXT: tile 6 receive 80:144 doubled from 2 at 12
// CHECK-NEXT: tile 7 receive 80:144 doubled from 2 at 12>
module @four_lanes attributes {tile.machine = {base = "mini16", exchange = {pair_tiles = 2, pair_least_items = 2}}, tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 64 bytes on <0, 2> align 8 live [0, 1)
    %y = memory.buffer operand "y" 64 bytes on <4 [4:1]> align 8 live [0, 1)
    exchange.phase 0 "pairs" {
      exchange.move %x to %y : <[32 / 2 step 2] bytes 4> to <[32 / 2 step 2] bytes 4 first 4 replicas [2 step 1]>
    }
  }
}

// -----

// Those of one pair would send in turn, since each lends its lane to the other: no gain.
// CHECK-LABEL: @two_lanes
// CHECK: scheduled length 28 bound_receive 20 bound_send 20 {{.*}} messages 2
// CHECK-NEXT: tile 0 send 0:64 at 0
// CHECK-NEXT: tile 1 send 0:64 at 0
module @two_lanes attributes {tile.machine = {base = "mini16", exchange = {pair_tiles = 2, pair_least_items = 2}}, tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 64 bytes on <0, 1> align 8 live [0, 1)
    %y = memory.buffer operand "y" 64 bytes on <4 [4:1]> align 8 live [0, 1)
    exchange.phase 0 "pairs" {
      exchange.move %x to %y : <[32 / 2 step 1] bytes 4> to <[32 / 2 step 2] bytes 4 first 4 replicas [2 step 1]>
    }
  }
}

// -----

// Tiles 1 to 4 are one whole pair, the sender's partner and half a pair. To send twice
// takes 8 + 16 cycles, to send words once 16.
// CHECK-LABEL: @odd_set
// CHECK: scheduled length 28 bound_receive 28 bound_send 26 {{.*}} messages 1
// CHECK-NEXT: tile 0 send 0:64 at 0
module @odd_set attributes {tile.machine = {base = "mini16", exchange = {pair_tiles = 2, pair_least_items = 2}}, tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 64 bytes on <0> align 8 live [0, 1)
    %y = memory.buffer operand "y" 64 bytes on <1 [4:1]> align 8 live [0, 1)
    exchange.phase 0 "pairs" {
      exchange.move %x to %y : <[16] bytes 4> to <[16] bytes 4 first 1 replicas [4 step 1]>
    }
  }
}

// -----

// Four tiles gather the 64 bytes that each has. Those of the other pair come doubled in
// 2 * 8 cycles, and those of the own pair in words, the own ones among them, in 2 * 16.
// With the latency of row 0 that is 58; it were 74 without the mode.
// CHECK-LABEL: @gather
// CHECK: scheduled length 58 bound_receive 58 bound_send 26 bound_control 8 messages 8 row_bytes 48 ratio 1.0000 rows <
// CHECK-NEXT: tile 0 send 0:64 at 0, 0:64 doubled at 32 receive 80:144 from 0 at 10, 144:208 from 1 at 26, 208:272 doubled from 2 at 42, 272:336 doubled from 3 at 50
// CHECK-NEXT: tile 1 send 0:64 at 16, 0:64 doubled at 40 receive 80:144 from 0 at 10, 144:208 from 1 at 26, 208:272 doubled from 2 at 42, 272:336 doubled from 3 at 50
// CHECK-NEXT: tile 2 send 0:64 at 0, 0:64 doubled at 32 receive 208:272 from 2 at 10, 272:336 from 3 at 26, 80:144 doubled from 0 at 42, 144:208 doubled from 1 at 50
// CHECK-NEXT: tile 3 send 0:64 at 16, 0:64 doubled at 40 receive 208:272 from 2 at 10, 272:336 from 3 at 26, 80:144 doubled from 0 at 42, 144:208 doubled from 1 at 50>
module @gather attributes {tile.machine = {base = "mini16", exchange = {pair_tiles = 2, pair_least_items = 2}}, tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 64 bytes on <0 [4:1]> align 8 live [0, 1)
    %y = memory.buffer operand "y" 256 bytes on <0 [4:1]> align 8 live [0, 1)
    exchange.phase 0 "gather" {
      exchange.move %x to %y : <[64] bytes 4 spread [4 step 1] by 64> to <[64] bytes 4 replicas [4 step 1]>
    }
  }
}

// -----

// Of eight tiles a pair would receive nothing while it sends to the three others, and
// those inside of it would wait for the end: 6 * 16 cycles. In a ring the next pair is
// sent to apart, so that it can send inside of itself meanwhile: 5 * 16, which is the
// bound less the latency of row 1, 12.
// CHECK-LABEL: @ring
// CHECK: scheduled length 92 bound_receive 92
// CHECK-SAME: messages 24
module @ring attributes {tile.machine = {base = "mini16", exchange = {pair_tiles = 2, pair_least_items = 2}}, tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 64 bytes on <0 [8:1]> align 8 live [0, 1)
    %y = memory.buffer operand "y" 512 bytes on <0 [8:1]> align 8 live [0, 1)
    exchange.phase 0 "gather" {
      exchange.move %x to %y : <[128] bytes 4 spread [8 step 1] by 64> to <[128] bytes 4 replicas [8 step 1]>
    }
  }
}
