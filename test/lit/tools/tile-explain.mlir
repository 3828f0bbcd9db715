// RUN: tile-explain %s --plan-budget=12000 | filecheck %s
// RUN: tile-explain %s --plan-budget=12000 --why-not 'op=h, grid=m1 n2 k2, steps=4' | filecheck %s --check-prefix=SLOW
// RUN: tile-explain %s --plan-budget=12000 --why-not 'op=h, grid=m3' | filecheck %s --check-prefix=NONE
// RUN: tile-explain %s --plan-budget=7000 --why-not 'op=h, steps=1' | filecheck %s --check-prefix=LARGE
// RUN: tile-explain %s --plan-budget=12000 --against 7000 | filecheck %s --check-prefix=TWO
// RUN: tile-explain %s --cross-budgets 12000,7000,2100 --cap 1 | filecheck %s --check-prefix=CROSS
// RUN: not tile-explain %s --plan-budget=2100 2>&1 | filecheck %s --check-prefix=SMALL
// RUN: not tile-explain %s --why-not 'op=h, grid=3' 2>&1 | filecheck %s --check-prefix=USAGE

// Two grids, in two ways each with one step or 4: four candidates, as a block that is
// whole along its depth rests as computed, and one that is cut is summed somewhere.
// CHECK: {{.*}} on mini4, budget 12000 bytes: optimal by estimate, [[CYCLES:[0-9]+]] cycles, [[BYTES:[0-9]+]] bytes
// CHECK: group  grids  tiles  candidates  not asked  chunks  dominated  bytes  cycles  left
// CHECK-NEXT: h  {{ *}}256     -254
// CHECK: group h: matmul, {{.*}}tile-explain.mlir:{{[0-9]+}}:10
// CHECK-NEXT: grid b1 m1 n4 k1, steps 1, ways direct stored, rest block, order panel
// CHECK-NEXT: cycles
// CHECK-NEXT: x exchange
// CHECK-NEXT: x codelets
// CHECK-NEXT: compute
// CHECK-NEXT: settling exchange
// CHECK: all {{ *}}[[CYCLES]]
// CHECK-NEXT: bytes, * in the fullest step
// CHECK-NEXT: resident {{ *}}2048
// CHECK: cycles {{ *}}[[CYCLES]]
// CHECK: footprint, gaps included {{ *}}[[BYTES]]
// CHECK-NEXT: fullest in 'h', step 'x arrives'

// SLOW: why not 'h' with grid m1 n2 k2, steps 4?
// SLOW-NEXT: such candidates: {{[0-9]+}} dominated, 0 need more bytes, {{[0-9]+}} more cycles, 0 left
// SLOW: it is slower: the best plan with it takes [[CYCLES:[0-9]+]] cycles, [[MORE:[0-9]+]] (
// SLOW: cycles {{ *}}chosen  with it  difference
// SLOW: x exchange
// SLOW: reduction exchange {{ *}}- {{ *}}{{[0-9]+}} {{ *}}+{{[0-9]+}}
// SLOW: cycles {{.*}}[[CYCLES]] {{ *}}+[[MORE]]

// LARGE: such candidates: {{[0-9]+}} dominated, {{[1-9][0-9]*}} need more bytes, 0 more cycles, 0 left
// LARGE: it does not fit: the smallest plan known with it needs [[NEED:[0-9]+]] bytes, the budget is 7000; fullest in 'h', step '
// LARGE: footprint, gaps included {{.*}} [[NEED]] {{ *}}+

// NONE: why not 'h' with grid m3?
// NONE-NEXT: no candidate of 'h' has m 3; m there is 1

// TWO: group h
// TWO-NEXT: this: grid b1 m1 n4 k1, steps 1
// TWO-NEXT: 7000: grid b1 m1 n4 k1, steps 4, ways relay_steps stored
// TWO: cycles {{ *}}this  7000  difference

// CROSS: budget  catalogue     estimated  simulated  bytes  placed
// CROSS-NEXT: 12000   [[SAME:[0-9a-f]+]]
// CROSS-NEXT: 7000    [[SAME]]
// CROSS-NEXT: 2100    [[SAME]] {{ *}}- {{ *}}-
// CROSS: 2100: f.mlir:2:8: error: no plan fits a budget of 2100 bytes a tile
// CROSS: the catalogue is the same at every budget
// CROSS: catalogues of the 1 best candidates of each group by their own cycles
// CROSS: made for  searched at  cycles  whole catalogue        lost
// CROSS-NEXT: 12000     12000
// CROSS-NEXT: 7000      12000
// CROSS-NEXT: 2100      12000 {{.*}} every plan
// CROSS-NEXT: 12000     7000 {{.*}} every plan
// CROSS-NEXT: 7000      7000 {{.*}} 0.0 %

// SMALL: f.mlir:2:8: error: no plan fits a budget of 2100 bytes a tile; {{[0-9]+}} bytes are enough, fullest in 'h', step '{{.*}}'
// USAGE: error: --why-not: '3' is no dimension with its parts, as m9 or d0:9

!x = tensor<16x64xf16>
!w = tensor<64x64xf16>
module attributes {tile.machine = "mini4", tile.rung = 2} {
  func.func @main(%x: !x, %w: !w {tile.parameter}) -> !x {
    %h = tile.matmul %x, %w : (!x, !w) -> !x
    return %h : !x
  }
  plan.catalogue "h" (b 1, m 16, n 64, k 64) considered 256 dropped (tiles 254) columns ["parts.b", "parts.m", "parts.n", "parts.k"]
    paths ["direct stored", "relay_steps stored"] rests ["block panel", "linear row_major", "cut1 row_major"] steps [1, 4]
    table dense<[[1, 1, 4, 1], [1, 1, 2, 2]]> : tensor<2x4xi32> from "f.mlir":2:8
}
