"""The page: one HTML file that opens from disk and asks for nothing else.

Template, style and scripts stand in `page/`, the plotting library in `vendor/`. All
data is JSON in one element of the page; the scripts read it from there. A content
security policy in the page forbids every request.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from tiledialect.layout_json import Json
    from tiledialect.report.plan_view import PlanGroup
    from tiledialect.report.program_view import ProgramData
    from tiledialect.report.table import TableData

FOLDER = Path(__file__).parent
LIBRARY = FOLDER / "vendor" / "echarts.min.js"
SCRIPTS = (
    "format.js",
    "theme.js",
    "charts.js",
    "tables.js",
    "curve.js",
    "timeline.js",
    "memory.js",
    "exchange.js",
    "plan.js",
    "main.js",
)
"""In the order in which they stand in the page: each uses those before it alone."""


class CaseData(TypedDict):
    """A case on the page. `curve` has [bytes, estimated cycles] of every plan worth
    having; `source` the lines of rung 1 that locations name."""

    sweep: str
    fields: dict[str, Json]
    program: ProgramData | None
    plan: list[PlanGroup] | None
    curve: list[list[int]]
    explain: Json
    source: dict[str, str]


class PageData(TypedDict):
    """All that the page shows."""

    title: str
    sweeps: list[str]
    tables: list[TableData]
    cases: list[CaseData]


def render(data: PageData) -> str:
    """The page as text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(FOLDER / "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html").render(
        title=data["title"],
        style=(FOLDER / "page" / "report.css").read_text(encoding="utf-8"),
        library=LIBRARY.read_text(encoding="utf-8"),
        scripts=[
            (FOLDER / "page" / name).read_text(encoding="utf-8") for name in SCRIPTS
        ],
        data=embedded(data),
    )


def embedded(data: PageData) -> str:
    """JSON that may stand inside a script element: no `<` begins a tag there."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028")
