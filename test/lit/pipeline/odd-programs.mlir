// RUN: tile-opt %s --split-input-file --plan-budget=default | filecheck %s

// No grid over 16 tiles cuts prime extents evenly: blocks have two shapes or more, a call
// each. The depth of 53 is cut in 4 and 3 panels of 8.
// CHECK-LABEL: @primes
// CHECK: memory.bind output 0 "result0"
// CHECK: codelet.run matmul (b 1, m 7, n 16, k 32) on
// CHECK: codelet.run matmul (b 1, m 7, n 16, k 21) on
!a = tensor<7x53xf16>
!b = tensor<53x101xf16>
module @primes attributes {tile.machine = "mini16"} {
  func.func @primes(%a: !a, %b: !b {tile.parameter}) -> tensor<7x101xf16> {
    %c = tile.matmul %a, %b : (!a, !b) -> tensor<7x101xf16>
    return %c : tensor<7x101xf16>
  }
}

// -----

// On one tile nothing is exchanged.
// CHECK-LABEL: @alone
// CHECK: memory.bind output 0 "result0"
// CHECK-NOT: exchange.phase
// CHECK: codelet.run matmul (b 1, m 7, n 11, k 53) on <0>
// CHECK-NOT: exchange.phase
!a = tensor<7x53xf16>
!b = tensor<53x11xf16>
module @alone attributes {tile.machine = {base = "mini16", tiles = 1 : i64}} {
  func.func @alone(%a: !a, %b: !b) -> tensor<7x11xf16> {
    %c = tile.matmul %a, %b : (!a, !b) -> tensor<7x11xf16>
    return %c : tensor<7x11xf16>
  }
}

// -----

// Three elements are on one of 16 tiles: linear ownership gives whole 8 bytes.
// CHECK-LABEL: @few
// CHECK: memory.buffer input "x" 8 bytes on <0>
// CHECK: codelet.run map (d0 3) on <0>
module @few attributes {tile.machine = "mini16"} {
  func.func @few(%x: tensor<3xf16>) -> tensor<3xf16> {
    %y = tile.neg %x : tensor<3xf16>
    return %y : tensor<3xf16>
  }
}

// -----

// A product over nothing is zero; one of no rows needs no step.
// CHECK-LABEL: @empty
// CHECK: memory.bind output 0 "result0" %{{.*}} : tensor<4x4xf32>
// CHECK: memory.bind output 1 "result1" %{{.*}} : tensor<0x4xf32>
// CHECK: codelet.run matmul (b 1, m {{[0-9]}}, n {{[0-9]}}, k 0)
// CHECK-NOT: codelet.run matmul (b 1, m 0
module @empty attributes {tile.machine = "mini4"} {
  func.func @empty(%a: tensor<4x0xf32>, %b: tensor<0x4xf32>, %c: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<0x4xf32>) {
    %d = tile.matmul %a, %b : (tensor<4x0xf32>, tensor<0x4xf32>) -> tensor<4x4xf32>
    %e = tile.matmul %b, %c : (tensor<0x4xf32>, tensor<4x4xf32>) -> tensor<0x4xf32>
    return %d, %e : tensor<4x4xf32>, tensor<0x4xf32>
  }
}

// -----

// What is returned as it came stays where it came, under every shape; an argument that
// nothing reads keeps its place in the interface.
// CHECK-LABEL: @untouched
// CHECK: memory.bind input 0 "x" %x : tensor<2x6xf16>
// CHECK: memory.bind output 0 "result0" %x : tensor<2x6xf16>
// CHECK: memory.bind output 1 "result1" %x : tensor<3x4xf16>
// CHECK: memory.bind output 2 "result2" %x : tensor<2x6xf16>
// CHECK: memory.bind input 1 "unused" %unused : tensor<5xf32>
// CHECK-NOT: codelet.compute
module @untouched attributes {tile.machine = "mini4"} {
  func.func @untouched(%x: tensor<2x6xf16>, %unused: tensor<5xf32>) -> (tensor<2x6xf16>, tensor<3x4xf16>, tensor<2x6xf16>) {
    %y = tile.reshape %x : tensor<2x6xf16> -> tensor<3x4xf16>
    return %x, %y, %x : tensor<2x6xf16>, tensor<3x4xf16>, tensor<2x6xf16>
  }
}
