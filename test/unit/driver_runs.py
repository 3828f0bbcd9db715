"""Runs of `tile-opt` inside the test process, and passes that misbehave on demand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpecConvertible
from xdsl.utils.exceptions import PassFailedException, VerifyException

from tiledialect.diagnostics import Infeasible, Stopped, fail
from tiledialect.machine import MachineError
from tiledialect.pipeline import Entry, PassEntry
from tiledialect.sizes import SizeError
from tiledialect.tools.opt import main

PROGRAM = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
"""


@dataclass
class Run:
    """What a run of `tile-opt` left behind."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line on stderr."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        return lines[0]


@dataclass
class Driver:
    """Runs `tile-opt` on texts in a folder of its own."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    def run(self, *arguments: str) -> Run:
        code = main(arguments)
        captured = self.capture.readouterr()
        return Run(code, captured.out, captured.err)

    def run_text(self, text: str | bytes, *arguments: str) -> Run:
        """Run on a file `in.mlir` in the current folder."""
        path = self.folder / "in.mlir"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return self.run("in.mlir", *arguments)


@dataclass(frozen=True)
class MarkPass(ModulePass):
    """Writes its option into the module."""

    name = "mark"
    word: str = "marked"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["test.mark"] = StringAttr(self.word)


@dataclass(frozen=True)
class NotePass(ModulePass):
    """Appends the budget that it was given, as search-plan gets it."""

    name = "search-plan"
    budget: int | str = "none"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["test.budget"] = StringAttr(str(self.budget))


@dataclass(frozen=True)
class TroublePass(ModulePass):
    """Ends as its option says."""

    name = "trouble"
    kind: str = "refuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        first = op.body.block.first_op
        assert first is not None
        match self.kind:
            case "refuse":
                fail(first, "it needs 700000 bytes\nbut has 638976")
            case "infeasible":
                fail(first, "no plan", Infeasible)
            case "stopped":
                raise Stopped("no plan yet")
            case "best":
                op.attributes["test.best"] = StringAttr("so far")
                raise Stopped("stopped by effort", has_plan=True)
            case "invalid":
                op.body.block.add_op(first.clone())
            case "interrupt":
                raise KeyboardInterrupt
            case _:
                raise ERRORS[self.kind]


ERRORS: dict[str, Exception] = {
    "pass-failed": PassFailedException("cannot go on"),
    "verify": VerifyException("not valid"),
    "size": SizeError("no size"),
    "machine": MachineError("no machine"),
    "fault": KeyError("x"),
    "recursion": RecursionError("maximum recursion depth exceeded"),
    "memory": MemoryError(),
}


@dataclass(frozen=True)
class BytesTarget(ArgSpecConvertible):
    """A target that writes bytes, as the package does."""

    name = "bytes"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[bytes]) -> None:
        output.write(b"\x00\xff")


PASSES = (
    PassEntry("mark", "driver_runs", "MarkPass", "writes", 1, 2),
    PassEntry("search-plan", "driver_runs", "NotePass", "notes", 2, 3),
    PassEntry("trouble", "driver_runs", "TroublePass", "fails", 3, 3),
    PassEntry("missing", "driver_runs.missing", "MissingPass", "is not there", 3, 4),
)
TARGETS = (Entry("bytes", "driver_runs", "BytesTarget", "writes two bytes"),)
