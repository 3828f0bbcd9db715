"""Claims about check-memory: it accepts what is right, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.parser import Parser

from tiledialect.checkers.check_memory import CheckMemoryPass, Support, check_budget
from tiledialect.checkers.disproof import Disproof
from tiledialect.checkers.footprint import Occupied
from tiledialect.diagnostics import Refused
from tiledialect.machine import Machine
from tiledialect.pipeline import make_context

PLACED = (
    Path(__file__).parent.parent / "lit" / "passes" / "check-memory.mlir"
).read_text(encoding="utf-8")
CODE = "\n".join(
    line for line in PLACED.splitlines() if not line.startswith("// ") or "---" in line
)
DOUBLE, PRODUCT, *_ = CODE.split("// -----")


def check(text: str) -> None:
    """Runs check-memory. The dialect's verifiers, which see some faults already, are
    left out: the checker stands by itself."""
    module = Parser(make_context(), text).parse_module()
    CheckMemoryPass().apply(make_context(), module)


def edited(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


MAP = "footprint 2176 limit 4096 support 2048 code 1280 program 16 row_bytes 36"
Y = '"y" 64 bytes on <0 [4:1]> align 8 live [0, 2) at 3072'
Z = '"z" 64 bytes on <0 [4:1]> align 8 live [1, 2) at 2176'
X = '"x" 16 bytes on <0 [4:1]> align 8 live [0, 1) at 2176'


def at(text: str, address: int) -> tuple[str, str]:
    """The change that moves a buffer."""
    return text, text[: text.rindex(" at ")] + f" at {address}"


def live(text: str, steps: str) -> tuple[str, str]:
    """The change of a lifetime."""
    first, end = text.index(" live "), text.index(" at ")
    return text, text[:first] + f" live {steps}" + text[end:]


@pytest.mark.parametrize("text", [DOUBLE, PRODUCT])
def test_accepts_a_placed_program(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    "change",
    [at(Y, 3080), at(Y, 4096), at(Y, 8128), at(Y, 8192), at(Y, 16320)],
)
def test_accepts_other_places_with_the_same_figures(change: tuple[str, str]) -> None:
    """A buffer in a free place of other elements is as good: nothing has changed."""
    check(edited(DOUBLE, change))


DOUBLE_FAULTS = {
    # places
    "one byte aside": (at(Y, 3073), "3073, which is no multiple of its alignment 8"),
    "one word aside": (at(Y, 3076), "3076, which is no multiple of its alignment 8"),
    "into the support": (at(X, 2168), r"\[2168, 2184\) begins in the support"),
    "row bytes": (
        (MAP, MAP.replace("row_bytes 36", "row_bytes 40")),
        "row_bytes is 40, it is 36",
    ),
    "onto the element of z": (at(Y, 2240), r"one memory element \[2048, 3072\)"),
    "ends in z's element": (at(Y, 3064), r"one memory element \[2048, 3072\)"),
    "onto z": (at(Y, 2200), r"y \[2200, 2264\) and z \[2176, 2240\) share 40 bytes"),
    "exactly onto z": (at(Y, 2176), "share 16 bytes"),
    "beyond the memory": (at(Y, 16384), "passes 16384"),
    "across the memory's end": (at(Y, 16328), "passes 16384"),
    "z one alignment on": (at(Z, 2184), "footprint is 2176, it is 2184"),
    # lifetimes
    "x too short": (live(X, "[0, 0)"), "writes x in step 0, where it is not alive"),
    "x too late": (live(X, "[1, 2)"), "x .* and z .* share 16 bytes"),
    "y ends early": (live(Y, "[0, 1)"), "reads y in step 1, where it is not alive"),
    "y starts late": (live(Y, "[1, 2)"), "writes y in step 0, where it is not alive"),
    "z too late": (live(Z, "[0, 1)"), "x .* and z .* share 16 bytes .* in step 0"),
    "x too long": (live(X, "[0, 2)"), "x .* and z .* share 16 bytes"),
    # tiles
    "x lacks a tile": (
        (X, X.replace("<0 [4:1]>", "<0 [3:1]>")),
        "move of gather uses x on tile 3, which lacks it",
    ),
    "z lacks a tile": (
        (Z, Z.replace("<0 [4:1]>", "<1 [3:1]>")),
        "map of double uses z on tile 0, which lacks it",
    ),
    "a tile beyond the machine": (
        (X, X.replace("<0 [4:1]>", "<0 [5:1]>")),
        "mini4 has no tile 4 for x",
    ),
    # sizes
    "y too small": ((Y, Y.replace("64 bytes", "60 bytes")), "of y, which has 60"),
    "x a byte larger": (
        (X, X.replace("16 bytes", "17 bytes")),
        "step 0 has 2128 live bytes, on tile 0 it has 2129",
    ),
    # regions
    "y in the wrong region": (
        (Y, Y.replace("align 8", "align 8 region interleaved")),
        r"needs interleaved memory, bytes \[3072, 3136\) lie in region executable",
    ),
    # what the steps do
    "nobody binds x": (
        (
            'memory.bind input 0 "x" %x : tensor<16xf32> layout <[16] bytes 4 spread '
            '[4 step 1]> from "f.mlir":1:8',
            "",
        ),
        "reads x on tile 0 in step 0, which nothing has written",
    ),
    "nobody computes z on tile 3": (
        ("map (d0 16) on <0 [4:1]>", "map (d0 16) on <0 [3:1]>"),
        'output "z" reads z on tile 3 in step 1, which nothing has written',
    ),
    "nobody gathers y": (
        ("exchange.move %x to %y", "exchange.move %y to %x"),
        r"move of gather uses bytes \[0, 64\) of x, which has 16",
    ),
    "z computed in place of y's element": (
        ("(%z: f32 d0 [16:4])", "(%y: f32 d0 [16:4])"),
        'output "z" reads z on tile 0 in step 1, which nothing has written',
    ),
    "apart pair in one element": (
        ("memory.apart %x / %y", "memory.apart %x / %y, %y / %z, %z / %x, %x / %z"),
        None,
    ),
    # figures
    **{
        f"{name} {wrong}": (
            (f"{name} {right} ", f"{name} {wrong} "),
            f"the map says that {name} is {wrong}, it is {right}",
        )
        for name, right, wrong in [
            ("footprint", 2176, 2175),
            ("footprint", 2176, 2184),
            ("limit", 4096, 4095),
            ("support", 2048, 2049),
            ("code", 1280, 1024),
            ("program", 16, 8),
            ("profile", 64, 0),
            ("live_peak", 2176, 2128),
            ("peak_step", 1, 0),
        ]
    },
    "peaks": (("peaks [2128, 2176]", "peaks [2128, 2175]"), "step 1 has 2175 live"),
    # budget and machine
    "budget below the footprint": (
        ("tile.budget = 4096", "tile.budget = 2175"),
        "tile 0 takes 2176 bytes, 1 more than the budget of 2175: 128 bytes of buffers",
    ),
    "budget below the support": (
        ("tile.budget = 4096", "tile.budget = 2000"),
        "176 more than the budget of 2000",
    ),
    "reserve too large": (
        ("tile.rung", "tile.reserve = 14081 : i64, tile.rung"),
        "passes 2303|1 more than the 16256 there are",
    ),
    "reserve over y": (
        (Y + ' from "f.mlir":2:8', at(Y, 16320)[1] + ' from "f.mlir":2:8'),
        None,
    ),
}


@pytest.mark.parametrize("name", DOUBLE_FAULTS)
def test_refuses_one_fault(name: str) -> None:
    """Each change of one place, size, tile set, lifetime or figure is refused; those
    with None leave the program right."""
    change, message = DOUBLE_FAULTS[name]
    text = edited(DOUBLE, change)
    if message is None:
        check(text)
        return
    with pytest.raises((Refused, Disproof), match=message):
        check(text)


def test_the_reserve_is_taken_from_the_top() -> None:
    text = edited(
        DOUBLE, at(Y, 16320), ("tile.rung", "tile.reserve = 64 : i64, tile.rung")
    )
    with pytest.raises(Refused, match=r"y \[16320, 16384\) passes 16320"):
        check(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            [("at 8192", "at 8176")],
            r"w .* needs interleaved memory, bytes \[8176, 8192\) lie in region exec",
        ),
        (
            [("region interleaved live [0, 1) at 8192", "live [0, 1) at 8064")],
            "matmul on w .* needs interleaved memory",
        ),
        ([("at 10240", "at 8320")], None),
        ([("at 10240", "at 8304")], "share 16 bytes"),
        (
            [("align 16 region interleaved live [0, 1) at 10240", "at 10248")],
            ".",
        ),
        ([("inside %a at", "inside %a + 8 at")], "."),
        (
            [(" inside %a at 2176", " at 2184")],
            r"a \[2176, 2240\) and a.view \[2184, 2248\) share 56 bytes",
        ),
        (
            [("(%v: f32 m [4:16]", "(%w: f32 m [4:16]"), ("(%r: f32", "(%w: f32")],
            'output "r" reads r on tile 0 in step 0, which nothing has written',
        ),
        (
            [("%v: f32 m [4:16] k [4:4]", "%v: f32 at 4 m [4:12] k [4:4]")],
            "matmul needs 8-byte alignment",
        ),
        ([('parameter "w" 128', 'operand "w" 128')], None),
        ([("memory.bind parameter 1", "memory.bind input 1")], None),
    ],
)
def test_refuses_a_fault_of_a_matmul(
    changes: list[tuple[str, str]], message: str | None
) -> None:
    text = edited(PRODUCT, *changes)
    if message is None:
        check(text)
        return
    with pytest.raises(Exception, match=message):
        check(text)


# Cases from users of such tools


def test_memory_case_135_support_counts() -> None:
    """Case 135: tensors fit by themselves, with rows and code they do not."""
    machine = Machine.load("ipu-c600")
    found = Occupied(200000, 5, np.zeros(1, np.int64), np.zeros(1, np.int64))
    support = Support(20000, 3000, 40000, 1000, 49152)
    message = (
        "tile 5 takes 264000 bytes, 1856 more than the budget of 262144: 200000 bytes"
        r" of buffers, 64000 of support \(code 20000, program 3000, rows 40000"
    )
    with pytest.raises(Disproof, match=message):
        check_budget(machine, found, support, 262144, 0)
    check_budget(machine, found, support, 264000, 0)


def test_memory_case_105_small_budget() -> None:
    """Case 105: no figure wraps where the support alone is too much."""
    machine = Machine.load("ipu-c600")
    none = Occupied(0, 0, np.zeros(0, np.int64), np.zeros(0, np.int64))
    with pytest.raises(Disproof, match="49152 bytes, 16384 more than the budget"):
        check_budget(machine, none, Support(0, 0, 0, 0, 49152), 32768, 0)
