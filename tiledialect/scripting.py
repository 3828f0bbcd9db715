"""The compiler for Python scripts: what `import tiledialect` offers.

Passes, options and their values are named as for the commands: `plan_budget="256KiB"`
is `--plan-budget=256KiB`. What a command would end with an error for raises the same
error, a `TileError`; its `exit_code` is the command's.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tiledialect.diagnostics import (
    Infeasible as Infeasible,
)
from tiledialect.diagnostics import (
    Refused as Refused,
)
from tiledialect.diagnostics import (
    Stopped as Stopped,
)
from tiledialect.diagnostics import (
    TileError as TileError,
)
from tiledialect.diagnostics import (
    Usage as Usage,
)
from tiledialect.dialects.module_attributes import (
    CERTIFICATE,
    MACHINE,
    RESERVE,
    budget_of,
    plain_value,
    rung_of,
)
from tiledialect.dialects.plan import AlternativesOp
from tiledialect.dialects.plan_step import StepOp
from tiledialect.dialects.plan_step_ops import RelayoutOp
from tiledialect.dialects.tile import entry_function
from tiledialect.pipeline import make_context
from tiledialect.runtime.package import Package, read, to_bytes
from tiledialect.text.parser import RECURSION_LIMIT, parse_module
from tiledialect.text.printer import print_module
from tiledialect.text.source import read_text
from tiledialect.text.verify import verify_module
from tiledialect.tools.opt_arguments import Options
from tiledialect.tools.opt_passes import PassTimes, run_pass, steps_of
from tiledialect.tools.run_arrays import write_file
from tiledialect.tools.settings import (
    DEFAULT_MACHINE,
    check_budget,
    machine_attribute,
    put_setting,
    reserve_attribute,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from xdsl.dialects.builtin import ModuleOp

    from tiledialect.tools.run_session import Run

PathLike: TypeAlias = "str | os.PathLike[str]"


def parse(path: PathLike) -> ModuleOp:
    """The verified module in a file, of any rung."""
    name = os.fspath(path)
    return parse_text(read_text(name), name)


def parse_text(text: str, name: str = "<text>") -> ModuleOp:
    """The verified module of a text; `name` stands for the file in places."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))
    module = parse_module(make_context(), text, name)
    verify_module(module)
    return module


def show(module: ModuleOp) -> str:
    """A module as text that `parse_text` reads."""
    return print_module(module)


def run_passes(
    module: ModuleOp,
    passes: str | None = None,
    *,
    plan_budget: str | int | None = None,
    stop_after: str | None = None,
    machine: PathLike | None = None,
    reserve: str | int | None = None,
) -> ModuleOp:
    """Run passes on a module, in place, and return it.

    Either `passes`, as in "expand-candidates,search-plan{budget=8KiB}", or
    `plan_budget`: then all that the ladder still has for the module's rung. A plan that
    an effort limit stopped is kept, with a warning.
    """
    if (passes is None) == (plan_budget is None):
        raise TypeError("give either passes or plan_budget")
    budget = None if plan_budget is None else str(plan_budget)
    options = Options(passes=passes, plan_budget=budget, stop_after=stop_after)
    _settle(module, machine, reserve, budget)
    context = make_context()
    for step in steps_of(options, rung_of(module)):
        try:
            run_pass(step, context, module, PassTimes())
        except Stopped as error:
            if not error.has_plan:
                raise
            warnings.warn(str(error), stacklevel=2)
        _verify(module, step.name)
    return module


def compile(
    source: PathLike | ModuleOp,
    plan_budget: str | int = "default",
    *,
    machine: PathLike | None = None,
    reserve: str | int | None = None,
) -> Package:
    """The package of a file or module. A module is carried down the ladder in place."""
    module = parse(source) if isinstance(source, str | os.PathLike) else source
    run_passes(module, plan_budget=plan_budget, machine=machine, reserve=reserve)
    return package(module)


def package(module: ModuleOp) -> Package:
    """The package of a module at rung 6."""
    from tiledialect.backend.emit_package import package_of

    return package_of(module)


def write_package(package: Package, path: PathLike) -> None:
    """Write a package to a file, as `tile-opt -t package -o` does."""
    write_file(os.fspath(path), to_bytes(package))


def read_package(path: PathLike) -> Package:
    """The package in a file."""
    return read(os.fspath(path))


def run(
    package: PathLike | Package,
    *,
    check: bool = False,
    max_abs_error: float | None = None,
    inputs: Mapping[str, NDArray[Any]] | None = None,
    seed: int = 0,
    machine: PathLike | None = None,
) -> Run:
    """Simulate a package, on arrays by name or on seeded ones.

    `result` of what it returns has cycles, steps, bytes and outputs. With `check`
    `errors` says of each output how far it lies from the reference, and `passed`
    whether that is near enough; a failed check raises nothing here.
    """
    from tiledialect.tools.run_session import run_package

    held = package if isinstance(package, Package) else read_package(package)
    return run_package(
        held,
        check=check,
        max_abs_error=max_abs_error,
        inputs=inputs,
        seed=seed,
        machine=None if machine is None else os.fspath(machine),
    )


@dataclass(frozen=True)
class PlanStep:
    """One step of a plan. Cycles are estimates."""

    operation: str  # "load", "relayout", "compute", "reduce", …
    value: str  # the name of its result
    group: str
    layout: str  # of its result, as text
    compute_cycles: int
    exchange_cycles: int
    location: str | None


@dataclass(frozen=True)
class Plan:
    """A plan: its steps in order, and what the search says of it."""

    steps: tuple[PlanStep, ...]
    budget: int | None
    certificate: dict[str, Any]

    @property
    def cycles(self) -> int:
        """The sum of the steps' estimates."""
        return sum(step.compute_cycles + step.exchange_cycles for step in self.steps)


def plan(module: ModuleOp) -> Plan:
    """The plan of a module at rung 3; the best by estimate where there are several."""
    if rung_of(module) != 3:
        raise TypeError(f"a plan stands at rung 3, the module is at {rung_of(module)}")
    operations = list(entry_function(module).body.block.ops)
    for op in operations:
        if isinstance(op, AlternativesOp):
            operations = list(op.plans[0].block.ops)
            break
    certificate = module.attributes.get(CERTIFICATE)
    return Plan(
        tuple(_plan_step(op) for op in operations if isinstance(op, StepOp)),
        budget_of(module),
        {} if certificate is None else plain_value(certificate),
    )


def _plan_step(op: StepOp) -> PlanStep:
    location = op.loc_text
    zeros = op.zero_cycles if isinstance(op, RelayoutOp) else 0
    return PlanStep(
        op.name.removeprefix("plan."),
        op.result.name_hint or "",
        op.group.data,
        str(op.layout).removeprefix("#plan.layout"),
        op.cycles + zeros,
        op.exchange_cycles,
        None if location is None else location.data,
    )


def _settle(
    module: ModuleOp,
    machine: PathLike | None,
    reserve: str | int | None,
    budget: str | None,
) -> None:
    """Give the module its machine and reservation before the first pass."""
    rung = rung_of(module)
    if machine is not None:
        put_setting(module, MACHINE, machine_attribute(os.fspath(machine)), rung)
    elif MACHINE not in module.attributes:
        module.attributes[MACHINE] = machine_attribute(DEFAULT_MACHINE)
    if reserve is not None:
        put_setting(module, RESERVE, reserve_attribute(str(reserve)), rung)
    if budget is not None:
        check_budget(module, budget, rung)


def _verify(module: ModuleOp, after: str) -> None:
    try:
        verify_module(module)
    except TileError as error:
        error.message = f"after {after}: {error.message}"
        raise
