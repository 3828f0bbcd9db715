"""Public cases said in our own operations, by their number.

`!t` names stand for tensor types; arguments and results are those of the case.
"""

PROGRAMS = {
    "036": """
func.func @main(%a: tensor<2x0xf32>, %b: tensor<0x3xf32>) -> tensor<2x3xf32> {
  %0 = tile.matmul %a, %b : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}""",
    "039": """
func.func @main(%x: tensor<3x0xf32>) -> tensor<3xf32> {
  %i = tile.constant splat 2.5 : tensor<f32>
  %s = tile.reduce sum %x over [1] : tensor<3x0xf32> -> tensor<3xf32>
  %0 = tile.add %s, %i : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}""",
    "040": """
func.func public @main(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}""",
    "042": """
func.func @main(%x: tensor<2xf32>, %unused: tensor<8xf32>)
    -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = tile.neg %x : tensor<2xf32>
  return %0, %x, %0 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}""",
    "043": """
!q = tensor<1x2x2x3xf32>
!k = tensor<1x4x2x3xf32>
!l = tensor<1x2x4x3xf32>
!s = tensor<1x2x2x4xf32>
func.func @main(%q: !q, %k: !k) -> !s {
  %a = tile.transpose %q [0, 2, 1, 3] : !q -> !q
  %b = tile.transpose %k [0, 2, 1, 3] : !k -> !l
  %0 = tile.matmul %a, %b transpose_b : (!q, !l) -> !s
  return %0 : !s
}""",
    "048": """
!a = tensor<2x3xf32>
!b = tensor<3x2xf32>
func.func @main(%a: !a, %b: !b) -> tensor<f32> {
  %t = tile.transpose %b [1, 0] : !b -> !a
  %p = tile.mul %a, %t : !a
  %0 = tile.reduce sum %p over [0, 1] : !a -> tensor<f32>
  return %0 : tensor<f32>
}""",
    "050": """
!a = tensor<1x1024xbf16>
!b = tensor<1024x1xbf16>
func.func @main(%a: !a, %b: !b) -> tensor<1x1xf32> {
  %0 = tile.matmul %a, %b : (!a, !b) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}""",
    "061": """
!i = tensor<4xi32>
func.func @main(%a: !i, %b: !i) -> (!i, !i) {
  %q = tile.div %a, %b : !i
  %p = tile.mul %q, %b : !i
  %r = tile.sub %a, %p : !i
  return %q, %r : !i, !i
}""",
    "065": """
func.func @main(%x: tensor<4096xf32>) -> tensor<f32> {
  %i = tile.constant splat 10.0 : tensor<f32>
  %s = tile.reduce sum %x over [0] : tensor<4096xf32> -> tensor<f32>
  %0 = tile.add %s, %i : tensor<f32>
  return %0 : tensor<f32>
}""",
    "066": """
func.func @main(%x: tensor<3x37xf32>) -> tensor<3xf32> {
  %0 = tile.reduce max %x over [1] : tensor<3x37xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}""",
    "069": """
func.func @main(%x: tensor<1x41x41xf32>) -> tensor<1x41xf32> {
  %n = tile.constant splat 41.0 : tensor<1x41xf32>
  %s = tile.reduce sum %x over [2] : tensor<1x41x41xf32> -> tensor<1x41xf32>
  %0 = tile.div %s, %n : tensor<1x41xf32>
  return %0 : tensor<1x41xf32>
}""",
    "072": """
!x = tensor<64x64xf32>
func.func @main(%x: !x) -> !x {
  %a = tile.constant splat 1.5 : !x
  %b = tile.constant splat 0.25 : !x
  %0 = tile.mul %x, %a : !x
  %1 = tile.add %0, %b : !x
  return %1 : !x
}""",
    "080": """
!x = tensor<2x3xf32>
!w = tensor<2x1x3xf32>
!b = tensor<2x4x3xf32>
!t = tensor<3x4x2xf32>
func.func @main(%x: !x) -> !t {
  %w = tile.reshape %x : !x -> !w
  %z = tile.constant splat 0.0 : !b
  %b = tile.add %w, %z : (!w, !b) -> !b
  %0 = tile.transpose %b [2, 1, 0] : !b -> !t
  return %0 : !t
}""",
    "086": """
!a = tensor<1x2xf8E4M3FNUZ>
!b = tensor<2x1xf8E4M3FNUZ>
func.func @main(%a: !a, %b: !b) -> tensor<1x1xf32> {
  %0 = tile.matmul %a, %b : (!a, !b) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}""",
    "091": """
func.func @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = tile.transpose %x [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}""",
    "136": """
!x = tensor<3x3xf32>
func.func @main(%x: !x) -> (!x, tensor<9xf32>) {
  %0 = tile.add %x, %x : !x
  %1 = tile.add %0, %x : !x
  %2 = tile.reshape %0 : !x -> tensor<9xf32>
  return %1, %2 : !x, tensor<9xf32>
}""",
}
