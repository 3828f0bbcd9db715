"""Parsing of tensor programs for the tests: a text, or a body between types."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.ir import Operation
from xdsl.parser import Parser

from tiledialect.dialects.tile import Tile


def context() -> Context:
    """A context with the dialects of rung 1."""
    ctx = Context()
    for dialect in (Builtin, Func, Tile):
        ctx.load_dialect(dialect)
    return ctx


def parse(text: str) -> ModuleOp:
    """The module of a text, verified."""
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def program(operation: str, *types: str, result: str) -> str:
    """A function whose arguments %0, %1, … have these types and that returns %r."""
    arguments = ", ".join(f"%a{i}: {type}" for i, type in enumerate(types))
    return (
        f"func.func @main({arguments}) -> {result} {{\n"
        f"  %r = {operation}\n  func.return %r : {result}\n}}"
    )


def unary(operation: str, operand: str, result: str | None = None) -> str:
    """A program of `operation %a0 : operand`."""
    text = f"{operation} %a0 : {operand}"
    return program(text, operand, result=result or operand)


def only(module: ModuleOp, kind: type[Operation]) -> Operation:
    """The one operation of a class."""
    (found,) = (op for op in module.walk() if isinstance(op, kind))
    return found
