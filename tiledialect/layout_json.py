"""Layouts as JSON, as a package keeps them.

Every field of a layout is written out. A text from a stranger is refused, with
ValueError, unless it is a layout that some machine could hold: counts have limits, so
that the tables made from a layout stay small.
"""

from __future__ import annotations

from typing import TypeAlias

from tiledialect.layout import Cut, Factor, Group, Layout

Json: TypeAlias = (
    "bool | int | float | str | list[Json] | dict[str, Json] | None"  # of any nesting
)

MAX_COUNT = 1 << 16  # of parts, of tiles in a group, of steps of a factor but the outer
MAX_EXTENT = 1 << 32
MAX_STRIDE = 1 << 16


def layout_to_json(layout: Layout) -> dict[str, Json]:
    """The fields of a layout as lists and numbers. What a host reads or writes is
    whole: a layout with windows or ranges is refused with ValueError."""
    if layout.windows or layout.ranges:
        raise ValueError("a layout with windows has no place in a package")
    return {
        "shape": list(layout.shape),
        "element_bytes": layout.element_bytes,
        "cuts": [[_cut_to_json(cut) for cut in axis] for axis in layout.cuts],
        "order": [[factor.axis, factor.count] for factor in layout.order],
        "first": layout.first,
        "replicas": _groups_to_json(layout.replicas),
        "partial": None if layout.partial is None else _group_to_json(layout.partial),
        "spread": _groups_to_json(layout.spread),
        "spread_bytes": layout.spread_bytes,
        "packed": layout.packed,
    }


def layout_from_json(value: Json) -> Layout:
    """The layout of these fields. Raises ValueError that says what is wrong."""
    if not isinstance(value, dict):
        raise ValueError("a layout must be an object")
    names = layout_to_json(Layout((1,), 1, ((),), (Factor(0),))).keys()
    if value.keys() != names:
        raise ValueError(f"a layout has exactly the fields {', '.join(sorted(names))}")
    partial = value["partial"]
    packed = value["packed"]
    if not isinstance(packed, bool):
        raise ValueError("packed must be true or false")
    return Layout(
        shape=tuple(_number(v, 0, MAX_EXTENT) for v in _list(value["shape"], 16)),
        element_bytes=_number(value["element_bytes"], 1, 4),
        cuts=tuple(_cuts(axis) for axis in _list(value["cuts"], 16)),
        order=tuple(_factor(item) for item in _list(value["order"], 64)),
        first=_number(value["first"], 0, MAX_COUNT),
        replicas=_groups(value["replicas"]),
        partial=None if partial is None else _group(partial),
        spread=_groups(value["spread"]),
        spread_bytes=_number(value["spread_bytes"], 8, MAX_EXTENT),
        packed=packed,
    )


def _cut_to_json(cut: Cut) -> Json:
    return [cut.parts, cut.stride, cut.grain, int(cut.balanced)]


def _group_to_json(group: Group) -> Json:
    return [group.count, group.stride]


def _groups_to_json(groups: tuple[Group, ...]) -> Json:
    return [_group_to_json(group) for group in groups]


def _list(value: Json, most: int) -> list[Json]:
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"a list of at most {most} items is needed")
    return value


def _number(value: Json, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("a whole number is needed")
    if not least <= value <= most:
        raise ValueError(f"{value} is not from {least} to {most}")
    return value


def _numbers(value: Json, count: int) -> list[int]:
    items = _list(value, count)
    if len(items) != count:
        raise ValueError(f"a list of {count} numbers is needed")
    return [_number(item, -MAX_EXTENT, MAX_EXTENT) for item in items]


def _cuts(value: Json) -> tuple[Cut, ...]:
    return tuple(_cut(item) for item in _list(value, 16))


def _cut(value: Json) -> Cut:
    parts, stride, grain, balanced = _numbers(value, 4)
    return Cut(
        _number(parts, 1, MAX_COUNT),
        _number(stride, -MAX_STRIDE, MAX_STRIDE),
        _number(grain, 1, MAX_EXTENT),
        bool(_number(balanced, 0, 1)),
    )


def _factor(value: Json) -> Factor:
    axis, count = _numbers(value, 2)
    return Factor(_number(axis, 0, 15), _number(count, 0, MAX_EXTENT))


def _groups(value: Json) -> tuple[Group, ...]:
    return tuple(_group(item) for item in _list(value, 16))


def _group(value: Json) -> Group:
    count, stride = _numbers(value, 2)
    return Group(_number(count, 1, MAX_COUNT), _number(stride, -MAX_STRIDE, MAX_STRIDE))
