"""A module that is not valid is refused at the operation that is not."""

from __future__ import annotations

from random import Random

import pytest
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.dialects.test import TestTermOp as EndOp
from xdsl.ir import Block, Operation, Region

from tiledialect.diagnostics import VerifyFailed
from tiledialect.pipeline import make_context
from tiledialect.text.parser import parse_module
from tiledialect.text.verify import verify_module


def verify(text: str) -> None:
    context = make_context(allow_unregistered=True)
    verify_module(parse_module(context, text, "t.mlir"))


def error_of(text: str) -> str:
    with pytest.raises(VerifyFailed) as error:
        verify(text)
    return str(error.value)


USED_BEFORE = """func.func @f() {
  "a.b"(%y) : (i32) -> ()
  %y = "a.c"() : () -> i32
  return
}"""
USED_BY_ITSELF = """func.func @f() {
  %0 = "a.b"(%0) : (i32) -> i32
  return
}"""
USED_INSIDE_BEFORE = """"a.b"() ({
  "a.d"() ({
    "a.e"(%z) : (i32) -> ()
  }) : () -> ()
  %z = "a.c"() : () -> i32
}) : () -> ()"""
DEFINED_TWICE = """func.func @f() { return }
func.func @g() { return }
 func.func @f() { return }"""
WRONG_RESULT = """func.func @f() -> i32 {
  return
}"""
UNKNOWN_CALLEE = """func.func @f() {
  call @g() : () -> ()
  return
}"""
NO_RETURN = """func.func @f() {
  call @f() : () -> ()
}"""
EMPTY_BLOCK = """func.func @f() {
^a:
}"""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (USED_BEFORE, "2:3: error: operand %y of 'a.b' is used before it is defined"),
        (USED_BY_ITSELF, "2:8: error: operand 0 of 'a.b' is used before it is"),
        (USED_INSIDE_BEFORE, "3:5: error: operand %z of 'a.e' is used before it is"),
        (DEFINED_TWICE, "3:2: error: redefinition of symbol @f (first at t.mlir:1:1)"),
        (WRONG_RESULT, "2:3: error: 'func.return': Expected arguments to have"),
        (UNKNOWN_CALLEE, "2:3: error: 'func.call': '@g' could not be found in"),
        (
            NO_RETURN,
            "2:3: error: 'func.call': Operation func.call terminates block",
        ),
        (EMPTY_BLOCK, "1:1: error: 'func.func': a block lacks its terminator"),
    ],
)
def test_the_error_is_at_the_operation(text: str, error: str) -> None:
    assert error_of(text).startswith(f"t.mlir:{error}")


OUTER_VALUE = """func.func @f(%x: i32) {
  "a.b"() ({
    "a.c"(%x) : (i32) -> ()
  }) : () -> ()
  return
}"""
TWO_TABLES = """module {
  func.func @f() { return }
}
module {
  func.func @f() { return }
}"""


@pytest.mark.parametrize("text", [OUTER_VALUE, TWO_TABLES, "func.func private @f()"])
def test_valid_modules_pass(text: str) -> None:
    verify(text)


@pytest.mark.parametrize(
    ("place", "is_valid"),
    [("entry", True), ("left", False), ("right", False), ("join", True)],
)
def test_a_value_is_seen_where_its_block_dominates(place: str, is_valid: bool) -> None:
    """A diamond: the entry is seen everywhere, a branch not behind the join."""
    blocks = {name: Block() for name in ("entry", "left", "right", "join")}
    entry, left, right, join = blocks.values()
    source = AnyOp(result_types=[i32])
    blocks[place].add_op(source)
    join.add_op(AnyOp(operands=[source.results[0]]))
    for block, successors in (
        (entry, (left, right)),
        (left, (join,)),
        (right, (join,)),
    ):
        block.add_op(EndOp(successors=[*successors]))
    join.add_op(EndOp())
    around = AnyOp(regions=[Region(list(blocks.values()))])
    module = ModuleOp([around])
    if is_valid:
        verify_module(module)
    else:
        with pytest.raises(VerifyFailed, match="used before it is defined"):
            verify_module(module)


Path = tuple[int, ...]


def random_ops(
    random: Random, path: Path, found: dict[Path, AnyOp], depth: int
) -> list[Operation]:
    """Operations in regions in each other; `found` gets each by its path."""
    ops: list[Operation] = []
    for index in range(random.randint(1, 4)):
        inner: list[Region] = []
        here = (*path, index)
        if depth and random.random() < 0.4:
            inside = random_ops(random, here, found, depth - 1)
            inner = [Region(Block([*inside, EndOp()]))]
        op = AnyOp(result_types=[i32], regions=inner)
        found[here] = op
        ops.append(op)
    return ops


def sees(user: Path, source: Path) -> bool:
    """Whether a value is defined before its user, in a block around the user."""
    last = len(source) - 1
    return (
        last < len(user) and user[:last] == source[:last] and source[last] < user[last]
    )


@pytest.mark.parametrize("seed", range(60))
def test_order_is_as_paths_say(seed: int) -> None:
    """One random use in a random tree of regions, against the rule on paths."""
    random = Random(seed)
    found: dict[Path, AnyOp] = {}
    module = ModuleOp(random_ops(random, (), found, 3))
    verify_module(module)
    for _ in range(8):
        user, source = random.choices(sorted(found), k=2)
        found[user].operands = [found[source].results[0]]
        if sees(user, source):
            verify_module(module)
        else:
            with pytest.raises(VerifyFailed, match="used before it is defined"):
                verify_module(module)
        found[user].operands = []
