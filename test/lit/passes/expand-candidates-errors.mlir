// RUN: tile-opt %s --split-input-file --verify-diagnostics -p expand-candidates | filecheck %s

// CHECK: error: {{.*}}expand-candidates reads rung 1 (tensor program), the module is at rung 2 (catalogue)
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    return %x : tensor<6xf32>
  }
}

// -----

// A step of a plan is neither a computation nor a view, nor is a call.
// CHECK: expand-candidates-errors.mlir:16:10: error: plan.load cannot be planned: it is neither structured nor a view
module attributes {tile.machine = "mini4"} {
  func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = plan.load %x for "g" : tensor<6xf32> layout <[6] bytes 4>
    return %0 : tensor<6xf32>
  }
}

// -----

// CHECK: error: func.call cannot be planned: it is neither structured nor a view
module attributes {tile.machine = "mini4"} {
  func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    %0 = func.call @main(%x) : (tensor<6xf32>) -> tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}

// -----

// CHECK: error: func.call has 0 results, planning knows one
module attributes {tile.machine = "mini4"} {
  func.func private @log(tensor<6xf32>)
  func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    func.call @log(%x) : (tensor<6xf32>) -> ()
    return %x : tensor<6xf32>
  }
}

// -----

// A machine computes in the formats that it lists.
// CHECK: error: 'y' is f16, machine mini4 computes with f32
module attributes {tile.machine = {base = "mini4", formats = {supported = ["f32"]}}} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf16> {
    %y = tile.cast %x : tensor<8xf32> to tensor<8xf16>
    return %y : tensor<8xf16>
  }
}

// -----

// Scales of 8-bit values lie in the machine's range: 4 does, 5 and -5 do not.
// CHECK: error: 'y' has scale 5, machine mini4 has -4 to 4
!low = tensor<8xf8E4M3FNUZ, #tile.scale<4>>
!high = tensor<8xf8E4M3FNUZ, #tile.scale<5>>
module attributes {tile.machine = {base = "mini4", formats = {scale_min = -4, scale_max = 4}}} {
  func.func @main(%x: !low) -> !high {
    %y = tile.cast %x : !low to !high
    return %y : !high
  }
}

// -----

// CHECK: error: 'x' has scale -5, machine mini4 has -4 to 4
!low = tensor<8xf8E4M3FNUZ, #tile.scale<-5>>
module attributes {tile.machine = {base = "mini4", formats = {scale_min = -4, scale_max = 4}}} {
  func.func @main(%x: !low) -> !low {
    return %x : !low
  }
}

// -----

// A dimension that only x has, between two that both have: these three are not one batch.
// CHECK: error: a matmul with 3 separate batch dimensions is not planned yet; reshape them into one
!x = tensor<2x3x2x4x8xf16>
!w = tensor<2x1x2x8x8xf16>
module attributes {tile.machine = "mini4"} {
  func.func @main(%x: !x, %w: !w) -> tensor<2x3x2x4x8xf16> {
    %y = tile.matmul %x, %w : (!x, !w) -> tensor<2x3x2x4x8xf16>
    return %y : tensor<2x3x2x4x8xf16>
  }
}

// -----

// A matrix unit without a mode for that sum cannot multiply.
// CHECK: error: machine mini4 cannot accumulate in f32
module attributes {tile.machine = {base = "mini4", matrix = [{operand = "f16", accumulate = "f16", k_block = 8, n_block = 8, row_step = 2, row_cycles = 8, block_cycles = 30, call_cycles = 60}]}} {
  func.func @main(%x: tensor<2x8xf16>, %w: tensor<8x8xf16>) -> tensor<2x8xf32> {
    %y = tile.matmul %x, %w : (tensor<2x8xf16>, tensor<8x8xf16>) -> tensor<2x8xf32>
    return %y : tensor<2x8xf32>
  }
}

// -----

// CHECK: error: no machine is called 'mini5'; did you mean mini4?
module attributes {tile.machine = "mini5"} {
  func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    return %x : tensor<6xf32>
  }
}

// -----

// CHECK: error: {{.*}}a program needs one public function with a body, this has 0
module attributes {tile.machine = "mini4"} {
  func.func private @main(%x: tensor<6xf32>) -> tensor<6xf32> {
    return %x : tensor<6xf32>
  }
}

// -----

// CHECK: error: {{.*}}every extent is static, tensor<?xf32> has one that is not
module attributes {tile.machine = "mini4"} {
  func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
    return %x : tensor<?xf32>
  }
}

// -----

// A parameter is packed anyway.
// CHECK: error: expand-candidates: argument 'a' is marked tile.parameter and tile.packed
module attributes {tile.machine = "mini4"} {
  func.func @main(%a: tensor<6xf32> {tile.packed, tile.parameter}) -> tensor<6xf32> {
    return %a : tensor<6xf32>
  }
}

// -----

// A mark that says nothing here is not overlooked.
// CHECK: error: expand-candidates: an argument is marked tile.layout; its marks are tile.parameter, tile.packed, without a value
module attributes {tile.machine = "mini4"} {
  func.func @main(%a: tensor<6xf32> {tile.layout = #plan.layout<[6] bytes 4>}) -> tensor<6xf32> {
    return %a : tensor<6xf32>
  }
}

// -----

// CHECK: error: expand-candidates: an argument is marked tile.parameter = …; its marks are
module attributes {tile.machine = "mini4"} {
  func.func @main(%a: tensor<6xf32> {tile.parameter = true}) -> tensor<6xf32> {
    return %a : tensor<6xf32>
  }
}

// -----

// CHECK: error: expand-candidates: a result is marked tile.parameter; its marks are tile.packed, without a value
module attributes {tile.machine = "mini4"} {
  func.func @main(%a: tensor<6xf32>) -> (tensor<6xf32> {tile.parameter}) {
    return %a : tensor<6xf32>
  }
}
