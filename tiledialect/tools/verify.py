"""`tile-opt --verify-certificate` and `--certificate=FILE`: what a run has proven."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from tiledialect.checkers.certificate_figures import check_figures
from tiledialect.checkers.check_certificate import GAP_OF, Proven, prove
from tiledialect.checkers.disproof import Disproof
from tiledialect.diagnostics import TileError, fail
from tiledialect.dialects.module_attributes import (
    CERTIFICATE,
    SOURCE,
    budget_of,
    machine_of,
    plain_value,
    text_of,
)
from tiledialect.pipeline import make_context
from tiledialect.text.parser import parse_module

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def certificate_of(module: ModuleOp) -> Mapping[str, object]:
    """The certificate that a module carries, as plain data. Refuses one without."""
    attribute = module.attributes.get(CERTIFICATE)
    value = None if attribute is None else plain_value(attribute)
    if not isinstance(value, dict):
        fail(module, f"the module has no {CERTIFICATE}; search-plan writes it")
    return cast("dict[str, object]", value)


def verify(module: ModuleOp) -> str:
    """Check the certificate of a module; the line that says what is proven. Refuses a
    certificate of which anything does not hold."""
    certificate, budget = certificate_of(module), budget_of(module)
    text = text_of(module, SOURCE)
    if budget is None or text is None:
        fail(
            module, "a certificate is of a budget and of a program, and one is missing"
        )
    try:
        source = parse_module(make_context(), text, SOURCE, 1)
        check_figures(module, source, certificate, budget)
        proven = prove(source, machine_of(module), budget, certificate)
    except Disproof as error:
        fail(module, f"certificate: {error}")
    except TileError as error:
        fail(module, f"certificate: {SOURCE}: {error.message}")
    return f"{_said(certificate, budget, proven)}: {_counted(proven)}"


def _said(certificate: Mapping[str, object], budget: int, proven: Proven) -> str:
    if proven.cycles is None:
        return f"proven: no plan fits a budget of {budget} bytes a tile"
    cycles, status = certificate["cycles"], certificate["status"]
    gap = cast("dict[str, int]", certificate["bound"])["gap"]
    return (
        f"proven: no plan within {budget} bytes a tile takes fewer than"
        f" {proven.cycles} cycles, this one takes {cycles}"
        f" ('{status}' by the search, {100 * gap / GAP_OF:.2f} % to the bound)"
    )


def _counted(proven: Proven) -> str:
    cases = "1 case" if proven.cases == 1 else f"{proven.cases} cases"
    parts = "1 part" if proven.parts == 1 else f"{proven.parts} parts"
    return f"{parts} in {cases}"


def certificate_text(module: ModuleOp) -> str:
    """The certificate as JSON, with the budget and the machine that it is of."""
    whole = {
        "format": "tiledialect-certificate",
        "version": 1,
        "machine": machine_of(module).name,
        "budget": budget_of(module),
        "certificate": certificate_of(module),
    }
    return json.dumps(whole) + "\n"
