// RUN: tile-opt %s --split-input-file -p select-plan | filecheck %s
// RUN: tile-opt %s --split-input-file -p 'select-plan{rerank=2}' | filecheck %s --check-prefix=TIMED

// The first plan gathers x on one tile, which is more than the budget: the second, slower
// one is kept, its values take the place of the results, and the module says its choices.
// CHECK-LABEL: @second
// CHECK-SAME: tile.choices = {slow = {steps = 2 : i64}}
// CHECK-NOT: plan.alternatives
// CHECK: %r = plan.load %x for "slow"
// CHECK-NOT: plan.relayout
// CHECK: func.return %r
!x = tensor<512xf32>
module @second attributes {tile.machine = "mini4", tile.rung = 3, tile.budget = 3000} {
  func.func @main(%x: !x) -> !x {
    %r = plan.alternatives : (!x) plan 1 cycles 2100 bytes {
      %0 = plan.load %x for "fast" : !x layout <[512] bytes 4 spread [4 step 1] packed>
      %1 = plan.relayout %0 for "fast" : !x layout <[512] bytes 4>
      plan.yield %1 : !x
    } plan 2 cycles 2200 bytes {
      %0 = plan.load %x for "slow" : !x layout <[512] bytes 4 spread [4 step 1] packed>
      plan.yield %0 : !x
    } choices [{fast = {steps = 1}}, {slow = {steps = 2}}]
    return %r : !x
  }
}

// -----

// Where one plan is chosen already, nothing is left to do.
// CHECK-LABEL: @chosen
// CHECK: plan.load %x for "g"
!x = tensor<512xf32>
module @chosen attributes {tile.machine = "mini4", tile.rung = 3, tile.budget = 16256} {
  func.func @main(%x: !x) -> !x {
    %0 = plan.load %x for "g" : !x layout <[512] bytes 4 spread [4 step 1] packed>
    return %0 : !x
  }
}

// -----

// The first plan moves x to one tile and back, which its estimate does not say. Timed, it
// is the slower of two whose estimates are near.
// CHECK-LABEL: @near
// CHECK-NOT: tile.selection
// CHECK: plan.load %x for "moves"
// TIMED-LABEL: @near
// TIMED-SAME: tile.selection = [{plan = 0 : i64, estimate = 1000 : i64, cycles = {{[1-9][0-9]*}} : i64, bytes = {{[0-9]+}} : i64}, {plan = 1 : i64, estimate = 1010 : i64, cycles = 0 : i64, bytes = {{[0-9]+}} : i64}]
// TIMED: plan.load %x for "rests"
!x = tensor<512xf32>
module @near attributes {tile.machine = "mini4", tile.rung = 3, tile.budget = 9000} {
  func.func @main(%x: !x) -> !x {
    %r = plan.alternatives : (!x) plan 1000 cycles 3100 bytes {
      %0 = plan.load %x for "moves" : !x layout <[512] bytes 4 spread [4 step 1] packed>
      %1 = plan.relayout %0 for "moves" : !x layout <[512] bytes 4>
      %2 = plan.relayout %1 for "moves" : !x layout <[512] bytes 4 spread [4 step 1] packed>
      plan.yield %2 : !x
    } plan 1010 cycles 2200 bytes {
      %0 = plan.load %x for "rests" : !x layout <[512] bytes 4 spread [4 step 1] packed>
      plan.yield %0 : !x
    }
    return %r : !x
  }
}
