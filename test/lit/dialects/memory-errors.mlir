// RUN: not tile-opt %s --split-input-file 2>&1 | filecheck %s

// A program stands in a module.
// CHECK: error: 'memory.program': 'memory.program' expects parent op 'builtin.module'
memory.program @outer {
  memory.program @inner {
  }
}

// -----

// Sizes are not negative.
// CHECK: error: 'memory.buffer': "x" has -4 bytes
memory.program @main {
  %x = memory.buffer input "x" -4 bytes on <0>
}

// -----

// Purposes and regions are words that are known.
// CHECK: error: 'memory.buffer': purpose 'toy' is none of input, parameter
memory.program @main {
  %x = memory.buffer toy "x" 4 bytes on <0>
}

// -----

// CHECK: error: 'memory.buffer': region 'slow' is none of any, interleaved, executable
memory.program @main {
  %x = memory.buffer input "x" 4 bytes on <0> region slow
}

// -----

// Lifetimes are sorted.
// CHECK: error: 'memory.buffer': "x" is live in [2, 3, 0, 1], which is no sorted list of half-open ranges
memory.program @main {
  %x = memory.buffer input "x" 4 bytes on <0> live [2, 3), [0, 1)
}

// -----

// CHECK: error: 'memory.buffer': "x" is live in [1, 1], which is no sorted list of half-open ranges
memory.program @main {
  %x = memory.buffer input "x" 4 bytes on <0> live [1, 1)
}

// -----

// Addresses are aligned.
// CHECK: f.mlir:3:8: error: 'memory.buffer': "x" lies at 24, which is no multiple of its alignment 16
memory.program @main {
  %x = memory.buffer input "x" 4 bytes on <0> align 16 at 24 from "f.mlir":3:8
}

// -----

// An alias lies inside its buffer: 12 bytes from byte 4 fit into 16, not from byte 8.
// CHECK: error: 'memory.buffer': "z" takes bytes 8 to 20 of "x", which has 16
memory.program @main {
  %x = memory.buffer input "x" 16 bytes on <0>
  %y = memory.buffer stack "y" 12 bytes on <0> inside %x + 4
  %z = memory.buffer stack "z" 12 bytes on <0> inside %x + 8
}

// -----

// CHECK: error: 'memory.buffer': "y" lies at 8, its alias at 4
memory.program @main {
  %x = memory.buffer input "x" 16 bytes on <0> at 0
  %y = memory.buffer stack "y" 12 bytes on <0> inside %x + 4 at 8
}

// -----

// No machine has more than 4096 tiles.
// CHECK: error: {{.*}}no machine has that many tiles
memory.program @main {
  %x = memory.buffer input "x" 16 bytes on <0 [4097:1]>
}

// -----

// A layout's block fits its buffer.
// CHECK: error: 'memory.bind': "x" has 60 bytes, its layout takes 64 a tile
memory.program @main {
  %x = memory.buffer input "x" 60 bytes on <0> live [0, 1)
  memory.bind input 0 "x" %x : tensor<16xf32> layout <[16] bytes 4>
}

// -----

// A bind's layout is one of its tensor.
// CHECK: error: 'memory.bind': "x" has 15 elements, its layout 16
memory.program @main {
  %x = memory.buffer input "x" 64 bytes on <0> live [0, 1)
  memory.bind input 0 "x" %x : tensor<15xf32> layout <[16] bytes 4>
}

// -----

// CHECK: error: 'memory.bind': "x" has elements of 2 bytes, its layout of 4
memory.program @main {
  %x = memory.buffer input "x" 64 bytes on <0> live [0, 1)
  memory.bind input 0 "x" %x : tensor<16xf16> layout <[16] bytes 4>
}

// -----

// Constants bring their value, nothing else does.
// CHECK: error: 'memory.bind': "x": a constant, and only that, has a value
memory.program @main {
  %x = memory.buffer constant "x" 64 bytes on <0> live [0, 1)
  memory.bind constant 0 "x" %x : tensor<16xf32> layout <[16] bytes 4>
}

// -----

// Arguments live from the first step, results to the end, parameters always.
// CHECK: error: 'memory.program': input "x" must live from step 0
memory.program @main {
  %x = memory.buffer input "x" 64 bytes on <0> live [1, 2)
  memory.bind input 0 "x" %x : tensor<16xf32> layout <[16] bytes 4>
}

// -----

// CHECK: error: 'memory.program': output "y" must live to the end of step 1
memory.program @main {
  %x = memory.buffer output "y" 64 bytes on <0> live [0, 1)
  memory.bind output 0 "y" %x : tensor<16xf32> layout <[16] bytes 4>
  exchange.phase 1 "E" {
  }
}

// -----

// CHECK: error: 'memory.program': parameter "w" must live in every step
memory.program @main {
  %w = memory.buffer parameter "w" 64 bytes on <0> live [0, 1), [2, 3)
  memory.bind parameter 0 "w" %w : tensor<16xf32> layout <[16] bytes 4>
  exchange.phase 2 "E" {
  }
}

// -----

// A step uses only what is alive in it.
// CHECK: error: 'memory.program': exchange.move of step 1 uses "y", which is not live then
memory.program @main {
  %x = memory.buffer operand "x" 64 bytes on <0> live [0, 2)
  %y = memory.buffer operand "y" 64 bytes on <1> live [0, 1)
  exchange.phase 1 "E" {
    exchange.move %x to %y : <[16] bytes 4> to <[16] bytes 4 first 1>
  }
}

// -----

// Steps are in order, and declarations before them.
// CHECK: error: 'memory.program': step 3 follows step 3
memory.program @main {
  exchange.phase 3 "E" {
  }
  codelet.compute 3 "C" {
  }
}

// -----

// CHECK: error: 'memory.program': step 65536 is none below 65536
memory.program @main {
  exchange.phase 65535 "E" {
  }
  exchange.phase 65536 "E" {
  }
}

// -----

// CHECK: error: 'memory.program': memory.buffer stands behind step 0
memory.program @main {
  exchange.phase 0 "E" {
  }
  %x = memory.buffer operand "x" 64 bytes on <0> live [0, 2)
}

// -----

// Nothing is apart from itself.
// CHECK: error: 'memory.apart': "x" cannot be apart from itself
memory.program @main {
  %x = memory.buffer operand "x" 64 bytes on <0> live [0, 2)
  memory.apart %x / %x because "no reason"
}

// -----

// The map has a peak for each step, and its footprint is within its limit.
// CHECK: error: 'memory.map': the footprint of 161 bytes is over its limit of 160
memory.program @main {
  memory.map fits footprint 161 limit 160 support 8 code 8 program 0 row_bytes 0 profile 0 live_peak 8 peak_step 0 peaks []
}

// -----

// CHECK: error: 'memory.program': the map has 1 peaks for 0 steps
memory.program @main {
  memory.map fits footprint 160 limit 160 support 8 code 8 program 0 row_bytes 0 profile 0 live_peak 8 peak_step 0 peaks [8]
}

// -----

// A layout is checked where it is read.
// CHECK: error: order must name the rest of axis 0 once, outermost
memory.program @main {
  %x = memory.buffer operand "x" 64 bytes on <0> live [0, 2)
  memory.bind input 0 "x" %x : tensor<16xf32> layout <[16] bytes 4 order [0:2]>
}

// -----

// CHECK: error: elements are 1, 2 or 4 bytes, not 3
memory.program @main {
  %x = memory.buffer operand "x" 64 bytes on <0> live [0, 2)
  memory.bind input 0 "x" %x : tensor<16xf32> layout <[16] bytes 3>
}
