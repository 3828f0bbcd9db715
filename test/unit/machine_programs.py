"""Programs that between them use every fact of a machine.

Two products are asked to cut their depth, so that tiles add partial sums whatever the
cost model prefers, more than one group of them.
"""

MLP = """
!x = tensor<9x40xf8E4M3FNUZ, #tile.scale<-2>>
!w = tensor<40x96xf8E4M3FNUZ, #tile.scale<-2>>
!v = tensor<96x9xf8E4M3FNUZ, #tile.scale<-2>>
!h = tensor<9x96xf16>
!c = tensor<9x96xf8E4M3FNUZ, #tile.scale<-2>>
!small = tensor<9x96xf8E5M2FNUZ, #tile.scale<-20>>
!y = tensor<9x9xf16>
func.func @main(%x: !x, %w: !w {tile.parameter}, %v: !v {tile.parameter})
    -> (!y, !small) {
  %h = tile.matmul %x, %w : (!x, !w) -> !h
  %g = tile.gelu tanh %h : !h
  %c = tile.cast %g : !h to !c
  %y = tile.matmul %c, %v : (!c, !v) -> !y
  %small = tile.cast %c : !c to !small
  return %y, %small : !y, !small
}
"""

PRODUCTS = """
!x = tensor<10x203xf16>
!w = tensor<203x6xf16>
!u = tensor<203x32xf16>
!a = tensor<10x203xf32>
!b = tensor<203x5xf32>
!p = tensor<10x32xf16>
!q = tensor<10x6xf32>
!r = tensor<10x5xf32>
func.func @main(%x: !x, %u: !u, %w: !w, %a: !a, %b: !b) -> (!p, !q, !r) {
  %p = tile.matmul %x, %u {tile.plan = {grid = {k = 2}}} : (!x, !u) -> !p
  %q = tile.matmul %x, %w accumulate f32 {tile.plan = {grid = {k = 2}}}
    : (!x, !w) -> !q
  %r = tile.matmul %a, %b : (!a, !b) -> !r
  return %p, %q, %r : !p, !q, !r
}
"""

MAPS = """
!x = tensor<7x127xf16>
!y = tensor<7x127xf32>
!z = tensor<9xbf16>
!i = tensor<5xi32>
!t = tensor<127x7xf16>
func.func @main(%x: !x, %y: !y, %z: !z, %i: !i)
    -> (!x, !y, !z, !i, !t, tensor<7xf16>, tensor<7xf32>) {
  %0 = tile.gelu erf %x : !x
  %1 = tile.tanh %0 : !x
  %2 = tile.add %1, %x : !x
  %3 = tile.gelu tanh %y : !y
  %4 = tile.exp %3 : !y
  %5 = tile.gelu erf %4 : !y
  %6 = tile.div %5, %4 : !y
  %7 = tile.mul %6, %y : !y
  %8 = tile.abs %7 : !y
  %9 = tile.sqrt %8 : !y
  %10 = tile.neg %z : !z
  %11 = tile.neg %i : !i
  %12 = tile.transpose %x [1, 0] : !x -> !t
  %13 = tile.reduce sum %x over [1] : !x -> tensor<7xf16>
  %14 = tile.reduce max %y over [1] : !y -> tensor<7xf32>
  %15 = tile.cast %x : !x to !y
  %16 = tile.add %9, %15 : !y
  return %2, %16, %10, %11, %12, %13, %14
    : !x, !y, !z, !i, !t, tensor<7xf16>, tensor<7xf32>
}
"""

CASTS = """
!x = tensor<64x90xf16>
!small = tensor<64x90xf8E4M3FNUZ, #tile.scale<-9>>
!y = tensor<7x9xf8E5M2FNUZ, #tile.scale<5>>
!t = tensor<9x7xf8E5M2FNUZ, #tile.scale<5>>
func.func @main(%x: !x, %y: !y) -> (!small, !t, !x, !small) {
  %g = tile.gelu tanh %x : !x
  %0 = tile.cast %g : !x to !small
  %1 = tile.transpose %y [1, 0] : !y -> !t
  %h = tile.gelu tanh %x : !x
  %k = tile.cast %x : !x to !small
  return %0, %1, %h, %k : !small, !t, !x, !small
}
"""
