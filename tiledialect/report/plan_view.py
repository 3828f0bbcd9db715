"""The plan: of every group of operations its grid, where operands lie, what moves.

Read from the operations of rung 3. Steps of one kind that differ in their window or
their range only, as those of a depth that comes in steps, or of chunks that run one by
one, are one row with a count.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, TypedDict, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr

from tiledialect.diagnostics import locate
from tiledialect.dialects.layout_attribute import layout_text
from tiledialect.dialects.plan import AlternativesOp
from tiledialect.dialects.plan_step_ops import ComputeOp, LoadOp, ReduceOp, RelayoutOp

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute, Operation

    from tiledialect.layout import Layout, Window

    PlanStep = LoadOp | RelayoutOp | ComputeOp | ReduceOp

SHOWN = {
    LoadOp: "load",
    RelayoutOp: "relayout",
    ComputeOp: "compute",
    ReduceOp: "reduce",
}


class PlanRow(TypedDict):
    """A step of a plan, or `count` alike. Estimates are sums over all of them."""

    kind: str
    what: str
    value: str
    count: int
    where: str
    layout: str
    grid: str
    compute: int
    exchange: int


class PlanGroup(TypedDict):
    """A group of operations of rung 1 and the rows of its plan, in order."""

    name: str
    location: str
    grid: str
    tiles: int
    chunks: int
    steps: int
    rows: list[PlanRow]


def plan_groups(module: ModuleOp) -> list[PlanGroup]:
    """The groups of a module at rung 3, in order. Of several plans the first."""
    groups: dict[str, PlanGroup] = {}
    rows: dict[tuple[str, ...], PlanRow] = {}
    chunks: dict[str, set[tuple[Window, ...]]] = {}
    for op in _steps(module):
        name = op.group.data
        group = groups.setdefault(name, _new_group(name, op))
        row = _row(op)
        key = (name, row["kind"], row["what"], row["layout"], row["grid"])
        if key in rows:
            for amount in ("count", "compute", "exchange"):
                rows[key][amount] += row[amount]
        else:
            rows[key] = row
            group["rows"].append(row)
        if isinstance(op, ComputeOp) and op.family.data != "map":
            group["grid"] = grid_text(op)
            group["tiles"] = parts(op.grid.data)
            seen = chunks.setdefault(name, set())
            seen.add(op.grid.data.ranges)
            group["chunks"] = len(seen)
            group["steps"] = -(-rows[key]["count"] // len(seen))
    return list(groups.values())


def _steps(module: ModuleOp) -> list[PlanStep]:
    """The operations of the plan; of `plan.alternatives` those of its first."""
    found: list[PlanStep] = []
    waiting: list[Operation] = [module]
    while waiting:
        op = waiting.pop()
        if isinstance(op, LoadOp | RelayoutOp | ComputeOp | ReduceOp):
            found.append(op)
        regions = op.regions[:1] if isinstance(op, AlternativesOp) else op.regions
        inner = [
            one for region in regions for block in region.blocks for one in block.ops
        ]
        waiting += reversed(inner)
    return found


def _new_group(name: str, op: PlanStep) -> PlanGroup:
    place = locate(op)
    return {
        "name": name,
        "location": place,
        "grid": "",
        "tiles": 0,
        "chunks": 1,
        "steps": 1,
        "rows": [],
    }


def _row(op: PlanStep) -> PlanRow:
    layout = op.layout.data
    whole = replace(layout, windows=(), ranges=())
    source = op.operands[0].name_hint or "value"
    return {
        "kind": SHOWN[type(op)],
        "what": _what(op, source),
        "value": op.result.name_hint or "",
        "count": 1,
        "where": where_text(layout),
        "layout": layout_text(whole),
        "grid": grid_text(op) if isinstance(op, ComputeOp) else "",
        "compute": op.cycles + (op.zero_cycles if isinstance(op, RelayoutOp) else 0),
        "exchange": op.exchange_cycles,
    }


def _what(op: PlanStep, source: str) -> str:
    """What a step does, in a few words."""
    match op:
        case ComputeOp():
            return " ".join([op.family.data, *_functions(op)])
        case ReduceOp():
            own = ", its own read in place" if op.own is not None else ""
            return f"{op.function.data} of partial results{own}"
        case LoadOp():
            return f"{source} lies there before the run"
        case RelayoutOp():
            slot = "" if op.slot is None else f" to the slot {op.slot.data}"
            words = [f"{source} moved{slot}"]
            words += ["with the move before"] * (op.joined is not None)
            words += ["padding filled with zeros"] * (op.zeroed is not None)
            words += ["beside the chunks before"] * (op.into is not None)
            return ", ".join(words)


def _functions(op: ComputeOp) -> list[str]:
    """The functions of a map's stages."""
    stages = op.parameters.data.get("stages")
    if not isinstance(stages, ArrayAttr):
        return []
    items = cast("ArrayAttr[Attribute]", stages).data
    tables = [stage.data for stage in items if isinstance(stage, DictionaryAttr)]
    names = [table.get("function") for table in tables]
    return ["+".join(name.data for name in names if isinstance(name, StringAttr))]


def grid_text(op: ComputeOp) -> str:
    """Each dimension of the domain, its extent and into how many parts it is cut."""
    grid = op.grid.data
    words: list[str] = []
    for name, extent, cuts in zip(op.dims, grid.shape, grid.cuts, strict=True):
        count = prod(cut.parts for cut in cuts)
        words.append(f"{name.data} {extent}" + (f" / {count}" if count > 1 else ""))
    return ", ".join(words)


def parts(layout: Layout) -> int:
    """Into how many blocks a layout cuts its tensor."""
    return prod(cut.parts for axis in layout.cuts for cut in axis)


def where_text(layout: Layout) -> str:
    """A layout in words: blocks, copies, spreading, partial sums."""
    blocks = parts(layout)
    words = [f"{blocks} blocks" if blocks > 1 else "one block"]
    copies = prod(group.count for group in layout.replicas)
    spread = prod(group.count for group in layout.spread)
    if copies > 1:
        words.append(f"each on {copies} tiles")
    if spread > 1:
        words.append(f"spread over {spread} tiles{' each' if blocks > 1 else ''}")
    if layout.partial is not None:
        words.append(f"partial over {layout.partial.count} tiles")
    if layout.order != type(layout).row_major(len(layout.shape)):
        words.append("in panels")
    if layout.ranges:
        words.append("a chunk at a time")
    if layout.windows:
        words.append("a window at a time")
    return ", ".join(words)
