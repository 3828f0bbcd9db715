"""Constraints from files and attributes, and plans written out and replayed."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from driver_runs import Driver
from ladder import checked, parse

from tiledialect.diagnostics import Refused
from tiledialect.machine import Machine
from tiledialect.plan_file import read_plan_file
from tiledialect.program import read_program

EXAMPLES = Path(__file__).parents[2] / "examples"
TINY = (EXAMPLES / "tiny_mlp.mlir").read_text()
BUDGET = "--plan-budget=8KiB"


def compiled(driver: Driver, *options: str, text: str = TINY) -> bytes:
    """The package of a program; the driver must be content."""
    run = driver.run_text(text, "-t", "package", "-o", "out.tilepkg", *options)
    assert (run.code, run.err) == (0, ""), run.err
    return (driver.folder / "out.tilepkg").read_bytes()


def written(driver: Driver, name: str = "plan.json") -> dict[str, dict[str, object]]:
    return json.loads((driver.folder / name).read_text())


@pytest.mark.parametrize("name", ["tiny_mlp", "residual_mlp"])
@pytest.mark.usefixtures("deep_recursion")
def test_a_plan_written_out_gives_the_same_package(driver: Driver, name: str) -> None:
    text = (EXAMPLES / f"{name}.mlir").read_text()
    budget = "--plan-budget=32KiB"
    first = compiled(driver, budget, "--write-plan=plan.json", text=text)
    again = compiled(
        driver,
        budget,
        "--constraints=plan.json",
        "--write-plan=again.json",
        text=text,
    )
    assert first == again
    assert written(driver) == written(driver, "again.json")


def test_a_plan_is_replayed_at_another_budget_or_refused(driver: Driver) -> None:
    """The certificate is then that of a forced plan."""
    compiled(driver, BUDGET, "--write-plan=plan.json")
    certificate = str(written(driver)["made from"]["certificate"])
    # what the search compares with a budget
    bytes_needed = int(certificate.split("searched = ")[1].split()[0])
    compiled(
        driver,
        "--plan-budget=max",
        "--constraints=plan.json",
        "--write-plan=again.json",
    )
    plan, again = written(driver), written(driver, "again.json")
    made, made_again = plan.pop("made from"), again.pop("made from")
    assert plan == again
    assert "constraints" not in str(made["certificate"])
    assert "constraints = {" in str(made_again["certificate"])
    options = ("--constraints=plan.json", "--stop-after=search-plan")
    enough = f"--plan-budget={bytes_needed}"
    assert driver.run_text(TINY, enough, *options).code == 0
    short = f"--plan-budget={bytes_needed - 1}"
    refused = driver.run_text(TINY, short, *options)
    assert refused.code == 3
    assert refused.error.startswith("in.mlir:")
    assert (
        f"no plan that is as asked fits a budget of {bytes_needed - 1} bytes a tile"
        f" (4096 of them support); the smallest budget that works is {bytes_needed}"
    ) in refused.error


def test_a_certificate_of_something_else_is_not_taken(driver: Driver) -> None:
    compiled(driver, BUDGET, "--write-plan=plan.json")
    path = driver.folder / "plan.json"
    text = path.read_text()
    options = (BUDGET, "--constraints=plan.json", "--stop-after=search-plan")
    assert "constraints = {" not in driver.run_text(TINY, *options).out
    for old, new in (
        ('"n": 4, "k": 4', '"n": 4, "k": 2'),
        ("cycles = ", "cycles = 1"),
        ("bytes = ", "bytes = 1"),
        ("{status", "{{status"),
        ('"budget": 8192', '"budget": 8193'),
        ('"source": "', '"source": "0'),
        ('"machine": "', '"machine": "0'),
        ('"reserve": 0', '"reserve": 16'),
    ):
        assert old in text
        path.write_text(text.replace(old, new, 1))
        run = driver.run_text(TINY, *options)
        assert run.code == 0
        assert "constraints = {chunks = 1" in run.out, old


def test_parts_of_a_plan_are_forced_by_group_operation_and_place(
    driver: Driver,
) -> None:
    """GELU `g` runs in the group of the product `h`; the other stands in line 16."""
    asked = {"g": {"grid": {"m": 4}}, "in.mlir:16:10": {"grid": {"k": 2}}}
    (driver.folder / "asked.json").write_text(json.dumps(asked))
    package = compiled(
        driver, BUDGET, "--constraints=asked.json", "--write-plan=plan.json"
    )
    assert checked(package).passed
    plan = written(driver)
    assert plan["h"]["grid"] == {"b": 1, "m": 4, "n": 4, "k": 1}
    grid = plan["y"]["grid"]
    assert isinstance(grid, dict)
    assert grid["k"] == 2


def test_attributes_of_operations_ask_too(driver: Driver) -> None:
    text = TINY.replace("%x, %w1 :", "%x, %w1 {tile.plan = {grid = {m = 4}}} :")
    text = text.replace("tanh %h :", 'tanh %h {tile.plan = {order = "row_major"}} :')
    package = compiled(driver, BUDGET, "--write-plan=plan.json", text=text)
    assert checked(package).passed, "the reference reads the attributes as well"
    plan = written(driver)
    grid = plan["h"]["grid"]
    assert isinstance(grid, dict)
    assert (grid["m"], plan["h"]["order"]) == (4, "row_major")
    (driver.folder / "more.json").write_text('{"h": {"steps": 2}}')
    options = (BUDGET, "--constraints=more.json", "--write-plan=plan.json")
    compiled(driver, *options, text=text)
    assert written(driver)["h"]["steps"] == 2
    (driver.folder / "more.json").write_text('{"h": {"order": "panel"}}')
    refused = driver.run_text(text, *options)
    assert refused.code == 1
    assert refused.error == (
        "more.json:1:1: error: order is asked to be row_major and panel, by the"
        " program and by the file"
    )


def test_the_catalogue_is_the_same_with_constraints(driver: Driver) -> None:
    plain = driver.run_text(TINY, "-p", "expand-candidates").out
    text = TINY.replace("%x, %w1 :", "%x, %w1 {tile.plan = {grid = {m = 4}}} :")
    forced = driver.run_text(text, "-p", "expand-candidates").out
    first = plain.index("plan.catalogue")
    assert plain[first:] == forced[forced.index("plan.catalogue") :]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "asked.json:1:1: error: not JSON: Expecting value"),
        ('{"h": {},\n}', "asked.json:2:1: error: not JSON: Expecting property name"),
        ("[]", "asked.json:1:1: error: a file of constraints is one {…} of groups"),
        (
            '{"h": {"steps": 2},\n  "h": {"steps": 3}}',
            "asked.json:2:3: error: 'h' stands twice",
        ),
        (
            '{"h":\n {"grid": {"m": 2, "m": 4}}}',
            "asked.json:2:20: error: 'm' stands twice",
        ),
        (
            '{"z": {}}',
            "asked.json:1:2: error: no operation is called 'z'; the groups are h, y",
        ),
        (
            '{\n "h": {"steps":\n2.5}}',
            "asked.json:2:8: error: steps: a count from 1 up, not 2.5",
        ),
        (
            '{"h": {"paths": ["direct", "on foot"]}}',
            "asked.json:1:28: error: 'on foot' is no way; known are stored, direct",
        ),
        (
            '{"h": {"steps": 2}, "q": {"steps": 4}}',
            "asked.json:1:21: error: 'q': steps is asked to be 2 and 4",
        ),
        ('{"chunks": 0}', "asked.json:1:2: error: chunks: a count from 1 up, not 0"),
        (
            '{"h": {"grid": {"m": 5}}}',
            "in.mlir:13:10: error: no candidate of 'h' has m 5; m there is 1, 2, 3, 4,"
            " 8 (5 parts give no smaller block than 4)",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(
    driver: Driver, text: str, error: str
) -> None:
    (driver.folder / "asked.json").write_text(text)
    run = driver.run_text(TINY, BUDGET, "--constraints=asked.json")
    assert run.code == 1
    assert run.error.startswith(error)


def test_options_that_do_not_go_together(driver: Driver) -> None:
    for options, code, error in (
        (("--constraints=a.json",), 2, "error: --constraints goes with --plan-budget"),
        (
            ("-p", "expand-candidates", "--constraints=a.json"),
            2,
            "error: --constraints goes with --plan-budget; with -p write",
        ),
        (
            (BUDGET, "--constraints=a.json"),
            1,
            "error: cannot read 'a.json': No such file or directory",
        ),
        (
            (BUDGET, "--stop-after=search-plan", "--write-plan=b.json"),
            1,
            "in.mlir:11:1: error: the module holds no chosen plan to write; run select",
        ),
        (
            (BUDGET, "--split-input-file", "--write-plan=b.json"),
            2,
            "error: --write-plan takes one module",
        ),
    ):
        run = driver.run_text(TINY, *options)
        assert (run.code, run.error[: len(error)]) == (code, error)


def test_a_later_rung_still_knows_its_plan(driver: Driver) -> None:
    placed = driver.run_text(TINY, BUDGET, "--write-plan=plan.json")
    assert placed.code == 0
    run = driver.run_text(placed.out, "--write-plan=again.json")
    assert run.code == 0
    assert written(driver) == written(driver, "again.json")


def test_the_pass_takes_a_file_as_an_option(driver: Driver) -> None:
    (driver.folder / "asked.json").write_text('{"h": {"grid": {"m": 4}}}')
    passes = 'expand-candidates,search-plan{budget=8KiB constraints="asked.json"}'
    run = driver.run_text(TINY, "-p", passes)
    assert run.code == 0
    assert "constraints = {h = {grid = {m = 4 : i64}}}" in run.out


@pytest.mark.usefixtures("deep_recursion")
def test_chunks_are_asked_of_the_program(driver: Driver) -> None:
    """In a file or of the function; such a plan is replayed as well."""
    (driver.folder / "asked.json").write_text('{"chunks": 2}')
    package = compiled(
        driver, BUDGET, "--constraints=asked.json", "--write-plan=plan.json"
    )
    assert checked(package).passed
    assert json.loads((driver.folder / "plan.json").read_text())["chunks"] == 2
    assert compiled(driver, BUDGET, "--constraints=plan.json") == package
    text = TINY.replace("-> !y {", "-> !y attributes {tile.plan = {chunks = 2}} {")
    run = driver.run_text(text, BUDGET, "--stop-after=select-plan")
    assert "tile.choices = {chunks = 2 : i64" in run.out
    (driver.folder / "asked.json").write_text('{"chunks": 9}')
    refused = driver.run_text(TINY, BUDGET, "--constraints=asked.json")
    assert (refused.code, refused.error) == (
        1,
        "in.mlir:13:10: error: the program cannot be run in 9 chunks",
    )


PIECES = (
    *'{}[],:"',
    "1",
    "-1",
    "1e9",
    "null",
    "NaN",
    "9" * 5000,
    "\\ud800",
    "[" * 3000,
)
PLAN = (
    '{"h": {"grid": {"m": 2, "n": 1}, "steps": 1, "paths": ["direct", "stored"],'
    ' "rest": "block", "order": "panel"}, "chunks": 1, "made from": {"source": "x"}}'
)


def test_a_damaged_file_is_read_or_refused(tmp_path: Path) -> None:
    """400 damaged files: never another error, and every refusal has a place."""
    rng = random.Random(7)
    machine = Machine.load("mini16")
    program = read_program(parse(TINY), machine)
    path = tmp_path / "asked.json"
    read, refusals = 0, list[str]()
    for _ in range(400):
        letters = list(PLAN)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(letters))
            end = at + rng.choice((0, 1, 1, 4))
            letters[at:end] = rng.choice((rng.choice(PIECES), ""))
        path.write_text("".join(letters))
        try:
            read_plan_file(str(path), program)
            read += 1
        except Refused as error:
            refusals.append(str(error))
    assert min(read, len(refusals)) > 10
    place = re.compile(r"[^\n]*asked.json:\d+:\d+: error: [^\n]{1,200}")
    assert all(place.fullmatch(refusal) for refusal in refusals)
