"""Attributes of the lower rungs read back; modules know their machine and budget."""

from __future__ import annotations

import io
from random import Random

import numpy as np
import pytest
from layout_oracle import random_layout, random_shape
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, f64
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from tiledialect.diagnostics import Refused
from tiledialect.dialects.buffers import TilesAttr
from tiledialect.dialects.layout_attribute import LayoutAttr, layout_text
from tiledialect.dialects.module_attributes import (
    budget_of,
    machine_of,
    require_rung,
    reserve_of,
    rung_of,
    set_rung,
)
from tiledialect.dialects.syntax import integer
from tiledialect.dialects.views import View, ViewsAttr
from tiledialect.layout import Cut, Factor, Group, Layout
from tiledialect.machine import Machine
from tiledialect.pipeline import make_context
from tiledialect.tiles import TileSet


def text_of(attribute: Attribute) -> str:
    output = io.StringIO()
    Printer(output).print_attribute(attribute)
    return output.getvalue()


def data_of(attribute: LayoutAttr | TilesAttr | ViewsAttr) -> object:
    """What the text between an attribute's brackets reads as."""
    body = text_of(attribute).removeprefix(f"#{attribute.name}")
    parser = Parser(make_context(), body)
    return type(attribute).parse_parameter(parser)


@pytest.mark.parametrize("seed", range(200))
def test_layouts_read_back(seed: int) -> None:
    random = Random(seed)
    shape = random_shape(random)
    layout = random_layout(random, shape, random.choice((1, 2, 4)), seed % 3 == 0)
    assert data_of(LayoutAttr(layout)) == layout


def test_a_layout_says_what_is_not_usual() -> None:
    layout = Layout(
        (729, 1152),
        1,
        ((Cut(9, 162), Cut(6, 1, 14)), (Cut(6, 1, 32, balanced=True),)),
        (Factor(1), Factor(0), Factor(1, 32)),
        first=3,
        replicas=(Group(27, 6),),
        partial=Group(6, 1),
        spread=(Group(4, 1), Group(2, 9)),
        spread_bytes=16,
        packed=True,
    )
    assert layout_text(layout) == (
        "[729 / 9 step 162 / 6 step 1 grain 14, 1152 / 6 step 1 grain 32 balanced]"
        " bytes 1 order [1, 0, 1:32] first 3 replicas [27 step 6] partial 6 step 1"
        " spread [4 step 1, 2 step 9] by 16 packed"
    )
    assert data_of(LayoutAttr(layout)) == layout
    plain = Layout((4, 5), 2, ((), ()), Layout.row_major(2))
    assert layout_text(plain) == "[4, 5] bytes 2"


@pytest.mark.parametrize("seed", range(50))
def test_sets_of_tiles_read_back(seed: int) -> None:
    random = Random(seed)
    tiles = np.array(random.sample(range(200), random.randint(0, 60)), np.int64)
    stride = random.randint(1, 5)
    tile_set = TileSet.of(np.concatenate([tiles, np.arange(7) * stride]))
    assert data_of(TilesAttr(tile_set)) == tile_set


def test_views_read_back() -> None:
    views = (
        View("f8E4M3FNUZ", ((), ((81, 32),), ((6, 2592), (32, 1))), 64, -2),
        View("f32", ((), (), ())),
    )
    attribute = ViewsAttr(views)
    assert text_of(attribute) == (
        "#codelet.views<f8E4M3FNUZ scale -2 at 64 {[], [81:32], [6:2592, 32:1]},"
        " f32 {[], [], []}>"
    )
    assert data_of(ViewsAttr(views[:1])) == views[:1]


def with_machine(attribute: Attribute) -> ModuleOp:
    return ModuleOp([], {"tile.machine": attribute})


def test_a_module_names_its_machine() -> None:
    assert machine_of(with_machine(StringAttr("mini4"))) == Machine.load("mini4")
    memory = DictionaryAttr({"support_bytes": integer(64)})
    fields = DictionaryAttr({"base": StringAttr("mini4"), "memory": memory})
    machine = machine_of(with_machine(fields))
    assert (machine.memory.support_bytes, machine.memory.fixed_bytes) == (64, 128)
    assert machine_of(with_machine(fields)) is machine


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        (StringAttr("mini5"), "no machine is called 'mini5'"),
        (integer(3), "must be a name or a dictionary"),
        (f64, "is no plain value"),
        (DictionaryAttr({"tiles": integer(4)}), "lacks the field"),
    ],
)
def test_a_machine_that_is_none_is_refused(attribute: Attribute, message: str) -> None:
    with pytest.raises(Refused, match=message):
        machine_of(with_machine(attribute))


def test_a_module_without_a_machine_is_refused() -> None:
    with pytest.raises(Refused, match="the module names no machine"):
        machine_of(ModuleOp([]))


def test_rungs_and_budgets() -> None:
    module = ModuleOp([])
    assert (rung_of(module), budget_of(module), reserve_of(module)) == (1, None, 0)
    set_rung(module, 5)
    module.attributes["tile.budget"] = integer(0)
    module.attributes["tile.reserve"] = integer(7)
    assert (rung_of(module), budget_of(module), reserve_of(module)) == (5, 0, 7)
    require_rung(module, "place-memory", 5)
    with pytest.raises(Refused, match="check-memory reads rung 6"):
        require_rung(module, "check-memory", 6)
    module.attributes["tile.budget"] = integer(-1)
    with pytest.raises(Refused, match="must be a number of bytes"):
        budget_of(module)
    module.attributes["tile.rung"] = integer(7)
    with pytest.raises(Refused, match="must be 1 to 6"):
        rung_of(module)
