// RUN: tile-opt %s --plan-budget=max -t package -o %t.tilepkg
// RUN: tile-run %t.tilepkg --check | filecheck %s
// RUN: tile-run %t.tilepkg --check --quiet | filecheck %s --check-prefix=QUIET
// RUN: tile-run %t.tilepkg --check --quiet --max-abs-error=0 --json %t.json | filecheck %s --check-prefix=QUIET
// RUN: python -m json.tool %t.json | filecheck %s --check-prefix=JSON
// RUN: tile-run %t.tilepkg --quiet --seed=3 --outputs %t.npz
// RUN: not tile-run %t.tilepkg --inputs %t.npz 2>&1 | filecheck %s --check-prefix=EXTRA

// A run has a table of steps, each with its place in the program; then what it took,
// and how far the results lie from the reference.
// CHECK: step  name {{.*}} location {{.*}} kind {{.*}} cycles  estimate
// CHECK-NEXT: {{ +}}0 {{.*}}tile-run.mlir:[[# @LINE + 14]]:10
// CHECK: {{[0-9]+}} cycles ({{[0-9.]+}} us at 1 GHz), estimated {{[0-9]+}}
// CHECK-NEXT: exchange: {{[0-9]+}} cycles in {{[0-9]+}} step{{s?}}, estimated {{[0-9]+}}
// CHECK-NEXT: compute: {{[0-9]+}} cycles in {{[0-9]+}} step{{s?}}, estimated {{[0-9]+}}
// CHECK-NEXT: {{[0-9]+}} bytes on the fullest tile, placed {{[0-9]+}}, footprint {{[0-9]+}}, budget 65280
// CHECK-NEXT: 'result0': max abs error 0, within {{.*}}; 0 of the output's RMS {{[0-9.]+}}
// QUIET-NOT: location
// QUIET: 'result0': max abs error 0, within
// JSON: "cycles": {{[1-9]}}
// JSON: "max_abs_error": 0.0
// JSON: "passed": true
// EXTRA: error: holds the array 'result0', which the program does not take
module attributes {tile.machine = "mini16"} {
  func.func @main(%x: tensor<7x53xf16>, %y: tensor<7x53xf16>) -> tensor<7x53xf16> {
    %0 = tile.add %x, %y : tensor<7x53xf16>
    return %0 : tensor<7x53xf16>
  }
}
