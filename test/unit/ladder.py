"""Whole compiles inside the test process: the ladder, a package, a checked run."""

from __future__ import annotations

import io
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from tiledialect.dialects.module_attributes import RESERVE
from tiledialect.machine import Machine
from tiledialect.pipeline import PASSES, TARGETS, make_context
from tiledialect.reference import default_arguments
from tiledialect.runtime.package import Package, from_bytes
from tiledialect.runtime.simulator import Result, Simulator
from tiledialect.text.parser import parse_module
from tiledialect.text.verify import verify_module
from tiledialect.tools.run_check import OutputError, compare, reference_outputs
from tiledialect.tools.run_tolerance import relative_tolerance


def parse(text: str, name: str = "in.mlir") -> ModuleOp:
    """The module of a text, verified."""
    module = parse_module(make_context(), text, name)
    verify_module(module)
    return module


def run_passes(
    module: ModuleOp, budget: str = "default", first: int = 0, last: int | None = None
) -> ModuleOp:
    """Passes of the ladder by position, each followed by the verifier."""
    context = make_context()
    for entry in PASSES[first:last]:
        options = {"budget": budget} if entry.name == "search-plan" else {}
        entry.load()(**options).apply(context, module)  # pyright: ignore[reportCallIssue]
        verify_module(module)
    return module


def package_bytes(module: ModuleOp) -> bytes:
    """The package of a module at rung 6."""
    output = io.BytesIO()
    TARGETS[0].load()().emit(make_context(), module, output)
    return output.getvalue()


def compiled(text: str, budget: str = "default", reserve: int = 0) -> bytes:
    """The package of a program."""
    module = parse(text)
    if reserve:
        module.attributes[RESERVE] = IntegerAttr(reserve, i64)
    return package_bytes(run_passes(module, budget))


@dataclass(frozen=True)
class Checked:
    """A simulated package and how far its results lie from the reference's."""

    package: Package
    result: Result
    errors: list[OutputError]

    @property
    def passed(self) -> bool:
        return all(error.passed for error in self.errors)


def checked(data: bytes, seed: int = 0) -> Checked:
    """Simulate a package on seeded arguments and compare, as `tile-run --check`."""
    package = from_bytes(data)
    source = parse(package.source)
    arguments = default_arguments(source, seed)
    result = Simulator(package).run(arguments)
    expected = reference_outputs(source, arguments)
    machine = Machine.from_fields(package.machine)
    errors = [
        compare(
            bind,
            result.outputs[bind.name],
            expected[bind.index],
            relative_tolerance(machine, package, bind.element),
            None,
        )
        for bind in package.binds
        if bind.kind == "output"
    ]
    return Checked(package, result, errors)
