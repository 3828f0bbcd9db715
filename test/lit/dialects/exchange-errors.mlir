// RUN: not tile-opt %s --split-input-file 2>&1 | filecheck %s

// Source and destination hold the same elements.
// CHECK: f.mlir:2:3: error: 'exchange.move': the source layout has 8 elements, the destination's 7
memory.program @main {
  %x = memory.buffer operand "x" 32 bytes on <0, 1> live [0, 1)
  exchange.phase 0 "E" {
    exchange.move %x to %x : <[8] bytes 4> to <[7] bytes 4 first 1> from "f.mlir":2:3
  }
}

// -----

// Blocks fit their buffers: 32 bytes do, 36 do not.
// CHECK: error: 'exchange.move': "x" has 32 bytes, its layout takes 36 a tile
memory.program @main {
  %x = memory.buffer operand "x" 32 bytes on <0, 1> live [0, 1)
  exchange.phase 0 "E" {
    exchange.move %x to %x : <[8] bytes 4> to <[8] bytes 4 first 1>
    exchange.move %x to %x : <[9] bytes 4 spread [2 step 1]> to <[9] bytes 4 first 1>
  }
}

// -----

// Only partial sums are stacked.
// CHECK: error: 'exchange.move': only a partial source makes a stack
memory.program @main {
  %x = memory.buffer operand "x" 32 bytes on <0, 1> live [0, 1)
  exchange.phase 0 "E" {
    exchange.move %x to %x stack : <[8] bytes 4> to <[8] bytes 4 first 1>
  }
}

// -----

// A schedule is not shorter than its bound.
// CHECK: error: 'exchange.phase': the length of 9 cycles is below bound_send 10
memory.program @main {
  exchange.phase 0 "E" {
  } scheduled length 9 bound_receive 0 bound_send 10 bound_control 0 messages 0 row_bytes 0 rows <>
}

// -----

// A schedule is whole.
// CHECK: error: 'exchange.phase': a schedule has more than length, messages
"builtin.module"() ({
  "memory.program"() <{sym_name = "main"}> ({
    "exchange.phase"() <{step = 0 : i64, phase_name = "E", length = 3 : i64, messages = 0 : i64}> ({
    ^bb0:
    }) : () -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A port carries one word a cycle: 4 words from cycle 0 leave cycle 4 free, not 3.
// CHECK: error: tile 1 sends two words at cycle 3
memory.program @main {
  exchange.phase 0 "E" {
  } scheduled length 30 bound_receive 0 bound_send 0 bound_control 0 messages 0 row_bytes 0 rows <
    tile 0 send 0:16 at 0, 0:16 at 4
    tile 1 send 0:16 at 0, 0:16 at 3
  >
}

// -----

// Compressed rows are what they announce, and say so before anything is unpacked.
// CHECK: error: the compressed rows are not the 28 bytes announced
memory.program @main {
  exchange.phase 0 "E" {
  } scheduled length 30 bound_receive 0 bound_send 0 bound_control 0 messages 0 row_bytes 0 rows <1 tiles 1 programs 2 words "eNpjZmRgYGZiFmBABRJg0sFBAQAFPwDV">
}

// -----

// CHECK: error: the compressed rows are damaged
memory.program @main {
  exchange.phase 0 "E" {
  } scheduled length 30 bound_receive 0 bound_send 0 bound_control 0 messages 0 row_bytes 0 rows <1 tiles 1 programs 3 words "eNpj!!">
}

// -----

// CHECK: error: no machine has so many tiles, programs or words
memory.program @main {
  exchange.phase 0 "E" {
  } scheduled length 30 bound_receive 0 bound_send 0 bound_control 0 messages 0 row_bytes 0 rows <1 tiles 3 programs 3 words "">
}

// -----

// CHECK: error: an address is no word of a tile's memory
memory.program @main {
  exchange.phase 0 "E" {
  } scheduled length 30 bound_receive 0 bound_send 0 bound_control 0 messages 0 row_bytes 0 rows <
    tile 0 send 2097148:2097152 at 0, 2097152:2097156 at 1
  >
}

// -----

// Only moves are in a phase.
// CHECK: error: 'exchange.phase': codelet.fill has no place in an exchange.phase
memory.program @main {
  %x = memory.buffer operand "x" 32 bytes on <0, 1> live [0, 1)
  exchange.phase 0 "E" {
    codelet.fill %x on <0> : <[2, 4] bytes 4>
  }
}

// -----

// Serial buffers are some of the phase's own.
// CHECK: f.mlir:2:3: error: 'exchange.phase': no move of the phase names "z"
memory.program @main {
  %x = memory.buffer operand "x" 32 bytes on <0, 1> live [0, 1)
  %z = memory.buffer operand "z" 32 bytes on <0, 1> live [0, 1)
  exchange.phase 0 "E" {
    exchange.move %x to %x : <[8] bytes 4> to <[8] bytes 4 first 1>
    exchange.serial %x / %z because "asked for"
  } from "f.mlir":2:3
}

// -----

// They come in pairs.
// CHECK: f.mlir:2:3: error: 'exchange.serial': 0 buffers make no pairs
"builtin.module"() ({
  "memory.program"() <{sym_name = "main"}> ({
    "exchange.phase"() <{step = 0 : i64, phase_name = "E"}> ({
      "exchange.serial"() <{reason = "none", loc_text = "f.mlir:2:3"}> : () -> ()
    }) : () -> ()
  }) : () -> ()
}) : () -> ()

// -----

// Items of 64 bits are whole, and lie at multiples of 8.
// CHECK: error: a run of 64-bit items is no whole number of 8-byte words
memory.program @main {
  exchange.phase 0 "E" {
  } scheduled length 30 bound_receive 0 bound_send 0 bound_control 0 messages 0 row_bytes 0 rows <
    tile 0 send 4:20 doubled at 0>
}

// -----

// The ratio is that of the length to the greatest bound.
// CHECK: error: the ratio is 1.5000
memory.program @main {
  exchange.phase 0 "E" {
  } scheduled length 30 bound_receive 20 bound_send 0 bound_control 0 messages 0 row_bytes 0 ratio 1.4 rows <>
}
