// RUN: tile-opt %s --plan-budget=8KiB --stop-after=search-plan -o %t.plan.mlir
// RUN: tile-opt %t.plan.mlir --verify-certificate | filecheck %s --check-prefix=PROVEN
// RUN: sed 's/cycles = \([0-9]*\) : i64, gap/cycles = 99\1 : i64, gap/' %t.plan.mlir > %t.raised.mlir
// RUN: not tile-opt %t.raised.mlir --verify-certificate 2>&1 | filecheck %s --check-prefix=RAISED
// RUN: not tile-opt %s --plan-budget=4160 --verify-certificate --certificate=%t.json 2>&1 | filecheck %s --check-prefix=REFUTED
// RUN: filecheck %s --check-prefix=JSON < %t.json
// RUN: not tile-opt %s --verify-certificate 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not tile-opt %s --split-input-file --certificate=%t.json 2>&1 | filecheck %s --check-prefix=SPLIT

// The module itself is not printed: one line says what is proven.
// PROVEN-NOT: module
// PROVEN: proven: no plan within 8192 bytes a tile takes fewer than {{[0-9]+}} cycles, this one takes {{[0-9]+}} ('optimal' by the search, {{[0-9.]+}} % to the bound): {{[0-9]+}} parts in {{[0-9]+}} case
// PROVEN-NOT: module

// RAISED: raised.mlir:1:1: error: certificate: bound.cycles 99{{[0-9]+}} does not follow, {{[0-9]+}} does

// REFUTED: proven: no plan fits a budget of 4160 bytes a tile: 1 part in 1 case
// REFUTED: tile-opt-certificate.mlir:{{[0-9]+}}:{{[0-9]+}}: error: no plan fits a budget of 4160 bytes a tile
// JSON: {"format": "tiledialect-certificate", "version": 1, "machine": "mini16", "budget": 4160, "certificate": {"status": "infeasible"

// NONE: error: the module has no tile.certificate; search-plan writes it
// SPLIT: error: --certificate takes one module

module attributes {tile.machine = "mini16"} {
  func.func @main(%x: tensor<16x32xf16>, %w: tensor<32x64xf16> {tile.parameter}) -> tensor<16x64xf16> {
    %y = tile.matmul %x, %w : (tensor<16x32xf16>, tensor<32x64xf16>) -> tensor<16x64xf16>
    return %y : tensor<16x64xf16>
  }
}
