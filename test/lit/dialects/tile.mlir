// RUN: tile-opt %s --split-input-file | tile-opt --split-input-file | filecheck %s

// Products: batch axes broadcast, either operand may be read transposed, the type of
// partial sums may be named, and the scale of an 8-bit tensor stands in its type.
// CHECK-LABEL: @products
// CHECK: func.func @main(%x: {{.*}}, %w: tensor<64x96xf8E4M3FNUZ, #tile.scale<-2>> {tile.parameter}
// CHECK: tile.matmul %x, %w : (tensor<2x32x64xf8E4M3FNUZ, #tile.scale<-2>>, tensor<64x96xf8E4M3FNUZ, #tile.scale<-2>>) -> tensor<2x32x96xf16>
// CHECK: tile.matmul %h, %h transpose_b accumulate f32 : (tensor<2x32x96xf16>, tensor<2x32x96xf16>) -> tensor<2x32x32xf16>
// CHECK: tile.matmul %h, %h transpose_a : (tensor<2x32x96xf16>, tensor<2x32x96xf16>) -> tensor<2x96x96xf32>
#scale = #tile.scale<-2>
!x = tensor<2x32x64xf8E4M3FNUZ, #scale>
!w = tensor<64x96xf8E4M3FNUZ, #scale>
!h = tensor<2x32x96xf16>
module @products {
  func.func @main(%x: !x, %w: !w {tile.parameter}) -> !h {
    %h = tile.matmul %x, %w : (!x, !w) -> !h
    %s = tile.matmul %h, %h transpose_b accumulate f32 : (!h, !h) -> tensor<2x32x32xf16>
    %t = tile.matmul %h, %h transpose_a : (!h, !h) -> tensor<2x96x96xf32>
    return %h : !h
  }
}

// -----

// Elementwise operations: one type where all agree, else the types of all three.
// CHECK-LABEL: @elementwise
// CHECK: tile.gelu tanh %x : tensor<4x8xf16>
// CHECK: tile.gelu erf %x : tensor<4x8xf16>
// CHECK: tile.neg %x : tensor<4x8xf16>
// CHECK: tile.add %x, %x : tensor<4x8xf16>
// CHECK: tile.sub %x, %row : (tensor<4x8xf16>, tensor<4x1xf16>) -> tensor<4x8xf16>
// CHECK: tile.cast %x : tensor<4x8xf16> to tensor<4x8xf8E5M2FNUZ, #tile.scale<3>>
!x = tensor<4x8xf16>
!row = tensor<4x1xf16>
module @elementwise {
  func.func @main(%x: !x, %row: !row) {
    %0 = tile.gelu tanh %x : !x
    %1 = tile.gelu erf %x : !x
    %2 = tile.neg %x : !x
    %3 = tile.add %x, %x : !x
    %4 = tile.sub %x, %row : (!x, !row) -> !x
    %5 = tile.cast %x : !x to tensor<4x8xf8E5M2FNUZ, #tile.scale<3>>
    return
  }
}

// -----

// Reductions name their axes, in order; views compute nothing.
// CHECK-LABEL: @reductions_and_views
// CHECK: tile.reduce sum %x over [0, 2] : tensor<4x5x6xf32> -> tensor<5xf32>
// CHECK: tile.reduce max %x over [2] keepdims : tensor<4x5x6xf32> -> tensor<4x5x1xf32>
// CHECK: tile.transpose %x [2, 0, 1] : tensor<4x5x6xf32> -> tensor<6x4x5xf32>
// CHECK: tile.reshape %x : tensor<4x5x6xf32> -> tensor<120xf32>
!x = tensor<4x5x6xf32>
module @reductions_and_views {
  func.func @main(%x: !x) {
    %0 = tile.reduce sum %x over [0, 2] : !x -> tensor<5xf32>
    %1 = tile.reduce max %x over [2] keepdims : !x -> tensor<4x5x1xf32>
    %2 = tile.transpose %x [2, 0, 1] : !x -> tensor<6x4x5xf32>
    %3 = tile.reshape %x : !x -> tensor<120xf32>
    return
  }
}

// -----

// A splat stays one element however large the tensor is; 0x gives the bits of a float.
// CHECK-LABEL: @constants
// CHECK: tile.constant splat 5.000000e-01 : tensor<1000000x1000000xf16>
// CHECK: tile.constant splat 0xff800000 : tensor<8xf32>
// CHECK: tile.constant splat -7 : tensor<i32>
// CHECK: tile.constant dense<[1.000000e+00, -2.000000e+00]> : tensor<2xbf16>
module @constants {
  func.func @main() {
    %0 = tile.constant splat 0.5 : tensor<1000000x1000000xf16>
    %1 = tile.constant splat 0xFF800000 : tensor<8xf32>
    %2 = tile.constant splat -7 : tensor<i32>
    %3 = tile.constant dense<[1.0, -2.0]> : tensor<2xbf16>
    return
  }
}

// -----

// Scalars and extents of zero are tensors like any other.
// CHECK-LABEL: @scalars_and_empty_tensors
// CHECK: tile.exp %s : tensor<f32>
// CHECK: tile.matmul %a, %b : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
// CHECK: tile.reduce max %a over [1] : tensor<2x0xf32> -> tensor<2xf32>
module @scalars_and_empty_tensors {
  func.func @main(%s: tensor<f32>, %a: tensor<2x0xf32>, %b: tensor<0x3xf32>) {
    %0 = tile.exp %s : tensor<f32>
    %1 = tile.matmul %a, %b : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
    %2 = tile.reduce max %a over [1] : tensor<2x0xf32> -> tensor<2xf32>
    return
  }
}
