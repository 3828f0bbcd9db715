// No product at all: a chain of elementwise operations that fuse into one pass over x.

!x = tensor<37x65xf32>

module attributes {tile.machine = "mini16"} {
  func.func @elementwise_chain(%x: !x, %bias: tensor<65xf32> {tile.parameter}) -> !x {
    %half = tile.constant splat 0.5 : tensor<f32>
    %biased = tile.add %x, %bias : (!x, tensor<65xf32>) -> !x
    %positive = tile.relu %biased : !x
    %scaled = tile.mul %positive, %half : (!x, tensor<f32>) -> !x
    %squashed = tile.tanh %scaled : !x
    %y = tile.neg %squashed : !x
    return %y : !x
  }
}
