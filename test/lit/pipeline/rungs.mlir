// One small program on every rung of the ladder, in order.
//
// RUN: tile-opt %s | filecheck %s --check-prefix=TENSOR
// RUN: tile-opt %s -p expand-candidates -o %t.catalogue
// RUN: filecheck %s --check-prefix=CATALOGUE --input-file=%t.catalogue
// RUN: tile-opt %t.catalogue -p 'search-plan{budget=8KiB}' -o %t.plans
// RUN: filecheck %s --check-prefix=PLANS --input-file=%t.plans
// RUN: tile-opt %t.plans -p select-plan -o %t.plan
// RUN: filecheck %s --check-prefix=PLAN --input-file=%t.plan
// RUN: tile-opt %t.plan -p lower-plan -o %t.bsp
// RUN: filecheck %s --check-prefix=BSP --input-file=%t.bsp
// RUN: tile-opt %t.bsp -p schedule-exchange,check-exchange -o %t.scheduled
// RUN: filecheck %s --check-prefix=SCHEDULED --input-file=%t.scheduled
// RUN: tile-opt %t.scheduled -p place-memory,check-memory -o %t.placed
// RUN: filecheck %s --check-prefix=PLACED --input-file=%t.placed
// RUN: tile-opt %t.placed -t package -o %t.tilepkg
// RUN: tile-run %t.tilepkg --check | filecheck %s --check-prefix=DONE
//
// Printed and read again at every rung, it ends in the bytes of one command.
// RUN: tile-opt %s --plan-budget=8KiB -t package -o %t.whole.tilepkg
// RUN: cmp %t.tilepkg %t.whole.tilepkg

module attributes {tile.machine = "mini4"} {
  func.func @main(%x: tensor<8x16xf16>, %w: tensor<16x32xf16> {tile.parameter}) -> tensor<8x32xf16> {
    %h = tile.matmul %x, %w : (tensor<8x16xf16>, tensor<16x32xf16>) -> tensor<8x32xf16>
    %y = tile.gelu tanh %h : tensor<8x32xf16>
    return %y : tensor<8x32xf16>
  }
}

// Rung 1: tensors, and who is a parameter.
// TENSOR: module attributes {tile.machine = "mini4"} {
// TENSOR: func.func @main(%x: tensor<8x16xf16>, %w: tensor<16x32xf16> {tile.parameter}) -> tensor<8x32xf16>
// TENSOR: %h = tile.matmul %x, %w : (tensor<8x16xf16>, tensor<16x32xf16>) -> tensor<8x32xf16>
// TENSOR: %y = tile.gelu tanh %h : tensor<8x32xf16>

// Rung 2: the same tensors, and every way to run the product with its activation.
// CATALOGUE: tile.rung = 2
// CATALOGUE: tile.gelu tanh
// CATALOGUE: plan.catalogue "h" (b 1, m 8, n 32, k 16) considered {{[0-9]+}} dropped
// CATALOGUE: table dense<
// CATALOGUE-SAME: from "{{.*}}rungs.mlir":25:10

// Rung 3: the best plans in order, each value with a layout; the program's text stays.
// PLANS: tile.source = "{{.*}}tile.gelu
// PLANS-SAME: tile.rung = 3 : i64, tile.budget = 8192 : i64, tile.certificate = {status = "optimal"
// PLANS: plan.alternatives : (tensor<8x32xf16>) plan {{[0-9]+}} cycles {{[0-9]+}} bytes
// PLANS: plan.load %x for "h"
// PLANS-NEXT: : tensor<8x16xf16> layout <[128] bytes 2 spread [4 step 1] packed>
// PLANS: plan.yield

// Then one of them: x to all tiles, the product and its activation where they lie.
// PLAN: tile.rung = 3
// PLAN-NOT: plan.alternatives
// PLAN: plan.relayout {{.*}} for "h" estimate {{[0-9]+}} exchange {{[0-9]+}}
// PLAN: plan.load %w for "h"
// PLAN: plan.compute matmul (b, m, n, k) grid
// PLAN: {accumulate = "f16"} estimate {{[0-9]+}}
// PLAN: plan.compute map (b, m, n) grid
// PLAN: function = "gelu_tanh"
// PLAN: func.return %{{.*}} : tensor<8x32xf16>

// Rung 4: buffers on tiles with their steps, phases and compute sets.
// BSP: tile.rung = 4
// BSP-NOT: func.func
// BSP: memory.program @main {
// BSP: %x = memory.buffer input "x" 64 bytes on <0 [4:1]> align 8 live [0, 1)
// BSP: %w = memory.buffer parameter "w" {{.*}} region interleaved live [0, {{[0-9]+}})
// BSP: memory.bind input 0 "x" %x : tensor<8x16xf16>
// BSP: memory.bind parameter 1 "w" %w
// BSP: memory.bind output 0 "result0"
// BSP: exchange.phase 0 "h h.x"
// BSP-NEXT: exchange.move %x to %h.x
// BSP: codelet.run matmul (b 1, m {{[0-9]+}}, n {{[0-9]+}}, k 16) on
// BSP: codelet.run map

// Rung 5: who sends what at which cycle, and how far from the bound that is.
// SCHEDULED: memory.apart %x / %h.x because
// SCHEDULED: scheduled length [[LENGTH:[0-9]+]] bound_receive {{[0-9]+}} bound_send {{[0-9]+}} bound_control {{[0-9]+}} messages
// SCHEDULED-SAME: rows <4 tiles

// Rung 6: an address for every buffer, and the map's peak.
// PLACED: %x = memory.buffer input "x" {{.*}} live [0, 1) at {{[0-9]+}}
// PLACED: memory.map {{minimal|fits}} footprint {{[0-9]+}} limit 8192 support 2048

// Rung 7, run: cycles and bytes are counted, the numbers agree.
// DONE: exchange
// DONE: cycles ({{.*}}), estimated
// DONE: bytes on the fullest tile, placed {{[0-9]+}}, footprint {{[0-9]+}}, budget 8192
// DONE: 'result0': max abs error {{.*}}, within
