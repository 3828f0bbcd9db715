// RUN: not tile-opt %s --split-input-file 2>&1 | filecheck %s
// RUN: not tile-opt %s --split-input-file --allow-unregistered-dialect 2>&1 | filecheck %s --check-prefix=OTHER

// A table of grids has as many columns as it names.
// CHECK: f.mlir:3:8: error: 'plan.catalogue': a table of 2 columns is needed, this is (1, 3)
module {
  plan.catalogue "g" (d0 4, d1 4) considered 1 dropped () columns ["parts.d0", "parts.d1"] paths [] rests [] steps [1] table dense<[[1, 1, 1]]> : tensor<1x3xi32> from "f.mlir":3:8
}

// -----

// A list is no table.
// CHECK: error: 'plan.catalogue': a table of 1 columns is needed, this is (1,)
module {
  plan.catalogue "g" (d0 4) considered 1 dropped () columns ["parts.d0"] paths [] rests [] steps [1] table dense<[1]> : tensor<1xi32>
}

// -----

// A table holds numbers of parts, as i32.
// CHECK: error: a table is dense<...> : tensor<...xi32>
module {
  plan.catalogue "g" (d0 4) considered 1 dropped () columns ["parts.d0"] paths [] rests [] steps [1] table dense<[[1.0]]> : tensor<1x1xf32>
}

// -----

// CHECK: f.mlir:3:8: error: 'plan.catalogue': a table holds i32, not i64
module {
  plan.catalogue "g" (d0 4) considered 1 dropped () columns ["parts.d0"] paths [] rests [] steps [1] table dense<[[1]]> : tensor<1x1xi64> from "f.mlir":3:8
}

// -----

// CHECK: error: 'plan.catalogue': a table counts parts from 1, one is 0
module {
  plan.catalogue "g" (d0 4) considered 1 dropped () columns ["parts.d0"] paths [] rests [] steps [1] table dense<[[1], [0], [2]]> : tensor<3x1xi32>
}

// -----

// CHECK: error: 'plan.catalogue': a table counts parts from 1, one is -2
module {
  plan.catalogue "g" (d0 4) considered 1 dropped () columns ["parts.d0"] paths [] rests [] steps [1] table dense<-2> : tensor<3x1xi32>
}

// -----

// In generic text dimensions and extents stand apart, so one can be missing.
// CHECK: f.mlir:3:8: error: 'plan.catalogue': 2 dimensions have 1 extents
module {
  "plan.catalogue"() <{group = "g", dims = ["d0", "d1"], extents = array<i64: 4>, columns = ["parts.d0", "parts.d1"], considered = 1 : i64, dropped = {}, paths = [], rests = [], steps = array<i64: 1>, table = dense<[[1, 1]]> : tensor<1x2xi32>, loc_text = "f.mlir:3:8"}> : () -> ()
}

// -----

// CHECK: error: 'plan.catalogue': 1 dimensions have 2 extents
module {
  "plan.catalogue"() <{group = "g", dims = ["d0"], extents = array<i64: 4, 4>, columns = ["parts.d0"], considered = 1 : i64, dropped = {}, paths = [], rests = [], steps = array<i64: 1>, table = dense<[[1]]> : tensor<1x1xi32>}> : () -> ()
}

// -----

// Steps in time are counted from 1.
// CHECK: error: must lie in 1..2147483647, is 0
module {
  plan.catalogue "g" (d0 4) considered 1 dropped () columns ["parts.d0"] paths [] rests [] steps [0] table dense<[[1]]> : tensor<1x1xi32>
}

// -----

// Extents, counts and estimates are not negative.
// CHECK: error: must lie in 0..2147483647, is -4
module {
  plan.catalogue "g" (d0 -4) considered 1 dropped () columns ["parts.d0"] paths [] rests [] steps [1] table dense<[[1]]> : tensor<1x1xi32>
}

// -----

// CHECK: error: must lie in 0..2147483647, is -1
module {
  plan.catalogue "g" (d0 4) considered -1 dropped () columns ["parts.d0"] paths [] rests [] steps [1] table dense<[[1]]> : tensor<1x1xi32>
}

// -----

// CHECK: error: must lie in 0..2147483647, is -9
func.func @main(%x: tensor<6xf32>) {
  %0 = plan.relayout %x for "g" estimate -9 : tensor<6xf32> layout <[6] bytes 4>
}

// -----

// CHECK: error: must lie in 0..2147483647, is -1
func.func @main(%x: tensor<6xf32>) {
  %0 = plan.relayout %x for "g" zeroed -1 : tensor<6xf32> layout <[6] bytes 4>
}

// -----

// The words of a catalogue stand in their order.
// CHECK: error: Expected 'columns'
module {
  plan.catalogue "g" (d0 4) considered 1 dropped () paths [] columns ["parts.d0"] rests [] steps [1] table dense<[[1]]> : tensor<1x1xi32>
}

// -----

// At least one plan is there to choose from.
// CHECK: f.mlir:2:3: error: 'plan.alternatives': there is no plan to choose from
func.func @main() {
  plan.alternatives : () from "f.mlir":2:3
  return
}

// -----

// Choices are of all plans or of none.
// CHECK: error: 'plan.alternatives': 1 plans need choices of 1, not of 2
func.func @main() {
  plan.alternatives : () plan 7 cycles 9 bytes {
    plan.yield
  } choices [{}, {}]
  return
}

// -----

// CHECK: :{{[0-9]+}}:{{[0-9]+}}: error: choices of a plan are
func.func @main() {
  plan.alternatives : () plan 7 cycles 9 bytes {
    plan.yield
  } choices [7]
  return
}

// -----

// In generic text the numbers stand apart from their plans, so one can be missing.
// CHECK: error: 'plan.alternatives': 2 plans need an estimate and a footprint each
func.func @main() {
  "plan.alternatives"() <{estimates = array<i64: 7>, footprints = array<i64: 1, 2>}> ({
    "plan.yield"() : () -> ()
  }, {
    "plan.yield"() : () -> ()
  }) : () -> ()
  return
}

// -----

// CHECK: error: 'plan.alternatives': 1 plans need an estimate and a footprint each
func.func @main() {
  "plan.alternatives"() <{estimates = array<i64: 7>, footprints = array<i64>}> ({
    "plan.yield"() : () -> ()
  }) : () -> ()
  return
}

// -----

// CHECK: error: Expected 'bytes'
func.func @main() {
  plan.alternatives : () plan 7 cycles 9 {
    plan.yield
  }
  return
}

// -----

// Every plan yields what the results are: as many values, of their types.
// CHECK: f.mlir:3:8: error: 'plan.alternatives': plan 1 yields (), the results are (tensor<6xf32>)
func.func @main(%x: tensor<6xf32>) {
  %0 = plan.alternatives : (tensor<6xf32>) plan 7 cycles 9 bytes {
    plan.yield %x : tensor<6xf32>
  } plan 8 cycles 8 bytes {
    plan.yield
  } from "f.mlir":3:8
  return
}

// -----

// CHECK: error: 'plan.alternatives': plan 0 yields (tensor<6xf32>), the results are (tensor<6xf16>)
func.func @main(%x: tensor<6xf32>) {
  %0 = plan.alternatives : (tensor<6xf16>) plan 7 cycles 9 bytes {
    plan.yield %x : tensor<6xf32>
  }
  return
}

// -----

// CHECK: error: 'plan.alternatives': plan 0 yields (tensor<6xf32>, tensor<6xf32>), the results are (tensor<6xf32>)
func.func @main(%x: tensor<6xf32>) {
  %0 = plan.alternatives : (tensor<6xf32>) plan 7 cycles 9 bytes {
    plan.yield %x, %x : tensor<6xf32>, tensor<6xf32>
  }
  return
}

// -----

// OTHER: error: 'plan.alternatives': plan 0 does not end with plan.yield
func.func @main(%x: tensor<6xf32>) {
  plan.alternatives : () plan 7 cycles 9 bytes {
    "other.end"() : () -> ()
  }
  return
}

// -----

// The result of a computation has a map too.
// CHECK: f.mlir:3:8: error: 'plan.compute': 1 inputs and a result need as many maps, there are 1
func.func @main(%x: tensor<6xf32>) {
  %0 = "plan.compute"(%x) <{group = "g", layout = #plan.layout<[6] bytes 4>, family = "map", dims = ["d0"], grid = #plan.layout<[6] bytes 1>, maps = [array<i64: 0>], parameters = {}, loc_text = "f.mlir:3:8"}> : (tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

// In generic text a map holds numbers of dimensions.
// CHECK: f.mlir:3:8: error: 'plan.compute': a map names dimension 1, there are 1
func.func @main(%x: tensor<6xf32>) {
  %0 = "plan.compute"(%x) <{group = "g", layout = #plan.layout<[6] bytes 4>, family = "map", dims = ["d0"], grid = #plan.layout<[6] bytes 1>, maps = [array<i64: 1>, array<i64: 0>], parameters = {}, loc_text = "f.mlir:3:8"}> : (tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

// CHECK: error: 'plan.compute': a map names dimension -1, there are 1
func.func @main(%x: tensor<6xf32>) {
  %0 = "plan.compute"(%x) <{group = "g", layout = #plan.layout<[6] bytes 4>, family = "map", dims = ["d0"], grid = #plan.layout<[6] bytes 1>, maps = [array<i64: 0>, array<i64: -1>], parameters = {}}> : (tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

// Every dimension of the grid has a name.
// CHECK: error: 'plan.compute': 1 dimensions, the grid has 2
func.func @main(%x: tensor<6xf32>) {
  %0 = plan.compute map (d0) grid <[6, 2] bytes 1> (%x [d0] : tensor<6xf32>) -> [d0] for "g" : tensor<6xf32> layout <[6] bytes 4>
  return
}

// -----

// Operand and result run over dimensions that are named.
// CHECK: error: 'd1' is none of the dimensions ['d0']
func.func @main(%x: tensor<6xf32>) {
  %0 = plan.compute map (d0) grid <[6] bytes 1> (%x [d1] : tensor<6xf32>) -> [d0] for "g" : tensor<6xf32> layout <[6] bytes 4>
}

// -----

// CHECK: error: 'k' is none of the dimensions ['m', 'n']
func.func @main(%x: tensor<6xf32>) {
  %0 = plan.compute map (m, n) grid <[6, 1] bytes 1> (%x [m, n] : tensor<6xf32>) -> [k] for "g" : tensor<6xf32> layout <[6] bytes 4>
}

// -----

// CHECK: error: 'plan.part': a part is of partial sums, its layout has none
func.func @main(%x: tensor<6xf32>) {
  %0 = plan.part %x for "g" : tensor<6xf32> layout <[6] bytes 4>
  return
}

// -----

// A view changes the shape, neither the number of elements nor their format or scale.
// CHECK: error: 'plan.view': sees 6xf32 as 2x4xf32, only shapes may differ
func.func @main(%x: tensor<6xf32>) {
  %0 = plan.view %x : tensor<6xf32> to tensor<2x4xf32>
  return
}

// -----

// CHECK: error: 'plan.view': sees 6xf32 as 2x3xf16, only shapes may differ
func.func @main(%x: tensor<6xf32>) {
  %0 = plan.view %x : tensor<6xf32> to tensor<2x3xf16>
  return
}

// -----

// CHECK: error: 'plan.view': sees 6xf8E4M3FNUZ, scale 1 as 2x3xf8E4M3FNUZ, scale 2, only shapes may differ
func.func @main(%x: tensor<6xf8E4M3FNUZ, #tile.scale<1>>) {
  %0 = plan.view %x : tensor<6xf8E4M3FNUZ, #tile.scale<1>> to tensor<2x3xf8E4M3FNUZ, #tile.scale<2>>
  return
}

// -----

// A step is of a group and has a layout.
// CHECK: error: Expected 'for'
func.func @main(%x: tensor<6xf32>) {
  %0 = plan.load %x : tensor<6xf32> layout <[6] bytes 4>
}

// -----

// CHECK: error: Expected 'layout'
func.func @main(%x: tensor<6xf32>) {
  %0 = plan.load %x for "g" : tensor<6xf32>
}

// -----

// An operand has the type that is written.
// CHECK: error: operand is used with type tensor<6xf16>, but has been previously used or defined with type tensor<6xf32>
func.func @main(%x: tensor<6xf32>) {
  %0 = plan.load %x for "g" : tensor<6xf16> layout <[6] bytes 2>
}

// -----

// A layout that is none is refused where it stands.
// CHECK: error: order must name the rest of axis 1 once, outermost
module attributes {a = #plan.layout<[2, 3] bytes 4 order [0]>} {}

// -----

// CHECK: error: order must name the rest of axis 0 once, outermost
module attributes {a = #plan.layout<[2] bytes 4 order [0:2, 0]>} {}

// -----

// CHECK: error: order names an axis that the shape lacks
module attributes {a = #plan.layout<[2] bytes 4 order [0, 1]>} {}

// -----

// CHECK: error: elements are 1, 2 or 4 bytes, not 3
module attributes {a = #plan.layout<[2] bytes 3>} {}

// -----

// CHECK: error: spread runs are multiples of 8 bytes, not of 12
module attributes {a = #plan.layout<[2] bytes 4 spread [2 step 1] by 12>} {}

// -----

// CHECK: error: spread runs are multiples of 8 bytes, not of 0
module attributes {a = #plan.layout<[2] bytes 4 spread [2 step 1] by 0>} {}

// -----

// CHECK: error: a window names an axis that the shape lacks
module attributes {a = #plan.layout<[2] bytes 4 window [1 from 0 for 1]>} {}

// -----

// CHECK: error: must lie in 1..2147483647, is 0
module attributes {a = #plan.layout<[2] bytes 4 window [0 from 0 for 0]>} {}

// -----

// CHECK: error: must lie in 1..2147483647, is 0
module attributes {a = #plan.layout<[2 / 0] bytes 4>} {}

// -----

// A cut's grain is an element at least.
// CHECK: error: a cut needs at least one part and one element of grain
module attributes {a = #plan.layout<[2 / 2 grain 0] bytes 4>} {}

// -----

// CHECK: error: must lie in 1..2147483647, is 0
module attributes {a = #plan.layout<[2] bytes 4 replicas [0 step 1]>} {}

// -----

// A count of 2^31 is one too many.
// CHECK: error: must lie in 0..2147483647, is 2147483648
module attributes {a = #plan.layout<[2] bytes 4 first 2147483648>} {}
