// RUN: tile-opt %s --split-input-file -p schedule-exchange | filecheck %s

// One tile sends a quarter to each other tile, the farthest first: latency is 10 cycles
// to tiles 0 and 1 of mini4 and 12 to the others. Rows name addresses of the window,
// where buffers begin at multiples of 16, behind a guard word at least; reading and
// writing are on different tiles.
// CHECK-LABEL: @scatter
// CHECK-SAME: tile.rung = 5
// CHECK-NOT: memory.apart
// CHECK: scheduled length 22 bound_receive 16 bound_send 22 bound_control 5 messages 3 row_bytes 20 ratio 1.0000 rows <
// CHECK-NEXT: tile 0 send
// CHECK-NEXT: tile 1 receive 80:96 from 0
// CHECK-NEXT: tile 2 receive 80:96 from 0
// CHECK-NEXT: tile 3 receive 80:96 from 0
module @scatter attributes {tile.machine = "mini4", tile.rung = 4} {
  memory.program @main {
    %y = memory.buffer operand "y" 64 bytes on <0> live [0, 1)
    %z = memory.buffer operand "z" 16 bytes on <0 [4:1]> live [0, 1)
    exchange.phase 0 "scatter" {
      exchange.move %y to %z : <[16] bytes 4> to <[16 / 4 step 1] bytes 4>
    }
  }
}

// -----

// Every tile sends its part to all: each word once, as a multicast. A tile reads one
// buffer and writes the other in the same cycles, so they are kept apart.
// CHECK-LABEL: @gather
// CHECK: memory.apart %x / %y because "gather reads one and writes the other" from "f.mlir":3:8
// CHECK-NEXT: exchange.phase 0 "gather"
// CHECK: scheduled length 28 bound_receive 28 bound_send 14 bound_control 8 messages 4 row_bytes 36 ratio 1.0000 rows <
// CHECK-NEXT: tile 0 send 0:16 at 0 receive 32:48 from 0 at 10, 48:64 from 1 at 14, 64:80 from 2 at 18, 80:96 from 3 at 22
// CHECK-NEXT: tile 1 send 0:16 at 4 receive 32:48 from 0 at 10, 48:64 from 1 at 14, 64:80 from 2 at 18, 80:96 from 3 at 22
// CHECK-NEXT: tile 2 send 0:16 at 8 receive 32:48 from 0 at 12, 48:64 from 1 at 16, 64:80 from 2 at 20, 80:96 from 3 at 24
// CHECK-NEXT: tile 3 send 0:16 at 12 receive 32:48 from 0 at 12, 48:64 from 1 at 16, 64:80 from 2 at 20, 80:96 from 3 at 24> from "f.mlir":3:8
module @gather attributes {tile.machine = "mini4", tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 16 bytes on <0 [4:1]> live [0, 1)
    %y = memory.buffer operand "y" 64 bytes on <0 [4:1]> live [0, 1)
    exchange.phase 0 "gather" {
      exchange.move %x to %y : <[16] bytes 4 spread [4 step 1] by 16> to <[16] bytes 4 replicas [4 step 1]> from "f.mlir":3:8
    } from "f.mlir":3:8
  }
}

// -----

// A message of 8 words is one at a limit of 8, and a send word holds 5 of them at most.
// CHECK-LABEL: @limits
// CHECK: messages 1 row_bytes 16 ratio {{.*}} rows <
// CHECK-NEXT: tile 0 send 0:20 at 0, 20:32 at 5
// CHECK-NEXT: tile 1 receive 48:80 from 0 at 10>
module @limits attributes {tile.machine = {base = "mini4", exchange = {max_message_words = 8, send_chunk_words = 5}}, tile.rung = 4} {
  memory.program @main {
    %y = memory.buffer operand "y" 32 bytes on <0> live [0, 1)
    %z = memory.buffer operand "z" 32 bytes on <1> live [0, 1)
    exchange.phase 0 "one" {
      exchange.move %y to %z : <[8] bytes 4> to <[8] bytes 4 first 1>
    }
  }
}

// -----

// At a limit of 7 words they are two messages.
// CHECK-LABEL: @one_past_the_limit
// CHECK: messages 2 row_bytes
module @one_past_the_limit attributes {tile.machine = {base = "mini4", exchange = {max_message_words = 7}}, tile.rung = 4} {
  memory.program @main {
    %y = memory.buffer operand "y" 32 bytes on <0> live [0, 1)
    %z = memory.buffer operand "z" 32 bytes on <1> live [0, 1)
    exchange.phase 0 "one" {
      exchange.move %y to %z : <[8] bytes 4> to <[8] bytes 4 first 1>
    }
  }
}

// -----

// Bytes that are no whole words arrive in staging: bytes 3 to 6 of x come as two words.
// CHECK-LABEL: @staging
// CHECK: tile 0 send 0:8 at 0
// CHECK-NEXT: tile 1 receive 32:40 from 0 at 10>
module @staging attributes {tile.machine = "mini4", tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 8 bytes on <0> live [0, 1)
    %y = memory.buffer operand "y" 4 bytes on <0, 1> live [0, 1)
    %s = memory.buffer staging "s" 8 bytes on <1> live [0, 1)
    exchange.phase 0 "one" {
      exchange.move %x to %y staging %s : <[6] bytes 1> to <[6 / 2 step 1 grain 3] bytes 1>
    }
  }
}

// -----

// Partial sums become a stack on the tile that adds them; its own stays where it is.
// CHECK-LABEL: @stack
// CHECK: messages 1
// CHECK: tile 0 receive 32:40 from 1
// CHECK-NEXT: tile 1 send 0:8 at 0
module @stack attributes {tile.machine = "mini4", tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer partial "x" 16 bytes on <0, 1> live [0, 1)
    %s = memory.buffer stack "s" 8 bytes on <0> live [0, 1)
    exchange.phase 0 "one" {
      exchange.move %x to %s stack : <[2] bytes 4 partial 2 step 1> to <[2] bytes 4>
    }
  }
}

// -----

// A phase without a move is no time at all.
// CHECK-LABEL: @nothing
// CHECK: scheduled length 0 bound_receive 0 bound_send 0 bound_control 0 messages 0 row_bytes 0 ratio 1.0000 rows <>
module @nothing attributes {tile.machine = "mini4", tile.rung = 4} {
  memory.program @main {
    exchange.phase 0 "none" {
    }
  }
}

// -----

// Buffers inside one another lie in one memory element: what one is read for and the
// other is written for comes one after the other. mini4 has a latency of 10 cycles to
// tiles 0 and 1. Of 16 words, 4 and 4 leave each tile before those of the other arrive
// in cycles 10 to 18; then there is room to send again. 36 cycles: 16 words out and 16
// in take 32, and the last 4 of a round of 18 come alone.
// CHECK-LABEL: @inside
// CHECK-NOT: memory.apart
// CHECK: exchange.serial %x / %y cost 10 because "both lie in x" from "f.mlir":4:8
// CHECK-NEXT: } scheduled length 36 bound_receive 26 bound_send 26 bound_control 5 messages 8 row_bytes {{[0-9]+}} ratio 1.3846 rows <
// CHECK-NEXT: tile 0 send 0:16 at 0, 16:32 at 4, 32:48 at 18, 48:64 at 22 receive {{.*}} at 10, {{.*}} at 28
// CHECK-NEXT: tile 1 send 0:16 at 0, 16:32 at 4, 32:48 at 18, 48:64 at 22 receive {{.*}} at 10, {{.*}} at 28
module @inside attributes {tile.machine = "mini4", tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 128 bytes on <0, 1> live [0, 1)
    %y = memory.buffer operand "y" 64 bytes on <0, 1> live [0, 1) inside %x + 64
    exchange.phase 0 "swap" {
      exchange.move %x to %y : <[16] bytes 4> to <[16] bytes 4 first 1>
      exchange.move %x to %y : <[16] bytes 4 first 1> to <[16] bytes 4>
    } from "f.mlir":4:8
  }
}

// -----

// Up to the latency nothing arrives while a tile sends: 10 words meet none.
// CHECK-LABEL: @ten_words_do_not_meet
// CHECK-NOT: exchange.serial
// CHECK: scheduled length 20
module @ten_words_do_not_meet attributes {tile.machine = "mini4", tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 80 bytes on <0, 1> live [0, 1)
    %y = memory.buffer operand "y" 40 bytes on <0, 1> live [0, 1) inside %x + 40
    exchange.phase 0 "swap" {
      exchange.move %x to %y : <[10] bytes 4> to <[10] bytes 4 first 1>
      exchange.move %x to %y : <[10] bytes 4 first 1> to <[10] bytes 4>
    }
  }
}

// -----

// Eleven do, and they are cut: a pair that somebody asks for is serial as well.
// CHECK-LABEL: @asked_for
// CHECK-NOT: memory.apart
// CHECK: exchange.serial %x / %y cost {{[0-9]+}} because "asked for"
module @asked_for attributes {tile.machine = "mini4", tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 44 bytes on <0, 1> live [0, 1)
    %y = memory.buffer operand "y" 44 bytes on <0, 1> live [0, 1)
    exchange.phase 0 "swap" {
      exchange.move %x to %y : <[11] bytes 4> to <[11] bytes 4 first 1>
      exchange.move %x to %y : <[11] bytes 4 first 1> to <[11] bytes 4>
      exchange.serial %x / %y because "asked for"
    }
  }
}
