"""Whether a module is valid, with the place of the operation that is not.

xDSL's own `verify` attaches the whole module to its error, says nothing of where, and
accepts a value that is used before it is defined.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.traits import NoTerminator, SymbolTable
from xdsl.utils.exceptions import VerifyException

from tiledialect.diagnostics import VerifyFailed, fail, locate


def verify_module(module: ModuleOp) -> None:
    """Check every operation and the order of values. Raises VerifyFailed."""
    _verify(module)
    _check_block(module.body.block, set())


def _verify(op: Operation) -> None:
    """Check what is inside `op`, then `op`."""
    for region in op.regions:
        for block in region.blocks:
            if block.is_empty:
                _check_empty(op, region)
            for inner in block.ops:
                _verify(inner)
    if op.has_trait(SymbolTable, value_if_unregistered=False):
        _check_symbols(op)
    try:
        op.verify(verify_nested_ops=False)
    except VerifyException as error:
        raise VerifyFailed(f"'{_name(op)}': {error}", locate(op), op) from error


def _check_empty(op: Operation, region: Region) -> None:
    if len(region.blocks) == 1 and not op.has_trait(NoTerminator):
        fail(op, f"'{_name(op)}': a block lacks its terminator", VerifyFailed)


def _check_symbols(op: Operation) -> None:
    """Names are unique in a symbol table; the error is at the second one."""
    first: dict[str, Operation] = {}
    for inner in _inner(op):
        name = inner.get_attr_or_prop("sym_name")
        if not isinstance(name, StringAttr):
            continue
        if name.data in first:
            earlier = locate(first[name.data])
            message = f"redefinition of symbol @{name.data} (first at {earlier})"
            fail(inner, message, VerifyFailed)
        first[name.data] = inner


def _name(op: Operation) -> str:
    """The name as written, also of an operation that is not registered."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def _inner(op: Operation) -> list[Operation]:
    return [inner for region in op.regions for b in region.blocks for inner in b.ops]


def _check_region(region: Region, visible: set[SSAValue]) -> None:
    """A block sees what its dominators define, and what is defined outside."""
    blocks = list(region.blocks)
    if len(blocks) == 1:
        _check_block(blocks[0], visible)
        return
    dominance = DominanceInfo(region)
    for block in blocks:
        seen = set[SSAValue]()
        for other in blocks:
            if other is not block and dominance.dominates(other, block):
                seen |= _defined(other)
        _check_block(block, visible | seen)


def _defined(block: Block) -> set[SSAValue]:
    return {*block.args, *(result for op in block.ops for result in op.results)}


def _check_block(block: Block, visible: set[SSAValue]) -> None:
    """Every operand is defined before its use. `visible` is unchanged on return."""
    added: list[SSAValue] = [*block.args]
    visible.update(added)
    for op in block.ops:
        for index, operand in enumerate(op.operands):
            if operand not in visible:
                name = f"%{operand.name_hint}" if operand.name_hint else str(index)
                message = (
                    f"operand {name} of '{_name(op)}' is used before it is defined"
                )
                fail(op, message, VerifyFailed)
        for region in op.regions:
            _check_region(region, visible)
        visible.update(op.results)
        added.extend(op.results)
    visible.difference_update(added)
