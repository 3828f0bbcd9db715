"""From options to the passes to run, and running one of them."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from xdsl.utils.arg_spec import (
    ArgSpec,
    ParameterListType,
    parse_pipeline,
    parse_spec,
)
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException

from tiledialect import pipeline
from tiledialect.diagnostics import Refused, TileError, Usage
from tiledialect.machine import MachineError
from tiledialect.pipeline import Entry
from tiledialect.sizes import AUTO, BUDGET_WORDS, SizeError, parse_size
from tiledialect.tools.command_line import suggestion

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from tiledialect.tools.opt_arguments import Options


@dataclass(frozen=True)
class Step:
    """A pass to run, with its options."""

    entry: Entry
    spec: ArgSpec

    @property
    def name(self) -> str:
        return self.entry.name

    def make(self) -> Any:
        """The pass or target itself. Raises Usage or Refused."""
        made = _load(self.entry)
        _refuse_unknown_options(made, self.spec)
        try:
            return made.from_spec(self.spec)
        except ValueError as error:
            raise Usage(f"{self.name}: {error}") from error


@dataclass
class PassTimes:
    """How long each pass took."""

    seconds: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])

    def print(self, stream: TextIO) -> None:
        """One line a pass, then the sum."""
        rows = [*self.seconds, ("total", sum(s for _, s in self.seconds))]
        for name, seconds in rows:
            print(f"{seconds:9.3f} s  {name}", file=stream)


def steps_of(options: Options, rung: int) -> list[Step]:
    """The passes that the options ask for, for a module at `rung`. Raises Usage."""
    if options.plan_budget is not None:
        steps = _ladder(options, options.plan_budget, rung)
    else:
        steps = [
            _step(spec, pipeline.PASSES, "pass")
            for spec in _parse(options.passes or "")
        ]
    return _until(steps, options.stop_after, rung)


def target_of(text: str) -> Step:
    """The target of `-t`. Raises Usage."""
    try:
        return _step(parse_spec(text), pipeline.TARGETS, "target")
    except ArgSpecParseError as error:
        raise Usage(f"cannot read target '{text}'") from error


def run_pass(step: Step, context: Context, module: ModuleOp, times: PassTimes) -> None:
    """Run one pass. Whatever it refuses is a TileError."""
    begin = time.perf_counter()
    try:
        step.make().apply(context, module)
    except TileError:
        raise
    except SizeError as error:
        raise Usage(f"{step.name}: {error}") from error
    except (DiagnosticException, MachineError) as error:
        raise Refused(f"{step.name}: {error}") from error
    except RecursionError as error:
        raise Refused(f"{step.name}: nesting too deep") from error
    finally:
        times.seconds.append((step.name, time.perf_counter() - begin))


def _parse(text: str) -> list[ArgSpec]:
    try:
        return list(parse_pipeline(text))
    except ArgSpecParseError as error:  # a BaseException, unlike every other
        place = getattr(error, "args", ("",))[0]
        reason = str(place).strip().splitlines()[-1].strip()
        raise Usage(f"cannot read passes '{text}': {reason}") from error


def _ladder(options: Options, budget: str, rung: int) -> list[Step]:
    if budget not in (*BUDGET_WORDS, AUTO):
        try:
            parse_size(budget)
        except SizeError as error:
            words = "default, max or auto"
            raise Usage(f"--plan-budget: {error}, or {words}") from error
    given = _given(options, budget)
    return [
        Step(entry, ArgSpec(entry.name, given.get(entry.name, {})))
        for entry in pipeline.passes_from(rung)
    ]


def _given(options: Options, budget: str) -> dict[str, dict[str, ParameterListType]]:
    """What the command line says to passes of the ladder, by their names."""
    search: dict[str, ParameterListType] = {"budget": (budget,)}
    select: dict[str, ParameterListType] = {}
    if options.constraints is not None:
        search["constraints"] = (options.constraints,)
    if options.pareto is not None:
        search["pareto"] = (options.pareto,)
    if options.rerank is not None:
        count = _count("--rerank", options.rerank)
        select["rerank"] = (count,)
        search["plans"] = (max(count, pipeline.KEPT_PLANS),)
    return {pipeline.BUDGET_PASS: search, pipeline.SELECT_PASS: select}


def _count(option: str, text: str) -> int:
    """A positive whole number. Raises Usage."""
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise Usage(f"{option}: '{text}' is no positive whole number")
    return int(text)


def _step(spec: ArgSpec, entries: Sequence[Entry], kind: str) -> Step:
    for entry in entries:
        if entry.name == spec.name:
            return Step(entry, spec)
    hint = suggestion(spec.name, [entry.name for entry in entries])
    known = ", ".join(entry.name for entry in entries)
    raise Usage(f"unknown {kind} '{spec.name}'{hint} (known: {known})")


def _until(steps: list[Step], last: str | None, rung: int) -> list[Step]:
    """The steps up to `last`, which may lie above the rung that the module is at."""
    if last is None:
        return steps
    names = [step.name for step in steps]
    if last in names:
        return steps[: names.index(last) + 1]
    known = [entry.name for entry in pipeline.PASSES]
    if last not in known:
        raise Usage(f"--stop-after: unknown pass '{last}'{suggestion(last, known)}")
    if rung == 1:
        raise Usage(f"--stop-after: '{last}' is not among the passes to run")
    return []


def _load(entry: Entry) -> Any:
    try:
        return entry.load()
    except ModuleNotFoundError as error:
        if error.name != entry.module:
            raise
        raise Refused(f"'{entry.name}' is not part of this build") from error


def _refuse_unknown_options(made: Any, spec: ArgSpec) -> None:
    """Name the pass and the option; xDSL's message has only lists."""
    known = [f.name.replace("_", "-") for f in dataclasses.fields(made)]
    for option in spec.parameters:
        name = option.replace("_", "-")
        if name not in known:
            takes = ", ".join(known) or "none"
            hint = suggestion(name, known)
            text = f"{spec.name} has no option '{option}'{hint} (it takes: {takes})"
            raise Usage(text)
