// RUN: not tile-opt %s --split-input-file 2>&1 | filecheck %s

// A family is one that tiles can run.
// CHECK: error: 'codelet.run': family 'sort' is none of matmul, map, reduce, sum
memory.program @main {
  codelet.compute 0 "C" {
    codelet.run sort (d0 4) on <0> () -> ()
  }
}

// -----

// A view stays inside its buffer: 16 elements of 2 bytes fit into 32, 17 do not.
// CHECK: f.mlir:2:3: error: 'codelet.run': the view of "x" reaches byte 34, the buffer has 32
memory.program @main {
  %x = memory.buffer operand "x" 32 bytes on <0> live [0, 1)
  codelet.compute 0 "C" {
    codelet.run map (d0 16) on <0> (%x: f16 d0 [16:2]) -> ()
    codelet.run map (d0 17) on <0> (%x: f16 d0 [17:2]) -> () from "f.mlir":2:3
  }
}

// -----

// Indices beyond an extent are padding that may lie outside.
// CHECK: error: 'codelet.run': the view of "x" reaches byte 36, the buffer has 32
memory.program @main {
  %x = memory.buffer operand "x" 32 bytes on <0> live [0, 1)
  codelet.compute 0 "C" {
    codelet.run map (d0 3) on <0> (%x: f16 at 8 d0 [2:16, 2:4]) -> ()
    codelet.run map (d0 3) on <0> (%x: f16 at 14 d0 [2:16, 2:4]) -> ()
  }
}

// -----

// A view has an index for each of its dimension.
// CHECK: error: 'codelet.run': the view of "x" has 6 indices along d0, whose extent is 7
memory.program @main {
  %x = memory.buffer operand "x" 32 bytes on <0> live [0, 1)
  codelet.compute 0 "C" {
    codelet.run map (d0 7) on <0> (%x: f16 d0 [2:6, 3:2]) -> ()
  }
}

// -----

// Formats are known.
// CHECK: error: format 'f12' is none of f32, f16
memory.program @main {
  %x = memory.buffer operand "x" 32 bytes on <0> live [0, 1)
  codelet.compute 0 "C" {
    codelet.run map (d0 7) on <0> (%x: f12 d0 [7:2]) -> ()
  }
}

// -----

// Both layouts of a copy hold the same elements.
// CHECK: error: 'codelet.copy': the source layout has 8 elements, the destination's 7
memory.program @main {
  %x = memory.buffer operand "x" 32 bytes on <0> live [0, 1)
  codelet.compute 0 "C" {
    codelet.copy %x to %x : <[8] bytes 4> to <[7] bytes 4>
  }
}

// -----

// CHECK: error: 'codelet.copy': the source layout has elements of 4 bytes, the destination's of 2
memory.program @main {
  %x = memory.buffer operand "x" 32 bytes on <0> live [0, 1)
  codelet.compute 0 "C" {
    codelet.copy %x to %x : <[8] bytes 4> to <[8] bytes 2>
  }
}

// -----

// A fill is of one axis, of all padding, or of everything.
// CHECK: error: 'codelet.fill': axis 2 is none of the layout's 2
memory.program @main {
  %x = memory.buffer operand "x" 32 bytes on <0> live [0, 1)
  codelet.compute 0 "C" {
    codelet.fill %x axis 2 on <0> : <[2, 4] bytes 4>
  }
}

// -----

// CHECK: error: 'codelet.fill': a fill is whole or along an axis, not both
memory.program @main {
  %x = memory.buffer operand "x" 32 bytes on <0> live [0, 1)
  codelet.compute 0 "C" {
    codelet.fill whole %x axis 1 on <0> : <[2, 4] bytes 4>
  }
}

// -----

// Moves between tiles are no computation.
// CHECK: error: 'codelet.compute': exchange.move has no place in a codelet.compute
memory.program @main {
  %x = memory.buffer operand "x" 32 bytes on <0, 1> live [0, 1)
  codelet.compute 0 "C" {
    exchange.move %x to %x : <[8] bytes 4> to <[8] bytes 4 first 1>
  }
}
