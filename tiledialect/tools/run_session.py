"""One run of `tile-run`: read, simulate, compare, report."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tiledialect.diagnostics import Refused, Usage
from tiledialect.machine import Machine, MachineError
from tiledialect.runtime.package import Bind, Package, read
from tiledialect.runtime.simulator import Result, Simulator
from tiledialect.tools.run_arrays import read_arrays, write_arrays, write_file
from tiledialect.tools.run_check import (
    OutputError,
    compare,
    default_arguments,
    parse_source,
    reference_outputs,
)
from tiledialect.tools.run_profile import write_profile
from tiledialect.tools.run_report import print_run
from tiledialect.tools.run_tolerance import relative_tolerance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.tools.run_arguments import Options

    Stored = NDArray[Any]


@dataclass(frozen=True)
class Run:
    """A finished run; `errors` is None where nothing was compared."""

    package: Package
    machine: Machine
    result: Result
    errors: list[OutputError] | None

    @property
    def microseconds(self) -> float:
        return self.result.cycles / self.machine.clock_ghz / 1000

    @property
    def max_abs_error(self) -> float | None:
        if self.errors is None:
            return None
        return max((error.max_abs_error for error in self.errors), default=0.0)

    @property
    def passed(self) -> bool | None:
        """Whether every output lies within its bound; None: not compared."""
        if self.errors is None:
            return None
        return all(error.passed for error in self.errors)


def run_package(
    package: Package,
    *,
    check: bool = False,
    max_abs_error: float | None = None,
    inputs: Mapping[str, Stored] | None = None,
    seed: int = 0,
    machine: str | None = None,
) -> Run:
    """Simulate a package as `tile-run` does. Raises Refused and Usage."""
    if machine is not None:
        package = _on_machine(package, machine)
    return _simulate(package, "<package>", check, max_abs_error, inputs, seed)


def run(options: Options) -> int:
    """Do what the options ask for. The exit code."""
    package = read(options.package)
    if options.machine is not None:
        package = _on_machine(package, options.machine)
    inputs = None
    if options.inputs is not None:
        inputs = read_arrays(options.inputs, _arguments(package))
    try:
        done = _simulate(
            package,
            options.package,
            options.check,
            options.max_abs_error,
            inputs,
            options.seed,
        )
    except Refused as error:
        if error.location is not None:
            raise
        raise Refused(error.message, options.package) from error
    print_run(done, quiet=options.quiet)
    if options.outputs is not None:
        write_arrays(options.outputs, done.result.outputs)
    if options.json is not None:
        text = json.dumps(_report(done), indent=1, allow_nan=False) + "\n"
        write_file(options.json, text.encode())
    if options.profile is not None:
        write_profile(options.profile, done.package)
    if done.passed is False:
        raise Refused("the results lie too far from the reference", options.package)
    return 0


def _arguments(package: Package) -> list[Bind]:
    return [bind for bind in package.binds if bind.kind in ("input", "parameter")]


def _on_machine(package: Package, machine: str) -> Package:
    try:
        fields = Machine.load(machine).fields
    except MachineError as error:
        raise Usage(str(error)) from error
    return replace(package, machine=dict(fields))


def _simulate(
    package: Package,
    path: str,
    check: bool,
    max_abs_error: float | None,
    inputs: Mapping[str, Stored] | None,
    seed: int,
) -> Run:
    machine = Machine.from_fields(package.machine)
    module = None
    if check or inputs is None:
        module = parse_source(package, path)
    # an argument that the program never uses has no bind, so no array is asked for it
    arguments = {} if module is None else default_arguments(module, seed)
    arguments.update(inputs or {})
    result = Simulator(package).run(arguments)
    errors = None
    if check and module is not None:
        expected = reference_outputs(module, arguments)
        errors = _compare(machine, package, result, expected, max_abs_error)
    return Run(package, machine, result, errors)


def _compare(
    machine: Machine,
    package: Package,
    result: Result,
    expected: list[Stored],
    bound: float | None,
) -> list[OutputError]:
    outputs = [bind for bind in package.binds if bind.kind == "output"]
    if sorted(bind.index for bind in outputs) != list(range(len(expected))):
        raise Refused(
            f"package has {len(outputs)} outputs, its program {len(expected)}"
        )
    return [
        compare(
            bind,
            result.outputs[bind.name],
            expected[bind.index],
            relative_tolerance(machine, package, bind.element),
            bound,
        )
        for bind in outputs
    ]


def _report(done: Run) -> dict[str, Any]:
    """What `--json` writes."""
    package, result = done.package, done.result
    return {
        "machine": done.machine.name,
        "source_sha256": package.source_sha256,
        "cycles": result.cycles,
        "estimated_cycles": package.estimated_cycles,
        "microseconds": done.microseconds,
        "peak_tile_bytes": result.peak_tile_bytes,
        "placed_tile_bytes": result.placed_bytes,
        "footprint_bytes": package.footprint,
        "budget_bytes": package.budget,
        "max_abs_error": _finite(done.max_abs_error),
        "passed": done.passed,
        "outputs": [
            {
                "name": error.name,
                "max_abs_error": _finite(error.max_abs_error),
                "max_abs_error_allowed": error.allowed,
                "rms_error": _finite(error.rms_error),
                "rms": error.rms,
                "error_over_rms": _finite(error.over_rms),
                "passed": error.passed,
            }
            for error in done.errors or []
        ],
        "steps": [
            {
                "step": number,
                "name": step.name,
                "location": step.location,
                "kind": step.kind,
                "cycles": step.cycles,
                "estimated_cycles": step.estimate,
            }
            for number, step in enumerate(result.steps)
        ],
    }


def _finite(value: float | None) -> float | None:
    """A number that JSON has; an infinite error is none."""
    return value if value is not None and math.isfinite(value) else None
