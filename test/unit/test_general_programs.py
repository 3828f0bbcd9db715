"""Programs that are no MLP: the same planner plans them, roomy and in the least bytes
that it says are enough, and what the simulator computes is what the reference does.

A residual branch and a softmax alone are among the examples that
`test_pipeline_budgets.py` takes through the same.
"""

from __future__ import annotations

from typing import cast

import pytest
from ladder import checked, compiled, parse, run_passes

from tiledialect.diagnostics import Infeasible

ATTENTION = """
!x = tensor<2x12x16xf16>
!s = tensor<2x12x12xf16>
!row = tensor<2x12x1xf16>
!w = tensor<2x12x12xf32>
!sum = tensor<2x12x1xf32>
module attributes {tile.machine = "mini16"} {
  func.func @attention(%q: !x, %k: !x, %v: !x) -> !x {
    %scores = tile.matmul %q, %k transpose_b accumulate f32 : (!x, !x) -> !s
    %max = tile.reduce max %scores over [2] keepdims : !s -> !row
    %shifted = tile.sub %scores, %max : (!s, !row) -> !s
    %wide = tile.cast %shifted : !s to !w
    %exp = tile.exp %wide : !w
    %sum = tile.reduce sum %exp over [2] keepdims : !w -> !sum
    %share = tile.div %exp, %sum : (!w, !sum) -> !w
    %p = tile.cast %share : !w to !s
    %y = tile.matmul %p, %v : (!s, !x) -> !x
    return %y : !x
  }
}
"""

TALL_SKINNY = """
module attributes {tile.machine = "mini16"} {
  func.func @tall(%x: tensor<3000x4xf16>, %w: tensor<4x3xf16> {tile.parameter})
      -> tensor<3000x3xf16> {
    %y = tile.matmul %x, %w
      : (tensor<3000x4xf16>, tensor<4x3xf16>) -> tensor<3000x3xf16>
    return %y : tensor<3000x3xf16>
  }
}
"""

SHORT_DEEP = """
module attributes {tile.machine = "mini16"} {
  func.func @deep(%x: tensor<1x3000xf16>, %w: tensor<3000x5xf16> {tile.parameter})
      -> tensor<1x5xf16> {
    %y = tile.matmul %x, %w
      : (tensor<1x3000xf16>, tensor<3000x5xf16>) -> tensor<1x5xf16>
    return %y : tensor<1x5xf16>
  }
}
"""

TINY = """
module attributes {tile.machine = "mini16"} {
  func.func @tiny(%x: tensor<1x2xf16>, %w: tensor<2x1xf16> {tile.parameter})
      -> tensor<1x1xf16> {
    %y = tile.matmul %x, %w : (tensor<1x2xf16>, tensor<2x1xf16>) -> tensor<1x1xf16>
    return %y : tensor<1x1xf16>
  }
}
"""

CHAIN = """
!x = tensor<19x33xf32>
module attributes {tile.machine = "mini16"} {
  func.func @chain(%x: !x, %b: tensor<33xf32> {tile.parameter}, %z: !x) -> !x {
    %0 = tile.add %x, %b : (!x, tensor<33xf32>) -> !x
    %1 = tile.tanh %0 : !x
    %2 = tile.mul %1, %z : !x
    %3 = tile.relu %2 : !x
    %4 = tile.sub %3, %x : !x
    %5 = tile.abs %4 : !x
    %6 = tile.max %5, %1 : !x
    %7 = tile.neg %6 : !x
    %8 = tile.gelu tanh %7 : !x
    %9 = tile.add %8, %b : (!x, tensor<33xf32>) -> !x
    return %9 : !x
  }
}
"""

PROGRAMS = {
    "attention": ATTENTION,
    "tall and skinny": TALL_SKINNY,
    "short and deep": SHORT_DEEP,
    "tiny": TINY,
    "chain of ten": CHAIN,
}


def least_budget(text: str) -> int:
    """The smallest budget that works, as the refusal of too small a one tells it."""
    with pytest.raises(Infeasible) as caught:
        run_passes(parse(text), "4096", last=2)
    return int(str(caught.value).split("works is ")[1].split()[0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_planned_roomy_and_tight(name: str) -> None:
    text = PROGRAMS[name]
    roomy = checked(compiled(text))
    least = least_budget(text)
    tight = checked(compiled(text, str(least)))
    cycles: list[int] = []
    for run in (roomy, tight):
        assert run.passed
        certificate = run.package.certificate
        assert isinstance(certificate, dict)
        assert certificate["status"] == "optimal"
        cycles.append(cast(int, certificate["cycles"]))
    assert tight.package.footprint <= least
    assert cycles[0] <= cycles[1], "more memory, and a slower plan"
