"""Small cases made after public fault reports, where their folder is at hand.

It is looked for beside the repository, or in TILEDIALECT_CASES. `public_cases.toml`
says of each case whether it is run here, covered by another test, or for later.
"""

from __future__ import annotations

import csv
import io
import json
import os
import tomllib
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from ladder import compiled
from numpy.typing import NDArray
from public_programs import PROGRAMS

from tiledialect.formats import FORMATS, decode, encode
from tiledialect.runtime.package import Bind, from_bytes
from tiledialect.runtime.simulator import Simulator
from tiledialect.tools.place import main as place

HERE = Path(__file__).parent
TABLE: dict[str, Any] = tomllib.loads((HERE / "public_cases.toml").read_text())


def case_folder() -> Path:
    """The folder of cases; skips the test where there is none."""
    named = os.environ.get("TILEDIALECT_CASES")
    near = HERE.parents[2].glob("*/cases/INDEX.md")
    folders = [Path(named)] if named else sorted(path.parent for path in near)
    if not folders or not folders[0].is_dir():
        pytest.skip("the folder of public cases is not there (TILEDIALECT_CASES)")
    return folders[0]


def listed() -> list[str]:
    """Every case of the table, once."""
    later = [case for cases in TABLE["later"].values() for case in cases]
    run = [*TABLE["run"]["programs"], *TABLE["run"]["placements"]]
    return sorted([*run, *TABLE["covered"], *later])


def test_every_case_is_in_the_table_once() -> None:
    cases = sorted(path.stem for path in case_folder().glob("[0-9]*.md"))
    assert listed() == cases


def test_the_table_names_each_case_once_and_tests_that_exist() -> None:
    assert len(set(listed())) == len(listed()) > 100
    assert sorted(PROGRAMS) == TABLE["run"]["programs"]
    for place_ in TABLE["covered"].values():
        file, test = place_.split("::")
        assert f"def {test}(" in (HERE / file).read_text(), place_


def array(value: Any, bind: Bind) -> NDArray[Any]:
    """Stored elements of a case's argument or result: data, a fill, or a bare list."""
    data = value
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        data = fields["data"] if "data" in fields else fields["fill"]
    format = FORMATS[bind.element]
    numbers = np.array(data, format.dtype if format.is_integer else np.float64)
    if not numbers.size:
        numbers = np.zeros(bind.shape, numbers.dtype)
    whole = np.broadcast_to(numbers, bind.shape)
    if format.is_integer:
        return encode(whole.astype(np.int64), format, bind.scale)
    return encode(whole.astype(np.float64), format, bind.scale)


TOO_LARGE = [("072", "mini4")]
"""Both its constants are stored on the tiles, which then have no room for the rest."""


@pytest.mark.parametrize("machine", ["mini4", "mini16"])
@pytest.mark.parametrize("case", TABLE["run"]["programs"])
def test_a_program_gives_the_values_of_its_case(case: str, machine: str) -> None:
    facts = json.loads((case_folder() / f"{case}.json").read_text())
    if (case, machine) in TOO_LARGE:
        pytest.skip(f"case {case} does not fit {machine}")
    attributes = f'attributes {{tile.machine = "{machine}"}}'
    text = PROGRAMS[case].replace("func.func", f"module {attributes} {{\nfunc.func", 1)
    package = from_bytes(compiled(text + "\n}\n"))
    inputs = {b.index: b for b in package.binds if b.kind in ("input", "parameter")}
    outputs = {b.index: b for b in package.binds if b.kind == "output"}
    arguments = {
        inputs[i].name: array(value, inputs[i]) for i, value in enumerate(facts["args"])
    }
    run = Simulator(package).run(arguments)
    for index, value in enumerate(facts["expected"]):
        bind = outputs[index]
        format = FORMATS[bind.element]
        made = decode(run.outputs[bind.name], format, bind.scale)
        wanted = decode(array(value, bind), format, bind.scale)
        np.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize("case", TABLE["run"]["placements"])
def test_a_placement_reaches_the_optimum_of_its_case(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = case_folder()
    facts = json.loads((folder / f"{case}.json").read_text())
    least = facts.get("optimum", facts.get("capacity"))
    alignment = int(facts.get("alignment", 1))
    arguments = [str(folder / f"{case}.csv"), "--alignment", str(alignment)]
    files = ["--json", str(tmp_path / "report.json"), "-o", str(tmp_path / "out.csv")]
    assert place([*arguments, "--capacity", str(least), *files]) == 0
    assert capsys.readouterr().err == ""
    assert json.loads((tmp_path / "report.json").read_text())["peak"] <= least
    assert_apart((tmp_path / "out.csv").read_text(), alignment, least)
    if least == facts["load_lower_bound"] or "optimum" in facts:
        assert place([*arguments, "--capacity", str(least - 1)]) == 3


def assert_apart(text: str, alignment: int, capacity: int) -> None:
    """Every buffer has a place, and those that meet in a step share no byte."""
    rows = [
        (int(row["lower"]), int(row["upper"]), int(row["offset"]), int(row["size"]))
        for row in csv.DictReader(io.StringIO(text))
    ]
    for first, end, offset, size in rows:
        assert offset % alignment == 0
        assert offset + size <= capacity or first == end
    for one, other in combinations(rows, 2):
        steps = range(max(one[0], other[0]), min(one[1], other[1]))
        low, high = max(one[2], other[2]), min(one[2] + one[3], other[2] + other[3])
        assert not (steps and low < high)
