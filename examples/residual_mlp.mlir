// An MLP with biases around which its input is added back: the input lives from the
// first product to the last sum.

!x = tensor<48x96xf16>
!up = tensor<96x384xf16>
!up_bias = tensor<384xf16>
!down = tensor<384x96xf16>
!down_bias = tensor<96xf16>
!hidden = tensor<48x384xf16>

module attributes {tile.machine = "mini16"} {
  func.func @residual_mlp(
      %x: !x,
      %w1: !up {tile.parameter}, %b1: !up_bias {tile.parameter},
      %w2: !down {tile.parameter}, %b2: !down_bias {tile.parameter}) -> !x {
    %product = tile.matmul %x, %w1 : (!x, !up) -> !hidden
    %biased = tile.add %product, %b1 : (!hidden, !up_bias) -> !hidden
    %hidden = tile.gelu erf %biased : !hidden
    %down = tile.matmul %hidden, %w2 : (!hidden, !down) -> !x
    %out = tile.add %down, %b2 : (!x, !down_bias) -> !x
    %y = tile.add %x, %out : !x
    return %y : !x
  }
}
