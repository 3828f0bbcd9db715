"""From text to IR: xDSL's parser with its holes closed.

Every operation and argument gets its place in the file, constants keep their exact
bits (`dense.py`), aliases and resources may stand behind their first use
(`outline.py`), and nothing is kept between two texts. A fault is one `ParseFailed` at
its place, whatever exception xDSL raises for it.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import (
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    ModuleOp,
    NoneAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, AttributeInvT, Operation, Region, SSAValue, TypeAttribute
from xdsl.parser import UnresolvedOperand
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from tiledialect.diagnostics import ParseFailed, TileError
from tiledialect.text.lines import Lines
from tiledialect.text.outline import OutlineParser

NESTING_LIMIT = 256
"""Regions, attributes and types in each other. At 16 Python frames a level the whole
way through parser, verifier and printer stays well inside RECURSION_LIMIT."""

RECURSION_LIMIT = 20_000
"""What a program sets with `sys.setrecursionlimit` to use all of NESTING_LIMIT."""


def parse_module(
    context: Context,
    text: str,
    file_name: str,
    first_line: int = 1,
    *,
    implicit_module: bool = True,
) -> ModuleOp:
    """The module of a text, not verified. Raises ParseFailed at the fault.

    `first_line` is the line of the file on which the text starts. An empty text is an
    empty module; operations outside a module get one around them where
    `implicit_module` is true.
    """
    lines = Lines(text, file_name, first_line)
    parser: TileParser | None = None
    try:
        parser = TileParser(context, text, file_name, lines)
        return parser.parse_module(implicit_module)
    except ParseError as error:
        position = error.span.start
        message = _completed(error.msg, at_end=position >= len(text.rstrip()))
        raise ParseFailed(message, lines.text(position)) from error
    except (TileError, MemoryError):
        raise
    except Exception as error:
        here = lines.text(0 if parser is None else parser.previous_span.start)
        raise ParseFailed(_reason(error), here) from error


def _completed(message: str, *, at_end: bool) -> str:
    """xDSL's message; where it is only ` in block definition`, with what is there."""
    found = "unexpected end of text" if at_end else "unexpected text"
    if message.startswith(" "):
        return found + message
    return f"{found}: {message}" if at_end else message


def _reason(error: Exception) -> str:
    """What to say of an exception that xDSL raises for malformed text."""
    if isinstance(error, RecursionError):
        return f"nesting too deep (limit {NESTING_LIMIT})"
    if isinstance(error, VerifyException | ValueError | NotImplementedError):
        return str(error)
    return f"cannot read this text: {type(error).__name__}: {error}"


class TileParser(OutlineParser):
    """xDSL's parser with places, a nesting limit and errors where the fault is."""

    def __init__(
        self, context: Context, text: str, file_name: str, lines: Lines
    ) -> None:
        self._lines = lines
        self._depth = 0
        self._names: list[Span] = []
        self._first_uses: dict[str, Span] = {}
        super().__init__(context, text, file_name)

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        ops: list[Operation] = []
        while self._current_token.kind != MLIRTokenKind.EOF:
            kind = self._current_token.kind
            if kind in (MLIRTokenKind.HASH_IDENT, MLIRTokenKind.EXCLAMATION_IDENT):
                self._parse_alias_def()
            elif kind == MLIRTokenKind.FILE_METADATA_BEGIN:
                self._parse_file_metadata_dictionary()
            elif (op := self.parse_optional_operation()) is not None:
                ops.append(op)
            else:
                self.raise_error("operation expected")
        self._refuse_undefined_values()
        if len(ops) == 1 and isinstance(ops[0], ModuleOp):
            return ops[0]
        if ops and not allow_implicit_module:
            self.raise_error("builtin.module operation expected", 0)
        module = ModuleOp(ops)
        module.location = self._lines.location(0)
        return module

    def _refuse_undefined_values(self) -> None:
        for name in self.forward_ssa_references:
            at = self._first_uses[name]
            self.raise_error(f"value %{name} is used but not defined", at)

    def resolve_operand(
        self, operand: UnresolvedOperand, type: AttributeInvT
    ) -> SSAValue[AttributeInvT]:
        name = operand.operand_name
        if name not in self.ssa_values and name not in self.forward_ssa_references:
            self._first_uses[name] = operand.span
        return super().resolve_operand(operand, type)

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        self._names.append(self._current_token.span)
        return results

    def parse_operation(self) -> Operation:
        op = super().parse_operation()
        name = self._names.pop()
        if isinstance(op.location, UnknownLoc):
            op.location = self._lines.location(name.start)
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        stack = self._parser_state.dialect_stack
        op_type = self.ctx.get_optional_op(name, dialect_stack=stack)
        if op_type is None:
            self._refuse_operation(name)
        return op_type

    def _refuse_operation(self, name: str) -> NoReturn:
        known = [op.name for op in self.ctx.loaded_ops]
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        self.raise_error(f"Operation {name} is not registered{hint}", self._names[-1])

    def parse_optional_region(
        self, arguments: Sequence[OutlineParser.Argument] | None = None
    ) -> Region | None:
        for argument in arguments or ():
            if argument.location is None:
                argument.location = self._lines.location(argument.name.start)
        self._go_deeper()
        region = super().parse_optional_region(arguments)
        self._depth -= 1
        return region

    def parse_optional_attribute(self) -> Attribute | None:
        self._go_deeper()
        attribute = super().parse_optional_attribute()
        self._depth -= 1
        return attribute

    def parse_optional_type(self) -> TypeAttribute | None:
        self._go_deeper()
        attribute = super().parse_optional_type()
        self._depth -= 1
        return attribute

    def _parse_location(self) -> LocationAttr:
        self._go_deeper()
        if self.parse_optional_keyword("fused") is not None:
            location = self._parse_fused()
        else:
            location = super()._parse_location()
        if isinstance(location, FileLineColLoc):
            self._skip_end_of_range()
        self._depth -= 1
        return location

    def _parse_fused(self) -> LocationAttr:
        metadata: Attribute = NoneAttr()
        if self.parse_optional_punctuation("<") is not None:
            metadata = self.parse_attribute()
            self.parse_punctuation(">")
        square = self.Delimiter.SQUARE
        parts = self.parse_comma_separated_list(square, self._parse_location)
        return FusedLoc(tuple(parts), metadata)

    def _skip_end_of_range(self) -> None:
        """`"f":64:35 to 65:51` is a range; its start is what is kept."""
        if self.parse_optional_keyword("to") is not None:
            self.parse_optional_integer(False, False)
            self.parse_punctuation(":")
            self.parse_integer(False, False)

    def _go_deeper(self) -> None:
        self._depth += 1
        if self._depth > NESTING_LIMIT:
            self.raise_error(f"nesting too deep (limit {NESTING_LIMIT})")
