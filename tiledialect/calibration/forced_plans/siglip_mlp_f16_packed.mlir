// The MLP of a SigLIP So400m/14 encoder layer in f16 throughout, batch 1. The host packs
// the input into the blocks that the first product reads, a copy on each of their tiles,
// and takes the result from where its sums were made.

!x = tensor<1x729x1152xf16>
!up = tensor<1152x4304xf16>
!down = tensor<4304x1152xf16>
!hidden = tensor<1x729x4304xf16>

module attributes {tile.machine = "ipu-c600"} {
  func.func @siglip_mlp(%x: !x {tile.packed}, %w1: !up {tile.parameter}, %w2: !down {tile.parameter}) -> (!x {tile.packed}) {
    %h = tile.matmul %x, %w1 : (!x, !up) -> !hidden
    %g = tile.gelu tanh %h : !hidden
    %y = tile.matmul %g, %w2 : (!hidden, !down) -> !x
    return %y : !x
  }
}
