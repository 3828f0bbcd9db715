"""The page of a report: its data, and what a person does with it, in a browser."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import chromium, complaints, script, set_theme, wait_for
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tiledialect.report.page import LIBRARY, PageData, embedded
from tiledialect.report.program_view import program_data
from tiledialect.runtime.package import read
from tiledialect.tools.report_tool import main

VIEWS = ("summary", "curve", "timeline", "memory", "exchange", "plan")
CHARTS = {
    "summary": 0,
    "curve": 1,
    "timeline": 1,
    "memory": 2,
    "exchange": 2,
    "plan": 0,
}
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.S)


@pytest.fixture(scope="module")
def page(small_sweep: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a small sweep and of a copy with other cycles and every plan."""
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(small_sweep, folder / "other")
    case = folder / "other" / "cases" / "b1-fp8-default"
    fields = json.loads((case / "case.json").read_text())
    fields["cycles"] *= 2
    (case / "case.json").write_text(json.dumps(fields))
    (case / "explain.json").write_text('{"dropped": {"same_block": 3, "<b>": 1}}')
    assert main([str(folder / "other"), "--explain", "--curves", "--quiet"]) == 0
    words = [str(small_sweep), str(folder / "other"), "-o", str(folder), "--quiet"]
    assert main(words) == 0
    return folder / "report.html"


def data_of(page: Path) -> Any:
    """The JSON in a page."""
    found = DATA.findall(page.read_text())
    assert len(found) == 1
    return json.loads(found[0])


def test_the_data_in_the_page_is_that_of_the_packages(
    page: Path, small_sweep: Path
) -> None:
    data = data_of(page)
    assert data["sweeps"] == ["small", "other"]
    assert len(data["cases"]) == 6
    for case in data["cases"]:
        path = small_sweep / "cases" / case["fields"]["name"] / "case.tilepkg"
        if not path.exists():
            assert case["program"] is None
            continue
        expected = json.loads(json.dumps(program_data(read(str(path)))))
        assert case["program"] == expected
        assert case["fields"]["placed_bytes"] == expected["footprint"]
        steps = sum(step["cycles"] for step in expected["steps"])
        assert case["fields"]["cycles"] in (steps, 2 * steps)
        places = {step["location"] for step in expected["steps"]}
        assert set(case["source"]) == places
        assert all("tile." in line for line in case["source"].values())


def test_the_page_is_one_small_file_that_asks_for_nothing(page: Path) -> None:
    text = page.read_text()
    assert len(text) - len(LIBRARY.read_text()) < 200_000
    assert "default-src 'none'" in text
    ours = text.replace(LIBRARY.read_text(), "")
    assert not re.search(r"(src|href)=\"(?!#|data:)", ours)
    assert not re.search(r"https?://", ours)


def test_no_text_of_a_sweep_ends_the_script() -> None:
    data: PageData = {"title": "</script><b>", "sweeps": [], "tables": [], "cases": []}
    text = embedded(data)
    assert "<" not in text
    assert json.loads(text) == data


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebDriver]:
    with chromium(tmp_path_factory.mktemp("browser")) as one:
        yield one


@pytest.fixture
def opened(browser: WebDriver, page: Path) -> Iterator[WebDriver]:
    """The page at its first view; afterwards it must not have complained."""
    set_theme(browser, "light")
    browser.get("about:blank")
    browser.get(f"file://{page}")
    yield browser
    assert complaints(browser) == []


def find(browser: WebDriver, selector: str) -> WebElement:
    return browser.find_element(By.CSS_SELECTOR, selector)


def text_of(browser: WebDriver) -> str:
    return find(browser, "#panel").text


def open_view(browser: WebDriver, name: str) -> None:
    """Click a tab and wait until its charts are drawn."""
    find(browser, f"#tab-{name}").click()
    wait_for_charts(browser, CHARTS[name])


def wait_for_charts(browser: WebDriver, count: int) -> None:
    """Wait until the view has drawn all its charts."""
    boxes = "[...document.querySelectorAll('.chart')]"
    drawn = f"{boxes}.filter((box) => box.chart && box.querySelector('canvas'))"
    wait_for(browser, f"{boxes}.length === {count} && {drawn}.length === {count}")


COLOURS = """
const canvas = arguments[0].querySelector("canvas");
const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
const words = new Uint32Array(pixels.data.buffer);
return new Set(words).size;
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_view_is_drawn_in_both_themes(
    opened: WebDriver, theme: str, tmp_path: Path
) -> None:
    set_theme(opened, theme)
    colour = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}[theme]
    wait_for(opened, f"getComputedStyle(document.body).backgroundColor === '{colour}'")
    pictures: set[bytes] = set()
    for name in VIEWS:
        open_view(opened, name)
        charts = opened.find_elements(By.CSS_SELECTOR, ".chart")
        assert len(charts) == CHARTS[name]
        for chart in charts:
            assert script(opened, COLOURS, chart) > 5, f"{name} draws nothing"
        picture = opened.get_screenshot_as_png()
        (tmp_path / f"{name}.png").write_bytes(picture)
        pictures.add(picture)
    assert len(pictures) == len(VIEWS)


def test_tabs_are_moved_with_the_keyboard(opened: WebDriver) -> None:
    find(opened, "#tab-summary").click()
    for name in (*VIEWS[1:], VIEWS[0]):
        opened.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
        selected = find(opened, '[role="tab"][aria-selected="true"]')
        assert selected.get_attribute("id") == f"tab-{name}"
        assert opened.switch_to.active_element == selected
        assert find(opened, "#panel").get_attribute("aria-labelledby") == f"tab-{name}"
    opened.switch_to.active_element.send_keys(Keys.END)
    assert script(opened, "return location.hash") == "#plan/0"


def test_the_summary_has_the_tables_of_the_command(
    opened: WebDriver, page: Path
) -> None:
    open_view(opened, "summary")
    titles = [one.text for one in opened.find_elements(By.CSS_SELECTOR, "#panel h2")]
    assert titles == [table["title"] for table in data_of(page)["tables"]]
    assert "Cycles: small and other" in titles


def zoom(browser: WebDriver) -> list[float]:
    """The cycles between which the timeline is shown."""
    return script(
        browser,
        "const zoom = document.querySelector('.chart').chart.getOption().dataZoom[0];"
        "return [zoom.startValue, zoom.endValue]",
    )


def test_the_timeline_is_zoomed_to_a_step_and_back(
    opened: WebDriver, page: Path
) -> None:
    open_view(opened, "timeline")
    steps = data_of(page)["cases"][0]["program"]["steps"]
    cycles = [step["cycles"] for step in steps]
    assert f"{sum(cycles):,} cycles in {len(steps)} steps" in text_of(opened)
    opened.find_elements(By.CSS_SELECTOR, "button.step")[2].click()
    begin = sum(cycles[:2])
    assert zoom(opened) == pytest.approx([begin, begin + cycles[2]], abs=1)
    opened.find_element(By.XPATH, "//button[text()='Next step']").click()
    assert zoom(opened)[0] == pytest.approx(begin + cycles[2], abs=1)
    find(opened, ".chart").send_keys("0")
    assert zoom(opened) == [0, sum(cycles)]
    find(opened, ".chart").send_keys("+")
    assert zoom(opened) == pytest.approx([sum(cycles) / 4, sum(cycles) * 3 / 4], abs=1)


HOVER = """
const [box, wanted] = arguments;
const values = box.chart.getOption().series[0].data;
const [first, last] = wanted;
const index = values.findIndex((value) => value[0] === first && value[4] === last);
box.chart.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: index });
return document.querySelector(".tip").innerText;
"""


def test_hovering_a_step_names_op_line_codelet_and_cycles(
    opened: WebDriver, page: Path
) -> None:
    open_view(opened, "timeline")
    case = data_of(page)["cases"][0]
    for number, step in enumerate(case["program"]["steps"]):
        tip = script(opened, HOVER, find(opened, ".chart"), [1, number])
        assert f"Step {number}: {step['name']} ({step['kind']})" in tip
        assert step["location"] in tip
        assert case["source"][step["location"]] in tip
        assert f"cycles: {step['cycles']:,}, estimated {step['estimate']:,}" in tip
        assert all(codelet in tip for codelet in step["codelets"][:6])


def test_the_memory_map_shows_a_class_and_its_buffers(
    opened: WebDriver, page: Path
) -> None:
    open_view(opened, "memory")
    program = data_of(page)["cases"][0]["program"]
    text = text_of(opened)
    assert f"{program['live_peak']:,} bytes alive at most" in text
    assert f"{program['footprint']:,} bytes ever occupied" in text
    buffers = program["memory"]["buffers"]
    rows = opened.find_elements(By.CSS_SELECTOR, "#panel tbody tr")
    assert len(rows) == len(buffers)
    for number, buffer in enumerate(buffers):
        tip = script(
            opened, HOVER, find(opened, ".chart"), [buffer["live"][0][0], number]
        )
        assert buffer["name"] in tip
        assert f"size: {buffer['bytes']:,} bytes" in tip
        first, end = buffer["live"][0]
        assert f"steps {first} to {end - 1}" in tip
    find(opened, 'input[type="checkbox"]').click()
    wait_for_charts(opened, 2)
    find(opened, 'input[type="number"]').send_keys("5", Keys.ENTER)
    wait_for_charts(opened, 2)


def test_the_exchange_has_a_heat_map_for_each_phase(
    opened: WebDriver, page: Path
) -> None:
    open_view(opened, "exchange")
    exchange = data_of(page)["cases"][0]["program"]["exchange"]
    total = sum(phase["words"] for phase in exchange["phases"])
    assert f"{total:,} words received" in text_of(opened)
    select = opened.find_elements(By.CSS_SELECTOR, "#panel select")[0]
    select.send_keys(Keys.HOME)
    wait_for_charts(opened, 2)
    first = exchange["traffic"][0]
    assert f"{first['words']:,} words received" in text_of(opened)


def test_two_plans_stand_side_by_side(opened: WebDriver, page: Path) -> None:
    open_view(opened, "plan")
    case = data_of(page)["cases"][0]
    for group in case["plan"]:
        assert f"Grid {group['grid']}: {group['tiles']} tiles" in text_of(opened)
    find(opened, "#panel select").send_keys("other: b1-fp8-default")
    wait_for(opened, "document.querySelectorAll('.columns h2').length === 2")
    text = text_of(opened)
    assert "same_block" in text
    assert "<b>" in text
    assert text.count("optimal") == 2


def test_explanations_and_curves_are_found_for_the_report(
    opened: WebDriver, page: Path
) -> None:
    cases = data_of(page)["cases"]
    number = next(
        i for i, case in enumerate(cases) if "filters" in (case["explain"] or {})
    )
    filters = cases[number]["explain"]["filters"]
    script(opened, f"location.hash = 'plan/{number}'")
    wait_for(opened, "document.querySelector('#panel table')")
    for group in filters:
        dropped = group["dropped"]
        figures = [group["grids"], *dropped.values(), group["candidates"]]
        row = " ".join([group["name"], *(f"{figure:,}" for figure in figures)])
        assert row in text_of(opened)
    assert text_of(opened).count("terms of the estimate") == len(filters)
    (curve,) = [case["curve"] for case in cases if case["curve"]]
    assert curve == sorted(curve)
    for case in cases:
        fields = case["fields"]
        if fields["estimated_cycles"] is not None:
            best = min(c for b, c in curve if b <= fields["budget_bytes"])
            assert fields["estimated_cycles"] == best


def test_a_case_without_a_program_says_why(opened: WebDriver, page: Path) -> None:
    cases = data_of(page)["cases"]
    number = next(i for i, case in enumerate(cases) if case["program"] is None)
    for name in ("timeline", "memory", "exchange", "plan"):
        script(opened, f"location.hash = '{name}/{number}'")
        wait_for(opened, "document.querySelector('#panel .card')")
        assert cases[number]["fields"]["reason"] in text_of(opened)
