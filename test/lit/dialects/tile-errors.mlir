// RUN: not tile-opt %s --split-input-file 2>&1 | filecheck %s

// The extents that a product sums over must agree.
// CHECK: error: 'tile.matmul': needs one extent to sum over, the left operand has 3 and the right one 4
func.func @main(%a: tensor<2x3xf16>, %b: tensor<4x5xf16>) {
  %0 = tile.matmul %a, %b : (tensor<2x3xf16>, tensor<4x5xf16>) -> tensor<2x5xf16>
  return
}

// -----

// Operands are never accumulated in less than they hold.
// CHECK: error: 'tile.matmul': accumulates in f16 for f16 and 8-bit operands only
func.func @main(%a: tensor<2x2xbf16>) {
  %0 = tile.matmul %a, %a accumulate f16 : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xbf16>
  return
}

// -----

// No machine multiplies integer matrices.
// CHECK: error: 'tile.matmul': has no i32 form
func.func @main(%a: tensor<2x2xi32>) {
  %0 = tile.matmul %a, %a : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  return
}

// -----

// 8-bit tensors are cast before arithmetic.
// CHECK: error: 'tile.add': computes in f32, f16 or bf16, its operand is 2x2xf8E4M3FNUZ; cast it first
func.func @main(%a: tensor<2x2xf8E4M3FNUZ>) {
  %0 = tile.add %a, %a : tensor<2x2xf8E4M3FNUZ>
  return
}

// -----

// Nothing is promoted silently.
// CHECK: error: 'tile.add': needs operands and result of one format, these are f16, f32 and f32
func.func @main(%a: tensor<2xf16>, %b: tensor<2xf32>) {
  %0 = tile.add %a, %b : (tensor<2xf16>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// Extents broadcast when one of them is 1.
// CHECK: error: 'tile.add': cannot broadcast 2xf16 with 3xf16: extents must be equal or 1, counted from the last axis
func.func @main(%a: tensor<2xf16>, %b: tensor<3xf16>) {
  %0 = tile.add %a, %b : (tensor<2xf16>, tensor<3xf16>) -> tensor<3xf16>
  return
}

// -----

// An axis past the last is refused, the last one is not.
// CHECK: error: 'tile.reduce': over [2] needs axes of an operand of rank 2
func.func @main(%a: tensor<2x3xf16>) {
  %0 = tile.reduce sum %a over [1] : tensor<2x3xf16> -> tensor<2xf16>
  %1 = tile.reduce sum %a over [2] : tensor<2x3xf16> -> tensor<2xf16>
  return
}

// -----

// A reshape keeps every element.
// CHECK: error: 'tile.reshape': keeps the elements, 2x3xf16 has 6 and 7xf16 has 7
func.func @main(%a: tensor<2x3xf16>) {
  %0 = tile.reshape %a : tensor<2x3xf16> -> tensor<7xf16>
  return
}

// -----

// An order is a permutation of the axes.
// CHECK: error: 'tile.transpose': needs each axis of 0..1 once, its order is [0, 0]
func.func @main(%a: tensor<2x3xf16>) {
  %0 = tile.transpose %a [0, 0] : tensor<2x3xf16> -> tensor<2x2xf16>
  return
}

// -----

// A scale is a signed 6-bit field: 31 fits.
// CHECK: a scale lies in -32..31, this one is 32
func.func @main(%a: tensor<2xf8E4M3FNUZ, #tile.scale<31>>, %b: tensor<2xf8E4M3FNUZ, #tile.scale<32>>) {
  return
}

// -----

// Only 8-bit formats have a scale.
// CHECK: only 8-bit formats have a scale, this is f16
func.func @main(%a: tensor<2xf16, #tile.scale<1>>) {
  %0 = tile.exp %a : tensor<2xf16, #tile.scale<1>>
  return
}

// -----

// A literal fits its format or is refused.
// CHECK: 65520.0 is beyond the largest f16
func.func @main() {
  %0 = tile.constant splat 65504.0 : tensor<2xf16>
  %1 = tile.constant splat 65520.0 : tensor<2xf16>
  return
}
