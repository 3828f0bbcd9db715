"""Steps in time change when operands come, not what is computed: every way and number
of steps gives the bits of the plan without steps, through the whole ladder."""

import numpy as np
import pytest
from ladder import checked, package_bytes, parse, run_passes
from numpy.typing import NDArray

from tiledialect.candidates import (
    BLOCK,
    CUT,
    DIRECT,
    DIRECT_STEPS,
    PANEL,
    RELAY_STEPS,
    ROW_MAJOR,
    STORED,
    STREAM,
    Candidates,
    Variant,
    candidates,
    panel_depth,
)
from tiledialect.machine import Machine
from tiledialect.passes import search_plan
from tiledialect.program import Group, read_program

TEXT = """
module attributes {tile.machine = "mini16"} {
  func.func @main(%x: tensor<9x70xf16>, %w: tensor<70x24xf16> {tile.parameter})
      -> tensor<9x24xf16> {
    %y = tile.matmul %x, %w : (tensor<9x70xf16>, tensor<70x24xf16>) -> tensor<9x24xf16>
    func.return %y : tensor<9x24xf16>
  }
}
"""

# 70 elements of depth are 9 panels of 8: cut over 2 tiles they are 5 and 4.
WHOLE = (Variant((DIRECT, STORED), CUT + 1, PANEL), (1, 3, 2, 2))


Choice = tuple[Variant, tuple[int, ...]]


def outputs(
    choice: Choice, monkeypatch: pytest.MonkeyPatch
) -> tuple[NDArray[np.uint16], int]:
    """The result's bits, and the number of steps, of the program planned so."""
    keep = candidates

    def only(
        group: Group, grids: NDArray[np.int64], variants: list[Variant], panel: int
    ) -> list[Candidates]:
        del grids, variants
        variant, parts = choice
        return keep(group, np.array([parts], dtype=np.int64), [variant], panel)

    monkeypatch.setattr(search_plan, "candidates", only)
    module = run_passes(parse(TEXT))
    done = checked(package_bytes(module))
    assert done.passed
    return done.result.outputs["result0"].view(np.uint16), len(done.package.steps)


@pytest.mark.parametrize("steps", [2, 3])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        (DIRECT, STREAM),
        (DIRECT_STEPS, STORED),
        (DIRECT_STEPS, STREAM),
        (RELAY_STEPS, STORED),
        (RELAY_STEPS, STREAM),
    ],
)
def test_steps_give_the_same_bits(
    left: int, right: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, few = outputs(WHOLE, monkeypatch)
    variant = Variant((left, right), CUT + 1, PANEL, steps)
    found, many = outputs((variant, WHOLE[1]), monkeypatch)
    assert np.array_equal(found, whole)
    assert many >= few + 2 * (steps - 1)  # a phase and a product more for each


def test_steps_without_partial_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = outputs(
        (Variant((DIRECT, STORED), BLOCK, PANEL), (1, 3, 2, 1)), monkeypatch
    )
    variant = Variant((RELAY_STEPS, STREAM), BLOCK, PANEL, 3)
    found, _ = outputs((variant, (1, 3, 2, 1)), monkeypatch)
    assert np.array_equal(found, whole)


def test_more_steps_than_panels_are_no_candidate() -> None:
    program = read_program(parse(TEXT), Machine.load("mini16"))
    group = program.groups[0]
    panel = panel_depth(program, group, Machine.load("mini16"))
    grids = np.array([[1, 3, 1, 1], [1, 3, 1, 2]], dtype=np.int64)

    def count(steps: int) -> int:
        variant = Variant((RELAY_STEPS, STORED), CUT + 1, ROW_MAJOR, steps)
        return sum(map(len, candidates(group, grids, [variant], panel)))

    # a cut of the result needs the split grid, whose blocks have 5 panels; 4 steps of
    # 2 panels would be 3
    assert [count(steps) for steps in (2, 3, 4, 5, 6)] == [0, 0, 0, 0, 0]
    grids[:, 2] = 2  # only an operand that tiles share is relayed
    assert [count(steps) for steps in (2, 3, 4, 5, 6)] == [1, 1, 0, 1, 0]
