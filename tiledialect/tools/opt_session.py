"""One run of `tile-opt`: the chunks of a file through the passes to the output."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from tiledialect.atomic import write_atomically
from tiledialect.diagnostics import (
    Infeasible,
    ParseFailed,
    Refused,
    Stopped,
    TileError,
    Usage,
)
from tiledialect.dialects.module_attributes import (
    BUDGET_CHOICE,
    MACHINE,
    RESERVE,
    rung_of,
    text_of,
)
from tiledialect.forced_plans import written_plan
from tiledialect.pipeline import BUDGET_PASS, make_context
from tiledialect.text.parser import parse_module
from tiledialect.text.printer import print_module
from tiledialect.text.source import Chunk, read_text, shown_name, split_chunks
from tiledialect.text.verify import verify_module
from tiledialect.tools.opt_passes import PassTimes, Step, run_pass, steps_of, target_of
from tiledialect.tools.report import report
from tiledialect.tools.settings import (
    DEFAULT_MACHINE,
    check_budget,
    machine_attribute,
    put_setting,
    reserve_attribute,
)

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from tiledialect.tools.opt_arguments import Options

TEXT_TARGET = "mlir"
SEPARATOR = b"// -----\n"

OF_THE_LADDER = {
    "constraints": 'search-plan{constraints="FILE"}',
    "pareto": 'search-plan{pareto="FILE"}',
    "rerank": "select-plan{rerank=COUNT}",
}
"""Options that are passed on to a pass, and what says the same in a list of passes."""

SERIALISING = ("schedule-exchange", "place-memory")
"""The passes that may serialise pairs of buffers."""

ONE_MODULE = ("write_plan", "certificate", "pareto")
"""Options that name a file which one module fills."""


class Session:
    """The work that the options ask for.

    An error ends it, but for one in a chunk of a split file: that one is printed, the
    other chunks are done, and the exit code is the largest of all.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.times = PassTimes()
        self.exit_code = 0
        self.remarks: set[str] = set()
        self.target = (
            None if options.target == TEXT_TARGET else target_of(options.target)
        )
        self._check_usage()

    def _check_usage(self) -> None:
        """What is wrong with the options whatever the input is."""
        options = self.options
        if options.passes is not None and options.plan_budget is not None:
            raise Usage("-p and --plan-budget exclude each other")
        for name, instead in OF_THE_LADDER.items():
            if getattr(options, name) is not None and options.plan_budget is None:
                raise Usage(
                    f"--{name} goes with --plan-budget; with -p write {instead}"
                )
        for name in ONE_MODULE:
            if getattr(options, name) is not None and options.split_input_file:
                raise Usage(f"--{name.replace('_', '-')} takes one module")
        if self.target is not None and options.split_input_file:
            raise Usage(f"-t {options.target} takes one module")
        if self.target is not None and options.output_file is None:
            raise Usage(f"-t {options.target} needs -o FILE")
        steps = steps_of(options, rung=1)
        names = [step.name for step in steps]
        for name in options.print_ir_after:
            if name not in names:
                raise Usage(f"--print-ir-after: '{name}' is not among the passes")
        machine, reserve = options.machine, options.reserve
        self.machine = None if machine is None else machine_attribute(machine)
        self.reserve = None if reserve is None else reserve_attribute(reserve)

    def run(self) -> int:
        """Read, compile and write everything. The exit code."""
        try:
            return self._run_chunks()
        finally:
            if self.options.time_passes:  # also of a run that is refused
                self.times.print(sys.stderr)

    def _run_chunks(self) -> int:
        text = read_text(self.options.input_file)
        split = self.options.split_input_file
        chunks = split_chunks(text) if split else [Chunk(text, 1)]
        outputs: list[bytes] = []
        for index, chunk in enumerate(chunks):
            if index > 0:
                self._put(SEPARATOR, outputs)
            self._put(self._compile_or_report(chunk), outputs)
        path = self.options.output_file
        if path not in (None, "-") and self.exit_code in (0, Stopped.exit_code):
            self._write_file(path, b"".join(outputs))
        return self.exit_code

    def _put(self, output: bytes, outputs: list[bytes]) -> None:
        """Keep output for the file, or print it at once."""
        if self.options.output_file in (None, "-"):
            sys.stdout.write(output.decode())
            sys.stdout.flush()
        else:
            outputs.append(output)

    def _write_file(self, path: str, content: bytes) -> None:
        try:
            write_atomically(path, content)
        except OSError as error:
            raise Refused(f"cannot write '{path}': {error.strerror}") from error

    def _compile_or_report(self, chunk: Chunk) -> bytes:
        try:
            return self._compile(chunk)
        except TileError as error:
            if self._is_expected(error):
                return f"{error}\n".encode()
            if not self.options.split_input_file:
                raise
            self._note(error)
            return b""

    def _is_expected(self, error: TileError) -> bool:
        """Whether the options ask to print such an error as output, as in xdsl-opt."""
        if isinstance(error, ParseFailed):
            return self.options.parsing_diagnostics
        return isinstance(error, Refused) and self.options.verify_diagnostics

    def _note(self, error: TileError) -> None:
        report(error, self.options.verbose)
        self.exit_code = max(self.exit_code, error.exit_code)

    def _compile(self, chunk: Chunk) -> bytes:
        """What one module becomes: its text, or its package."""
        options = self.options
        self.remarks.clear()
        context = make_context(allow_unregistered=options.allow_unregistered_dialect)
        module = parse_module(
            context,
            chunk.text,
            shown_name(options.input_file),
            chunk.first_line,
            implicit_module=options.implicit_module,
        )
        self._verify(module)
        rung = rung_of(module)
        steps = steps_of(options, rung)
        self._settle(module, rung, has_passes=bool(steps))
        try:
            for step in steps:
                self._run(step, context, module)
        except Infeasible:
            self._certify(module)
            raise
        self._certify(module)
        if options.print_estimates:
            self._print_estimates(module)
        output = self._emit(context, module)
        if options.write_plan is not None:
            self._write_file(options.write_plan, written_plan(module).encode())
        return output

    def _settle(self, module: ModuleOp, rung: int, has_passes: bool) -> None:
        """Give the module its machine and reservation before the first pass."""
        if self.machine is not None:
            put_setting(module, MACHINE, self.machine, rung)
        elif has_passes and MACHINE not in module.attributes:
            module.attributes[MACHINE] = machine_attribute(DEFAULT_MACHINE)
        if self.reserve is not None:
            put_setting(module, RESERVE, self.reserve, rung)
        if self.options.plan_budget is not None:
            check_budget(module, self.options.plan_budget, rung)

    def _run(self, step: Step, context: Context, module: ModuleOp) -> None:
        try:
            run_pass(step, context, module, self.times)
        except Stopped as error:
            if not error.has_plan:
                raise
            self._note(error)
        self._verify(module, after=step.name)
        if step.name in SERIALISING:
            self._remark_serial(module)
        if step.name == BUDGET_PASS and (why := text_of(module, BUDGET_CHOICE)):
            print(why, file=sys.stderr)
        options = self.options
        everything = options.print_between_passes or options.print_ir_after_all
        if everything or step.name in options.print_ir_after:
            print(f"// IR after {step.name}", file=sys.stderr)
            print(self._text(module), end="", file=sys.stderr)

    def _remark_serial(self, module: ModuleOp) -> None:
        """Say which pairs of buffers were serialised, each once."""
        from tiledialect.tools.serial_remarks import serial_remarks

        lines = serial_remarks(module)
        for line in lines:
            if line not in self.remarks:
                print(line, file=sys.stderr)
        self.remarks.update(lines)

    def _print_estimates(self, module: ModuleOp) -> None:
        from tiledialect.tools.estimates import estimate_lines

        for line in estimate_lines(module):
            print(line, file=sys.stderr)

    def _certify(self, module: ModuleOp) -> None:
        """Write the certificate, and check it, where that is asked."""
        options = self.options
        if options.certificate is None and not options.verify_certificate:
            return
        from tiledialect.tools.verify import certificate_text, verify

        if options.certificate is not None:
            self._write_file(options.certificate, certificate_text(module).encode())
        if options.verify_certificate:
            print(verify(module))

    def _verify(self, module: ModuleOp, after: str | None = None) -> None:
        if self.options.disable_verify:
            return
        try:
            verify_module(module)
        except TileError as error:
            if after is not None:
                error.message = f"after {after}: {error.message}"
            raise

    def _emit(self, context: Context, module: ModuleOp) -> bytes:
        if self.options.verify_certificate and self.options.output_file is None:
            return b""
        if self.target is None:
            return self._text(module).encode()
        output = io.BytesIO()
        self.target.make().emit(context, module, output)
        return output.getvalue()

    def _text(self, module: ModuleOp) -> str:
        return print_module(
            module,
            generic=self.options.print_op_generic,
            locations=self.options.print_debuginfo,
            properties_as_attributes=self.options.print_no_properties,
        )
