"""What `bench.cells` measures, and what is asked of it.

The cells are the budgets and batches of the reference sweep (osmarks/ipu-stack, planner
memory sweep); its hardware figures stand beside the targets. Times are seconds on 2
cores.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

PLAN_SECONDS = 10.0
"""expand-candidates and search-plan of a cell."""

PASSES_SECONDS = 30.0
"""All passes of a cell."""

REFUTE_SECONDS = 5.0
CURVE_SECONDS = 15.0
CANDIDATES_PER_SECOND = 100_000
MEDIAN_ERROR = 0.03
WORST_ERROR = 0.10


@dataclass(frozen=True)
class Cell:
    """A program and a budget. No target: measured only."""

    precision: str  # "f8" or "f16"
    batch: int
    budget: str
    target_cycles: int | None
    reference_cycles: int | None  # on hardware; None: rejected, or not measured
    may_be_refuted: bool = False

    @property
    def name(self) -> str:
        prefix = "" if self.precision == "f8" else f"{self.precision}-"
        return f"{prefix}b{self.batch}:{self.budget}"

    @property
    def program(self) -> str:
        """The file's name under `examples/`."""
        return f"siglip_mlp_{self.precision}_b{self.batch}.mlir"


@dataclass(frozen=True)
class Probe:
    """A run of the planner alone: a budget to refute, or the whole curve."""

    kind: str  # "refutation" or "curve"
    batch: int
    budget: str
    target_seconds: float

    @property
    def name(self) -> str:
        shown = self.budget if self.kind == "refutation" else "curve"
        return f"b{self.batch}:{shown}"

    @property
    def program(self) -> str:
        return f"siglip_mlp_f8_b{self.batch}.mlir"


BATCHES = (1, 2, 4)

# budget: targets, reference on hardware
F8 = {
    "default": ((112_000, 195_000, 340_000), (222_180, 333_738, 608_454)),
    "384KiB": ((112_000, 195_000, 340_000), (222_180, 333_738, 571_104)),
    "256KiB": ((112_000, 195_000, 350_000), (200_520, 333_738, 820_914)),
    "128KiB": ((118_000, 215_000, 395_000), (None, None, None)),
    "64KiB": ((230_000, 480_000, 1_250_000), (None, None, None)),
}
F16 = ((182_000, None, None), (246_186, None, None))

CELLS = (
    *(
        Cell("f8", batch, budget, target, reference, budget == "64KiB")
        for budget, (targets, references) in F8.items()
        for batch, target, reference in zip(BATCHES, targets, references, strict=True)
    ),
    *(
        Cell("f16", batch, "default", target, reference)
        for batch, target, reference in zip(BATCHES, *F16, strict=True)
    ),
)

PROBES = (
    *(Probe("refutation", batch, "52KiB", REFUTE_SECONDS) for batch in BATCHES),
    *(Probe("curve", batch, "default", CURVE_SECONDS) for batch in BATCHES),
)


class UnknownCell(ValueError):
    """A name that no cell has."""


def chosen(names: str) -> tuple[list[Cell], list[Probe]]:
    """The cells and probes of a list like `b1:256KiB,f16-b1:default`; all for ""."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    known = [item.name for item in (*CELLS, *PROBES)]
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UnknownCell(f"no cell is called '{name}'{hint}")
    every = not wanted
    return (
        [cell for cell in CELLS if every or cell.name in wanted],
        [probe for probe in PROBES if every or probe.name in wanted],
    )
