"""The budget contract through the whole ladder."""

from __future__ import annotations

from pathlib import Path

import pytest
from ladder import checked, compiled, package_bytes, parse, run_passes
from xdsl.dialects.builtin import ModuleOp

from tiledialect.diagnostics import Infeasible, Refused
from tiledialect.dialects.module_attributes import CERTIFICATE
from tiledialect.dialects.plan import AlternativesOp

EXAMPLES = Path(__file__).parents[2] / "examples"


def read(name: str) -> str:
    return (EXAMPLES / f"{name}.mlir").read_text(encoding="utf-8")


def searched(catalogue: ModuleOp, budget: int) -> ModuleOp:
    """The plans of a catalogue, which no budget has a part in."""
    return run_passes(catalogue.clone(), str(budget), first=1, last=2)


def estimates(plans: ModuleOp) -> tuple[list[int], list[int]]:
    """Cycles and bytes that the search foretells of its plans, best first."""
    (found,) = (op for op in plans.walk() if isinstance(op, AlternativesOp))
    return list(found.estimates.get_values()), list(found.footprints.get_values())


def least_budget(catalogue: ModuleOp) -> int:
    """The smallest budget that works, as the refusal of too small a one tells it."""
    with pytest.raises(Infeasible) as caught:
        searched(catalogue, 4096)
    return int(str(caught.value).split("works is ")[1].split()[0])


@pytest.mark.parametrize("name", ["tiny_mlp", "residual_mlp", "softmax_like"])
def test_no_number_exceeds_the_one_before_it(name: str) -> None:
    """Budget, estimate, placed, touched, at budgets that fall to the least."""
    catalogue = run_passes(parse(read(name)), last=1)
    least, before = least_budget(catalogue), 0
    for budget in (65280, least + (65280 - least) // 16, least):
        plans = searched(catalogue, budget)
        estimated_cycles, estimated_bytes = estimates(plans)
        run = checked(package_bytes(run_passes(plans, str(budget), first=2)))
        assert run.passed
        assert run.result.peak_tile_bytes <= run.result.placed_bytes
        assert run.result.placed_bytes <= run.package.footprint <= budget
        assert max(estimated_bytes) <= budget
        assert estimated_cycles[0] >= before, "more memory, and a slower plan"
        before = estimated_cycles[0]
    with pytest.raises(Infeasible):
        searched(catalogue, least - 1)


def test_a_budget_below_the_support_is_refused() -> None:
    text = read("tiny_mlp")
    with pytest.raises(Refused) as caught:
        compiled(text, "4095")
    assert "budget 4095 bytes is below the support reservation of 4096" in str(
        caught.value
    )
    assert caught.value.exit_code == 1


def test_a_budget_without_room_for_tensors_is_infeasible() -> None:
    with pytest.raises(Infeasible, match="the smallest budget that works is") as caught:
        compiled(read("tiny_mlp"), "4KiB")
    assert caught.value.exit_code == 3


def test_reserved_bytes_are_really_gone() -> None:
    """What is reserved lies at the top: nothing is placed there, and budget and
    reserve together stay below the machine's memory."""
    package = checked(compiled(read("tiny_mlp"), "default", reserve=20000)).package
    assert package.reserve == 20000
    assert package.budget == 65280 - 20000
    assert max(b.address + b.bytes for b in package.buffers) <= 65536 - 20000
    with pytest.raises(Refused, match="are together more than the 65280 bytes"):
        compiled(read("tiny_mlp"), "60000", reserve=20000)


def test_the_certificate_names_the_plan_that_was_found() -> None:
    module = run_passes(parse(read("tiny_mlp")), "32KiB")
    text = str(module.attributes[CERTIFICATE])
    assert 'status = "optimal"' in text
