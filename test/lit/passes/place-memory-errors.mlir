// RUN: not tile-opt %s --split-input-file -p place-memory 2>&1 | filecheck %s

// Each pass reads one rung.
// CHECK: error: place-memory reads rung 5 (scheduled program), the module is at rung 4 (BSP program)
module attributes {tile.machine = "mini4", tile.rung = 4} {
  memory.program @main {
  }
}

// -----

// One byte less than support and tensors need: who, where, when, and what is largest.
// CHECK: f.mlir:3:8: error: not enough bytes: tile 2 needs 2128 bytes in step 1, support 2048 included, the limit is 2127; largest there: "b" 48, "c" 32
module attributes {tile.machine = "mini4", tile.budget = 2127, tile.rung = 5} {
  memory.program @main {
    %a = memory.buffer scratch "a" 64 bytes on <0> live [0, 2)
    %b = memory.buffer scratch "b" 48 bytes on <2> live [1, 2) from "f.mlir":3:8
    %c = memory.buffer scratch "c" 32 bytes on <2> live [0, 2) from "f.mlir":3:8
    codelet.compute 1 "C" {
    }
  }
}

// -----

// The support alone is over the limit.
// CHECK: f.mlir:1:1: error: the support takes 2048 bytes (rows 0, code 1024, program 0, profile 64; reservation 2048), the limit is 2047
module attributes {tile.machine = "mini4", tile.budget = 2047, tile.rung = 5} {
  memory.program @main {
  } from "f.mlir":1:1
}

// -----

// Within the budget, but more than the region has: 8192 bytes are interleaved.
// CHECK: f.mlir:3:8: error: tile 0: not enough bytes: 8196 are alive in step 0, the region [8192, 16384) has 8192 (4 too few); largest there: b (4100), a (4096)
module attributes {tile.machine = "mini4", tile.rung = 5} {
  memory.program @main {
    %a = memory.buffer scratch "a" 4096 bytes on <0> region interleaved live [0, 1) from "f.mlir":2:8
    %b = memory.buffer scratch "b" 4100 bytes on <0> region interleaved live [0, 1) from "f.mlir":3:8
    codelet.compute 0 "C" {
    }
  }
}

// -----

// Enough bytes, but not in one piece: each of three touches two of four elements.
// CHECK: error: tile 0: fragmentation: {{.*}} needs 2050 in one piece {{.*}}; largest there: "a" 2050, "b" 2050, "c" 2050
module attributes {tile.machine = "mini4", tile.rung = 5} {
  memory.program @main {
    %a = memory.buffer scratch "a" 2050 bytes on <0> region interleaved live [0, 1)
    %b = memory.buffer scratch "b" 2050 bytes on <0> region interleaved live [0, 1)
    %c = memory.buffer scratch "c" 2050 bytes on <0> region interleaved live [0, 1)
    memory.apart %a / %b, %b / %c, %a / %c because "they are used at once"
    codelet.compute 0 "C" {
    }
  }
}

// -----

// A buffer that is asked to be in two kinds of memory.
// CHECK: f.mlir:4:1: error: matmul needs "right" in interleaved memory, the buffer is for executable memory
module attributes {tile.machine = "mini4", tile.rung = 5} {
  memory.program @main {
    %left = memory.buffer operand "left" 64 bytes on <0> live [0, 1)
    %right = memory.buffer operand "right" 128 bytes on <0> region executable live [0, 1)
    %out = memory.buffer result "out" 64 bytes on <0> live [0, 1)
    codelet.compute 0 "C" {
      codelet.run matmul (b 1, m 4, n 8, k 16) on <0>
        (%left: f8E4M3FNUZ m [4:16] k [16:1], %right: f8E4M3FNUZ n [8:16] k [16:1]) ->
        (%out: f16 m [4:16] n [8:2]) {accumulate = "f16"} from "f.mlir":4:1
    }
  }
}

// -----

// A block in a buffer begins where its codelet can read it.
// CHECK: f.mlir:4:1: error: matmul needs "right" aligned to 16 bytes, its view begins at byte 8
module attributes {tile.machine = "mini4", tile.rung = 5} {
  memory.program @main {
    %left = memory.buffer operand "left" 64 bytes on <0> live [0, 1)
    %right = memory.buffer operand "right" 136 bytes on <0> live [0, 1)
    %out = memory.buffer result "out" 64 bytes on <0> live [0, 1)
    codelet.compute 0 "C" {
      codelet.run matmul (b 1, m 4, n 8, k 16) on <0>
        (%left: f8E4M3FNUZ m [4:16] k [16:1], %right: f8E4M3FNUZ at 8 n [8:16] k [16:1]) ->
        (%out: f16 m [4:16] n [8:2]) {accumulate = "f16"} from "f.mlir":4:1
    }
  }
}

// -----

// A map writes another buffer than it reads.
// CHECK: f.mlir:4:1: error: map cannot work in place on "x"
module attributes {tile.machine = "mini4", tile.rung = 5} {
  memory.program @main {
    %x = memory.buffer operand "x" 64 bytes on <0> live [0, 1)
    codelet.compute 0 "C" {
      codelet.run map (d0 8) on <0> (%x: f16 d0 [8:2]) -> (%x: f16 d0 [8:2]) {stages = [{function = "gelu_tanh", format = "f16"}]} from "f.mlir":4:1
    }
  }
}

// -----

// Support is executable: 8064 bytes of it are free for that on mini4.
// CHECK: error: the support takes 8065 bytes, executable memory has 8064
module attributes {tile.machine = {base = "mini4", memory = {support_bytes = 8065}}, tile.rung = 5} {
  memory.program @main {
  }
}

// -----

// Tiles are those of the machine: mini4 has 0 to 3.
// CHECK: f.mlir:4:1: error: mini4 has no tile 4 for "a"
module attributes {tile.machine = "mini4", tile.rung = 5} {
  memory.program @main {
    %a = memory.buffer scratch "a" 4 bytes on <3, 4> live [0, 1) from "f.mlir":4:1
  }
}
