// The tutorial's program: an 8-bit MLP small enough to follow on 16 tiles.

#scale = #tile.scale<-2>
!x = tensor<8x64xf8E4M3FNUZ, #scale>
!up = tensor<64x128xf8E4M3FNUZ, #scale>
!down = tensor<128x64xf8E4M3FNUZ, #scale>
!hidden = tensor<8x128xf16>
!hidden_f8 = tensor<8x128xf8E4M3FNUZ, #scale>
!y = tensor<8x64xf16>

module attributes {tile.machine = "mini16"} {
  func.func @tiny_mlp(%x: !x, %w1: !up {tile.parameter}, %w2: !down {tile.parameter}) -> !y {
    %h = tile.matmul %x, %w1 : (!x, !up) -> !hidden
    %g = tile.gelu tanh %h : !hidden
    %q = tile.cast %g : !hidden to !hidden_f8
    %y = tile.matmul %q, %w2 : (!hidden_f8, !down) -> !y
    return %y : !y
  }
}
