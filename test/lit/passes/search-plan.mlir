// RUN: tile-opt %s --split-input-file -p 'search-plan{budget=max plans=1}' | filecheck %s
// RUN: tile-opt %s --split-input-file --verify-diagnostics -p 'search-plan{budget=8000}' | filecheck %s --check-prefix=EIGHT
// RUN: tile-opt %s --split-input-file -p search-plan | filecheck %s --check-prefix=DEFAULT

// A product of 16x64 by 64x64 on 4 tiles that share the columns of w. With all of a tile
// each gets x whole, 2048 bytes. Numbers of the best plan are the certificate's, and the
// catalogue is gone.
// CHECK-LABEL: @roomy
// CHECK-SAME: tile.rung = 3 : i64, tile.budget = 16256 : i64, tile.certificate = {status = "optimal", cycles = [[CYCLES:[0-9]+]] : i64, bytes = [[BYTES:[0-9]+]] : i64, labels =
// CHECK: %0 = plan.alternatives : (tensor<16x64xf16>) plan [[CYCLES]] cycles [[BYTES]] bytes {
// CHECK-NEXT: %x_1 = plan.load %x for "h"
// CHECK-NEXT: : tensor<16x64xf16> layout <[1024] bytes 2 spread [4 step 1] packed> from "f.mlir":3:8
// CHECK-NEXT: %x_2 = plan.relayout %x_1 for "h" estimate
// CHECK-NEXT: : tensor<16x64xf16> layout <[1, 16, 64] bytes 2 order [0, 2, 1, 2:8] replicas [4 step 1]> from "f.mlir":3:8
// CHECK-NEXT: %w_1 = plan.load %w for "h"
// CHECK-NEXT: : tensor<64x64xf16> layout <[1, 64, 64 / 4 step 1 grain 8] bytes 2 order [0, 1, 2, 2:8, 1:8]>
// CHECK-NEXT: %h = plan.compute matmul (b, m, n, k) grid <[1, 16, 64 / 4 step 1 grain 8, 64] bytes 1>
// CHECK-NEXT: (%x_2 [b, m, k] : tensor<16x64xf16>, %w_1 [b, k, n] : tensor<64x64xf16>) -> [b, m, n] for "h" {accumulate = "f16"} estimate
// CHECK-NEXT: : tensor<16x64xf16> layout <[1, 16, 64 / 4 step 1 grain 8] bytes 2 order [0, 2, 1, 2:8]>
// CHECK-NEXT: %h_1 = plan.relayout %h for "h" estimate
// CHECK-NEXT: : tensor<16x64xf16> layout <[1024] bytes 2 spread [4 step 1] packed> from "f.mlir":3:8
// CHECK-NEXT: plan.yield %h_1 : tensor<16x64xf16>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %0
// CHECK-NOT: plan.catalogue

// With 8000 bytes that plan is too large: 2 tiles share the depth, so each gets half of x,
// and partial sums are added.
// EIGHT-LABEL: @roomy
// EIGHT-SAME: tile.budget = 8000 : i64, tile.certificate = {status = "optimal", cycles = [[CYCLES:[0-9]+]] : i64
// EIGHT: plan.alternatives : (tensor<16x64xf16>) plan [[CYCLES]] cycles [[BYTES:[0-9]+]] bytes {
// EIGHT: layout <[1, 16, 64 / 2 step 2 grain 8] bytes 2 order [0, 2, 1, 2:8] replicas [2 step 1]>
// EIGHT: layout <[1, 16, 64 / 2 step 1 grain 8] bytes 2 order [0, 2, 1, 2:8] partial 2 step 2>
// EIGHT: plan.reduce sum
// EIGHT: plan.yield
// EIGHT-NOT: plan.catalogue

// The default is the machine's.
// DEFAULT-LABEL: @roomy
// DEFAULT-SAME: tile.budget = 8000 : i64
!x = tensor<16x64xf16>
!w = tensor<64x64xf16>
module @roomy attributes {tile.machine = {base = "mini4", memory = {default_budget_bytes = 8000 : i64}}, tile.rung = 2} {
  func.func @main(%x: !x, %w: !w {tile.parameter}) -> !x {
    %h = tile.matmul %x, %w : (!x, !w) -> !x
    return %h : !x
  }
  plan.catalogue "h" (b 1, m 16, n 64, k 64) considered 256 dropped () columns ["parts.b", "parts.m", "parts.n", "parts.k"]
    paths ["direct stored", "relay_steps stored"] rests ["block panel", "linear row_major", "cut1 row_major"] steps [1, 4]
    table dense<[[1, 1, 4, 1], [1, 1, 2, 2]]> : tensor<2x4xi32> from "f.mlir":3:8
}

// -----

// The same with 7000 bytes to a tile, as the rest is reserved: x is spread over the tiles
// in panels and gathered in 4 steps into one buffer, while the sums grow in place.
// A budget in numbers has to leave the reserve alone.
// EIGHT: error: budget 8000 and reserve 9256 bytes are together more than the 16256 bytes that a tile of mini4 can use
// CHECK-LABEL: @in_steps
// CHECK-SAME: tile.budget = 7000 : i64
// CHECK: %x_2 = plan.relayout %x_1 for "h"
// CHECK-NEXT: layout <[1, 16, 64] bytes 2 order [0, 2, 1, 2:8] spread [4 step 1] by 32>
// CHECK: %x_3 = plan.relayout %x_2 for "h" slot "h.x"
// CHECK-NEXT: window [2 from 0 for 16]>
// CHECK-NEXT: %h = plan.compute matmul (b, m, n, k) grid <[1, 16, 64 / 4 step 1 grain 8, 64] bytes 1 window [3 from 0 for 16]>
// CHECK-NEXT: (%x_3 [b, m, k] : tensor<16x64xf16>, %w_1 [b, k, n] : tensor<64x64xf16>) -> [b, m, n]
// CHECK: %x_4 = plan.relayout %x_2 for "h" slot "h.x"
// CHECK-NEXT: window [2 from 16 for 16]>
// CHECK-NEXT: %h_1 = plan.compute matmul {{.*}} window [3 from 16 for 16]>
// CHECK-NEXT: (%x_4 [b, m, k] : tensor<16x64xf16>, %w_1 [b, k, n] : tensor<64x64xf16>, %h [b, m, n] : tensor<16x64xf16>) -> [b, m, n]
// CHECK: window [3 from 32 for 16]>
// CHECK: window [3 from 48 for 16]>
// CHECK-NOT: window
// CHECK: plan.yield
!x = tensor<16x64xf16>
!w = tensor<64x64xf16>
module @in_steps attributes {tile.machine = "mini4", tile.rung = 2, tile.reserve = 9256} {
  func.func @main(%x: !x, %w: !w {tile.parameter}) -> !x {
    %h = tile.matmul %x, %w : (!x, !w) -> !x
    return %h : !x
  }
  plan.catalogue "h" (b 1, m 16, n 64, k 64) considered 256 dropped () columns ["parts.b", "parts.m", "parts.n", "parts.k"]
    paths ["direct stored", "relay_steps stored"] rests ["block panel", "linear row_major", "cut1 row_major"] steps [1, 4]
    table dense<[[1, 1, 4, 1], [1, 1, 2, 2]]> : tensor<2x4xi32> from "f.mlir":3:8
}

// -----

// Only what the catalogue lists is chosen from: here a parameter that lies in quarters on
// the 4 tiles that use it, is gathered in 2 steps, and never is whole on a tile.
// CHECK-LABEL: @streamed
// CHECK: %w_1 = plan.load %w for "h"
// CHECK-NEXT: layout <[1, 32, 32] bytes 2 order [0, 1, 2, 2:8, 1:8] spread [4 step 1] by 32>
// CHECK: plan.relayout %w_1 for "h" slot "h.w"
// CHECK-NEXT: replicas [4 step 1] window [1 from 0 for 16]>
// CHECK: plan.relayout %w_1 for "h" slot "h.w"
// CHECK-NEXT: replicas [4 step 1] window [1 from 16 for 16]>
!x = tensor<16x32xf16>
!w = tensor<32x32xf16>
module @streamed attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x, %w: !w {tile.parameter}) -> !x {
    %h = tile.matmul %x, %w : (!x, !w) -> !x
    return %h : !x
  }
  plan.catalogue "h" (b 1, m 16, n 32, k 32) considered 64 dropped () columns ["parts.b", "parts.m", "parts.n", "parts.k"]
    paths ["direct stream"] rests ["block panel"] steps [2]
    table dense<[[1, 4, 1, 1]]> : tensor<1x4xi32> from "f.mlir":3:8
}

// -----

// The budget is enough to the byte: support is 2048, x and its result are 2048 each, and a
// 64th of them, 64, is for gaps between buffers. Both lie where they arrive, so nothing
// moves. A table of one number says it for every row. A catalogue without a place gives
// steps without one.
// CHECK-LABEL: @to_the_byte
// CHECK-SAME: tile.budget = 6208 : i64, tile.certificate = {status = "optimal", cycles = {{[0-9]+}} : i64, bytes = 6208 : i64
// CHECK: plan {{[0-9]+}} cycles 6208 bytes {
// CHECK-NEXT: %x_1 = plan.load %x for "h"
// CHECK-NEXT: : tensor<2048xf32> layout <[2048] bytes 4 spread [4 step 1] packed>{{$}}
// CHECK-NEXT: %h = plan.compute map (d0) grid <[2048 / 4 step 1 grain 2] bytes 1>
// CHECK-NEXT: (%x_1 [d0] : tensor<2048xf32>) -> [d0] for "h" {stages = [{function = "neg"
// CHECK-NEXT: : tensor<2048xf32> layout <[2048] bytes 4 spread [4 step 1] packed>{{$}}
// CHECK-NEXT: plan.yield %h
!x = tensor<2048xf32>
module @to_the_byte attributes {tile.machine = "mini4", tile.rung = 2, tile.reserve = 10048} {
  func.func @main(%x: !x) -> !x {
    %h = tile.neg %x : !x
    return %h : !x
  }
  plan.catalogue "h" (d0 2048) considered 4 dropped () columns ["parts.d0"] paths ["direct"] rests ["block row_major"] steps [1]
    table dense<4> : tensor<2x1xi32>
}

// -----

// An operation may ask for some of the plan of its group. Here the product is asked for
// two parts of n, and the map in the same group for 4 steps; the rest is searched, and the
// certificate says what was asked.
// CHECK-LABEL: @as_asked
// CHECK-SAME: tile.certificate = {status = "optimal"{{.*}}constraints = {h = {grid = {n = 2 : i64}, steps = 4 : i64}}
// CHECK: plan.compute matmul (b, m, n, k) grid <[1, 16, 64 / 2 step 1 grain 8, 64 / 2 step 2 grain 8] bytes 1 window [3 from 0 for 8]>
// CHECK: choices [{chunks = 1 : i64, h = {grid = {b = 1 : i64, m = 1 : i64, n = 2 : i64, k = 2 : i64}, steps = 4 : i64, paths = ["relay_steps", "stored"], rest = "cut1", order = "row_major"}}]
!x = tensor<16x64xf16>
!w = tensor<64x64xf16>
module @as_asked attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x, %w: !w {tile.parameter}) -> !x {
    %h = tile.matmul %x, %w {tile.plan = {grid = {n = 2}}} : (!x, !w) -> !x
    %g = tile.neg %h {tile.plan = {steps = 4}} : !x
    return %g : !x
  }
  plan.catalogue "h" (b 1, m 16, n 64, k 64) considered 256 dropped () columns ["parts.b", "parts.m", "parts.n", "parts.k"]
    paths ["direct stored", "relay_steps stored"] rests ["block panel", "linear row_major", "cut1 row_major"] steps [1, 4]
    table dense<[[1, 1, 4, 1], [1, 1, 2, 2]]> : tensor<2x4xi32> from "f.mlir":3:8
}

// -----

// A program that only hands on its input, and one that returns a constant, have a plan of
// loads.
// CHECK-LABEL: @nothing_to_do
// CHECK: %c = tile.constant splat
// CHECK: plan 0 cycles
// CHECK-DAG: plan.load %x
// CHECK-DAG: plan.load %c
// CHECK: plan.yield
!x = tensor<6xf32>
module @nothing_to_do attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x) -> (!x, !x) {
    %c = tile.constant splat 2.0 : !x
    return %x, %c : !x, !x
  }
}
