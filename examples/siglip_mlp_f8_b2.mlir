// The MLP of a SigLIP So400m/14 encoder layer in 8 bits, batch 2: up, GELU, down.
// Activations and weights are f8 with scale -2; sums, GELU and result are f16.

#scale = #tile.scale<-2>
!x = tensor<2x729x1152xf8E4M3FNUZ, #scale>
!up = tensor<1152x4304xf8E4M3FNUZ, #scale>
!down = tensor<4304x1152xf8E4M3FNUZ, #scale>
!hidden = tensor<2x729x4304xf16>
!hidden_f8 = tensor<2x729x4304xf8E4M3FNUZ, #scale>
!y = tensor<2x729x1152xf16>

module attributes {tile.machine = "ipu-c600"} {
  func.func @siglip_mlp(%x: !x, %w1: !up {tile.parameter}, %w2: !down {tile.parameter}) -> !y {
    %h = tile.matmul %x, %w1 : (!x, !up) -> !hidden
    %g = tile.gelu tanh %h : !hidden
    %q = tile.cast %g : !hidden to !hidden_f8
    %y = tile.matmul %q, %w2 : (!hidden_f8, !down) -> !y
    return %y : !y
  }
}
