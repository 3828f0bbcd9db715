// RUN: tile-opt %s --split-input-file | filecheck %s
// RUN: tile-opt %s --split-input-file | tile-opt --split-input-file | filecheck %s
// RUN: tile-opt %s --split-input-file --print-op-generic | tile-opt --split-input-file | filecheck %s

// Float elements in hexadecimal are bits: infinities and NaN stay what they are.
// CHECK-LABEL: @hexadecimal_floats
// CHECK-SAME: half = dense<[0x7C00, 1.000000e+00]> : tensor<2xf16>
// CHECK-SAME: nan = dense<0x80> : tensor<2xf8E4M3FNUZ>
// CHECK-SAME: single = dense<[0x7FC00000, 0xFF800000, -0.000000e+00]> : tensor<3xf32>
module @hexadecimal_floats attributes {
  half = dense<[0x7C00, 1.0]> : tensor<2xf16>,
  nan = dense<0x80> : tensor<2xf8E4M3FNUZ>,
  single = dense<[0x7FC00000, 0xFF800000, -0.0]> : tensor<3xf32>
} {}

// -----

// A payload is all elements or one; integers narrower than a byte are kept.
// CHECK-LABEL: @payloads
// CHECK-SAME: all = dense<[1, -2]> : tensor<2xi32>
// CHECK-SAME: narrow = dense<[1, -2, 7, -8]> : tensor<4xi4>
// CHECK-SAME: splat = dense<2.000000e+00> : tensor<3xf16>
module @payloads attributes {
  all = dense<"0x01000000FEFFFFFF"> : tensor<2xi32>,
  narrow = dense<[1, -2, 7, -8]> : tensor<4xi4>,
  splat = dense<"0x0040"> : tensor<3xf16>
} {}

// -----

// Decimal floats keep every bit of their type.
// CHECK-LABEL: @decimal_floats
// CHECK-SAME: dense<[33.3333359, 1.000000e-01, 1.401300e-45, 3.14159274]> : tensor<4xf32>
module @decimal_floats attributes {
  a = dense<[33.3333359, 0.1, 1.0E-45, 3.14159274]> : tensor<4xf32>
} {}

// -----

// A resource becomes a constant; the next module may use the same key.
// CHECK-LABEL: @resource
// CHECK-SAME: dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
module @resource attributes {a = dense_resource<w> : tensor<2xf32>} {}
{-# dialect_resources: { builtin: { w: "0x040000000000803F00000040" } } #-}

// -----

// CHECK-LABEL: @same_resource
// CHECK-SAME: dense<-1.000000e+00> : tensor<2xf32>
module @same_resource attributes {a = dense_resource<w> : tensor<2xf32>} {}
{-#
  dialect_resources: {
    builtin: {
      w: "0x04000000000080BF000080BF"
    }
  }
#-}

// -----

// Symbols may be any text; they are quoted where they are no identifiers.
// CHECK-LABEL: @"model v1/\CE\BB"
// CHECK: func.func private @"layer 0/\E6\BF\80"(%x: tensor<2xf32>)
// CHECK: func.call @"layer 0/\E6\BF\80"(%x)
module @"model v1/\CE\BB" {
  func.func private @"layer 0/\E6\BF\80"(%x: tensor<2xf32>) -> tensor<2xf32> {
    return %x : tensor<2xf32>
  }
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = call @"layer 0/\E6\BF\80"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
