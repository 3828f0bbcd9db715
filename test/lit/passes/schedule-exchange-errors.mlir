// RUN: not tile-opt %s --split-input-file -p schedule-exchange 2>&1 | filecheck %s

// Each pass reads one rung.
// CHECK: error: schedule-exchange reads rung 4 (BSP program), the module is at rung 5 (scheduled program)
module attributes {tile.machine = "mini4", tile.rung = 5} {
  memory.program @main {
  }
}

// -----

// There is one program.
// CHECK: error: the module needs one memory.program, it has 0
module attributes {tile.machine = "mini4", tile.rung = 4} {
}

// -----

// Staging that is needed is named.
// CHECK: f.mlir:4:8: error: the move needs 8 bytes of staging and names no buffer
module attributes {tile.machine = "mini4", tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 8 bytes on <0> live [0, 1)
    %y = memory.buffer operand "y" 4 bytes on <0, 1> live [0, 1)
    exchange.phase 0 "one" {
      exchange.move %x to %y : <[6] bytes 1> to <[6 / 2 step 1 grain 3] bytes 1> from "f.mlir":4:8
    }
  }
}

// -----

// Partial sums are stacked, not moved.
// CHECK: f.mlir:4:8: error: phase "one": a relayout needs values, its source is partial sums
module attributes {tile.machine = "mini4", tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer partial "x" 8 bytes on <0, 1> live [0, 1)
    %s = memory.buffer operand "s" 8 bytes on <0> live [0, 1)
    exchange.phase 0 "one" {
      exchange.move %x to %s : <[2] bytes 4 partial 2 step 1> to <[2] bytes 4>
    } from "f.mlir":4:8
  }
}

// -----

// Tiles are those of the machine: mini4 has 0 to 3.
// CHECK: f.mlir:4:8: error: phase "far": mini4 has no tile 4
module attributes {tile.machine = "mini4", tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 8 bytes on <3, 4> live [0, 1)
    exchange.phase 0 "far" {
      exchange.move %x to %x : <[2] bytes 4 first 3> to <[2] bytes 4 first 4>
    } from "f.mlir":4:8
  }
}
