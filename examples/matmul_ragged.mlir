// One product whose extents are prime: no grid over 16 tiles cuts them evenly.

!a = tensor<7x53xf16>
!b = tensor<53x101xf16>
!c = tensor<7x101xf16>

module attributes {tile.machine = "mini16"} {
  func.func @matmul_ragged(%a: !a, %b: !b {tile.parameter}) -> !c {
    %c = tile.matmul %a, %b : (!a, !b) -> !c
    return %c : !c
  }
}
