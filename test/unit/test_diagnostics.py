"""Errors are one located line with an exit code."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)

from tiledialect.diagnostics import (
    UNKNOWN,
    Infeasible,
    ParseFailed,
    Refused,
    Stopped,
    TileError,
    Usage,
    VerifyFailed,
    fail,
    locate,
    location_text,
)

AT_F = FileLineColLoc(StringAttr("f.py"), IntAttr(12), IntAttr(4))
AT_G = FileLineColLoc(StringAttr("g.py"), IntAttr(3), IntAttr(5))
NOWHERE = NameLoc(StringAttr("jit"), NoneAttr())


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (TileError, 1),
        (Refused, 1),
        (ParseFailed, 1),
        (VerifyFailed, 1),
        (Usage, 2),
        (Infeasible, 3),
        (Stopped, 4),
    ],
)
def test_exit_codes(kind: type[TileError], code: int) -> None:
    assert kind("x").exit_code == code


@pytest.mark.parametrize(
    ("location", "text"),
    [
        (AT_F, "f.py:12:4"),
        (UnknownLoc(), None),
        (NameLoc(StringAttr("jit"), AT_F), "f.py:12:4"),
        (NOWHERE, None),
        (CallSiteLoc(AT_F, AT_G), "f.py:12:4"),
        (CallSiteLoc(UnknownLoc(), AT_G), "g.py:3:5"),
        (FusedLoc((NOWHERE, AT_G, AT_F), NoneAttr()), "g.py:3:5"),
        (FusedLoc(ArrayAttr([]), NoneAttr()), None),
    ],
)
def test_the_first_place_of_a_location(
    location: LocationAttr, text: str | None
) -> None:
    assert location_text(location) == text


def test_an_operation_below_rung_1_carries_its_place() -> None:
    module = ModuleOp([])
    module.location = AT_G
    module.properties["loc_text"] = StringAttr("f.py:12:4")
    assert locate(module) == "f.py:12:4"


def test_an_operation_without_a_place_has_that_around_it() -> None:
    inner = ModuleOp([])
    outer = ModuleOp([inner])
    assert locate(inner) == UNKNOWN
    outer.location = AT_F
    assert locate(inner) == "f.py:12:4"


def test_fail_puts_the_place_in_front_and_keeps_one_line() -> None:
    module = ModuleOp([])
    module.location = AT_F
    with pytest.raises(Infeasible) as error:
        fail(module, "needs 700000 bytes\n  but has 638976", Infeasible)
    assert str(error.value) == ("f.py:12:4: error: needs 700000 bytes but has 638976")
    assert error.value.operation is module


def test_an_error_without_a_place() -> None:
    assert str(Usage("no such option")) == "error: no such option"
