"""tile-place and its CSV format: columns by name, errors with a line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from placement_oracle import random_problem

from tiledialect.placement.csv_format import CsvError, read_problem, write_problem
from tiledialect.placement.problem import of_class, plain_problem, within
from tiledialect.tools.place import main

TIGHT = "id,lower,upper,size\na,0,2,6\nb,2,8,5\nc,0,6,4\nd,6,14,4\ne,0,14,5\n"


def run(tmp_path: Path, text: str, *options: str) -> int:
    """The exit code of the command on a file of this text."""
    path = tmp_path / "problem.csv"
    path.write_text(text)
    return main([str(path), *options])


def test_tight_instance_at_its_optimum_and_one_below(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, TIGHT, "--capacity=15") == 0
    assert capsys.readouterr().out.startswith("minimal: peak 15 of 15 bytes")
    assert run(tmp_path, TIGHT, "--capacity=14") == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "problem.csv:2:1: error: infeasible: not enough bytes: 15" in said.err


def test_greedy_by_size_is_not_the_last_word(tmp_path: Path) -> None:
    text = (
        "id,lower,upper,size\nb0,0,4,32\nb1,3,5,48\nb2,2,3,112\n"
        "b3,0,2,32\nb4,2,5,80\nb5,4,5,128\n"
    )
    report = tmp_path / "report.json"
    assert run(tmp_path, text, "--capacity=256", f"--json={report}") == 0
    assert json.loads(report.read_text())["peak"] == 256


def test_addresses_are_written_whole(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert run(tmp_path, TIGHT, "--capacity=1KiB", "--minimise", "-o", str(out)) == 0
    again = read_problem(out.read_text(), 15)
    assert (again.problem.pinned >= 0).all()
    assert main([str(out), "--capacity=15"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "out.csv",
        "problem.csv",
    ]


def test_nothing_is_written_for_what_does_not_fit(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert run(tmp_path, TIGHT, "--capacity=14", "-o", str(out)) == 3
    assert not out.exists()


def test_alignment_option_serves_files_without_the_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "id,lower,upper,size\nx,0,2,33\ny,0,2,31\nz,0,2,1\n"
    assert run(tmp_path, text, "--capacity=1KiB", "--alignment=32", "--minimise") == 0
    assert capsys.readouterr().out.startswith("minimal: peak 97 of 1024 bytes")


def test_overlapping_pins_name_line_buffers_and_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "id,lower,upper,size,offset\nb0,0,4,800,0\nb1,0,4,400,\nb2,0,4,4096,512\n"
    assert run(tmp_path, text, "--capacity=1MiB") == 1
    said = capsys.readouterr().err
    assert (
        "problem.csv:2:1: error: pinned buffers b0 [0, 800) and b2 [512, 4608)" in said
    )
    assert "overlap at steps [0, 4)" in said


@pytest.mark.parametrize(
    "text",
    [
        "buffer,start,end,size\nb1,0,4,4\nb2,4,8,4\n",
        "size,id,upper,lower\n4,b1,4,0\n4,b2,8,4\n",
        "\ufeffid, lower ,UPPER,size\r\nb1,0,4,4\r\n\r\nb2,4,8,4\r\n",
    ],
)
def test_columns_are_found_by_name(text: str) -> None:
    table = read_problem(text, 100)
    assert table.problem.names == ("b1", "b2")
    assert table.problem.lifetimes == (((0, 4),), ((4, 8),))
    assert table.problem.bytes.tolist() == [4, 4]


def test_gaps_alignment_and_pins_are_read() -> None:
    text = "id,lower,upper,size,gaps,alignment,offset,hint\nb,0,9,8,2-3 5-7,4,16,0\n"
    problem = read_problem(text, 100).problem
    assert problem.lifetimes == (((0, 2), (3, 5), (7, 9)),)
    assert (problem.align[0], problem.pinned[0]) == (4, 16)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "the file is empty"),
        ("id,lower,upper\n", 1, 1, "no column 'size'"),
        ("id,lower,upper,bytes\n", 1, 16, "unknown column 'bytes'; known: id"),
        ("id,id,upper,size\n", 1, 4, "column 'id' is there twice"),
        ("id,lower,upper,size\na,0,2\n", 2, 1, "3 cells under 4 columns"),
        ("id,lower,upper,size\na,0,x,8\n", 2, 5, "upper is 'x', not an integer"),
        ("id,lower,upper,size\na,0,2,8\na,0,2,8\n", 3, 1, "id a is also on line 2"),
        ("id,lower,upper,size\na,0,2,-8\n", 2, 7, "size -8 is negative"),
        ("id,lower,upper,size\na,2,0,8\n", 2, 5, "upper 0 is below lower 2"),
        (
            "id,lower,upper,size\na,0,2,9223372036854775808\n",
            2,
            7,
            "size 9223372036854775808 does not fit 64 bits",
        ),
        (
            "id,lower,upper,size,gaps\na,0,9,8,2-5@0:4\n",
            2,
            9,
            "gap '2-5@0:4' has a window, which is not supported",
        ),
        ("id,lower,upper,size,gaps\na,0,9,8,2-12\n", 2, 9, "gap 2-12 leaves [0, 9)"),
        ("id,lower,upper,size,alignment\na,0,9,8,0\n", 2, 9, "alignment 0 is not"),
        ("id,lower,upper,size,offset\na,0,9,8,-4\n", 2, 9, "offset -4 is no address"),
        ("id,lower,upper,size,low\na,0,9,8,-4\n", 2, 9, "low -4 is no address"),
        ("id,lower,upper,size,apart\na,0,9,8,b\n", 2, 9, "names 'b', which is no id"),
        ("id,lower,upper,size,alias\na,0,9,8,a\n", 2, 9, "not of the form ID+BYTES"),
    ],
)
def test_crooked_files_are_refused_in_place(
    text: str, line: int, column: int, message: str
) -> None:
    with pytest.raises(CsvError) as caught:
        read_problem(text, 100)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in str(caught.value)


def test_writing_and_reading_gives_the_same_problem() -> None:
    for seed in range(50):
        problem = within(random_problem(seed), 8)
        again = read_problem(write_problem(problem), 8, problem.element_edges).problem
        assert again.lifetimes == problem.lifetimes
        assert again.bytes.tolist() == problem.bytes.tolist()
        assert again.align.tolist() == problem.align.tolist()
        assert again.pinned.tolist() == problem.pinned.tolist()


def test_rules_of_a_tile_are_written_and_read_back() -> None:
    """Ranges, element pairs and aliases of one class."""
    kinds: set[str] = set()
    for seed in range(60):
        whole = random_problem(seed)
        whole = replace(whole, aliases=((0, len(whole.names) - 1, 4),))
        for number in range(whole.classes.shape[1]):
            problem = of_class(whole, number)
            if not problem.names:
                continue
            text = write_problem(problem)
            kinds |= {*text.split("\n", 1)[0].split(",")}
            top = int(problem.high.max())
            again = read_problem(text, top, problem.element_edges).problem
            assert again.low.tolist() == problem.low.tolist()
            assert again.high.tolist() == problem.high.tolist()
            pairs = {frozenset(pair) for pair in problem.apart.tolist()}
            assert {frozenset(pair) for pair in again.apart.tolist()} == pairs
            assert again.aliases == problem.aliases
    assert {"low", "high", "apart", "alias"} <= kinds


def test_names_of_a_class_are_different_words() -> None:
    problem = plain_problem(
        ("a b", "a b", "a_b", ""), np.ones(4, np.int64), ((),) * 4, 9
    )
    assert of_class(problem, 0).names == ("a_b", "a_b_2", "a_b_3", "buffer")


APART = "id,lower,upper,size,apart\na,0,2,64,\nb,3,4,64,a\n"


def test_apart_is_about_the_elements_of_a_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two buffers that never live together could share their bytes; apart, the second
    begins in the next element of mini16, at 4096."""
    out = tmp_path / "out.csv"
    said = ["--capacity=8KiB", "--machine=mini16", "-o", str(out)]
    assert run(tmp_path, APART, *said) == 0
    assert capsys.readouterr().out.startswith("fits: peak 4160 ")
    assert out.read_text().splitlines()[1:] == ["a,0,2,64,0,b", "b,3,4,64,4096,"]
    assert run(tmp_path, APART, "--capacity=8KiB") == 1
    assert "csv:3:10: error: buffers kept apart need" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--capacity=10", "--machine=mini17"], "mini16"),
        (["--capacity=10kb"], "'10kb' is not a size: write plain bytes, or whole KiB"),
        (["--capacty=10"], "--capacity"),
        (["--capacity=10", "--minimize"], "did you mean --minimise?"),
        (["--capacity=10", "--effort=0"], "'0' is no positive whole number"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_two(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["problem.csv", *options]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert message in said


def test_files_that_cannot_be_read_or_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "none.csv"
    assert main([str(missing), "--capacity=10"]) == 1
    assert (
        "none.csv:1:1: error: cannot be read: No such file" in capsys.readouterr().err
    )
    out = tmp_path / "no" / "out.csv"
    assert run(tmp_path, TIGHT, "--capacity=15", "-o", str(out)) == 1
    assert "error: cannot be written: No such file" in capsys.readouterr().err


def test_an_effort_that_is_too_small_stops(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Greedy fails here, and one node of search proves nothing."""
    text = (
        "id,lower,upper,size\nb0,0,4,32\nb1,3,5,48\nb2,2,3,112\n"
        "b3,0,2,32\nb4,2,5,80\nb5,4,5,128\n"
    )
    assert run(tmp_path, text, "--capacity=256", "--effort=1") == 4
    said = capsys.readouterr().err
    assert "error: stopped: fragmentation: enough bytes (256 alive" in said
    assert "none ruled out" in said
