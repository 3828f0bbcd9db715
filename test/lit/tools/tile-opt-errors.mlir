// RUN: not tile-opt %s --split-input-file 2>&1 >/dev/null | filecheck %s
// RUN: tile-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// An operation that nobody knows, with the nearest that somebody does.
// CHECK: tile-opt-errors.mlir:8:8: error: Operation tile.matmull is not registered; did you mean tile.matmul?
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {

  %0 = tile.matmull %x, %x : tensor<2x2xf32>
}

// -----

// CHECK: :14:21: error: Type tile.nope is not registered
func.func @main(%x: !tile.nope
) { return }

// -----

// CHECK: :21:10: error: value %y is used but not defined
func.func @main(%x: i32) -> i32 {
  return %y : i32
}

// -----

// A value is defined before it is used.
// CHECK: :29:8: error: operand %y of 'tile.neg' is used before it is defined
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %z = tile.neg %y : tensor<2xf32>
  %y = tile.neg %x : tensor<2xf32>
  return %z : tensor<2xf32>
}

// -----

// CHECK: :40:3: error: redefinition of symbol @relu (first at {{.*}}:38:3)
module {
  func.func private @relu(i32)

  func.func private @relu(i64)
}

// -----

// CHECK: :46:39: error: payload of 4 bytes: tensor<3xf16> needs 6 (or 2, for a splat)
module attributes {a.constant = dense<"0x003C00C0"> : tensor<3xf16>} {}

// -----

// CHECK: :51:31: error: 300 does not fit i8
module attributes {a = dense<[300, 1]> : tensor<2xi8>} {}

// -----

// CHECK: :56:39: error: Expected ')'
module attributes {a = dense<(1.0, 2.0, 3.0)> : tensor<2xcomplex<f32>>} {}

// -----

// CHECK: :61:39: error: constant data was elided when this text was printed
module attributes {a = dense_resource<__elided__> : tensor<2x128xf32>} {}

// -----

// CHECK: :66:24: error: undefined symbol alias '#x'
module attributes {a = #x} {}

// -----

// CHECK: :71:34: error: Multiplication with non-constant (semi-affine)
module attributes {a = affine_map<(d0)[s0] -> (d0 * s0)>} {}

// -----

// CHECK: :76:11: error: unexpected text in block definition
module {  ) }

// -----

// CHECK: :82:1: error: unexpected end of text in block definition
module {
