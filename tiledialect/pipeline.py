"""The compiler as one list of passes, and the dialects it reads.

Everything here is data. A module is imported when its pass, target or dialect is first
used, so that starting a command costs nothing for what it does not run.

No pass here uses xDSL's greedy pattern rewriter: by default it erases every operation
without uses and without side effects, whatever the pattern was for. xDSL's own passes
are not registered for the same reason.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass

BUDGET_PASS = "search-plan"
"""The pass that takes the budget of `--plan-budget` as its option `budget`."""

SELECT_PASS = "select-plan"
"""The pass that takes the count of `--rerank` as its option `rerank`."""

KEPT_PLANS = 4
"""Plans that the search keeps for it at least."""


@dataclass(frozen=True)
class Entry:
    """A class to load on use: `name` is what users write."""

    name: str
    module: str
    class_name: str
    purpose: str

    def load(self) -> Any:
        """The class. Raises ImportError where its module is not there."""
        return getattr(importlib.import_module(self.module), self.class_name)


@dataclass(frozen=True)
class PassEntry(Entry):
    """A pass of the ladder, with the rung it reads and the rung it writes."""

    rung_in: int
    rung_out: int

    def load(self) -> type[ModulePass]:
        return super().load()


class BinaryTarget(Protocol):
    """A target that writes bytes: a frozen dataclass over xDSL's ArgSpecConvertible
    (xDSL's own Target writes text)."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[bytes]) -> None: ...


PASSES = (
    PassEntry(
        "expand-candidates",
        "tiledialect.passes.expand_candidates",
        "ExpandCandidatesPass",
        "every way to run each operation",
        1,
        2,
    ),
    PassEntry(
        "search-plan",
        "tiledialect.passes.search_plan",
        "SearchPlanPass",
        "the best plans within the budget, by estimate",
        2,
        3,
    ),
    PassEntry(
        "select-plan",
        "tiledialect.select_plan",
        "SelectPlanPass",
        "the fastest of the best plans, lowered and timed",
        3,
        3,
    ),
    PassEntry(
        "lower-plan",
        "tiledialect.passes.lower_plan",
        "LowerPlanPass",
        "the plan as exchange phases and compute sets",
        3,
        4,
    ),
    PassEntry(
        "schedule-exchange",
        "tiledialect.passes.schedule_exchange",
        "ScheduleExchangePass",
        "who sends what to whom at which cycle",
        4,
        5,
    ),
    PassEntry(
        "check-exchange",
        "tiledialect.checkers.check_exchange",
        "CheckExchangePass",
        "proof that every phase delivers what it should",
        5,
        5,
    ),
    PassEntry(
        "place-memory",
        "tiledialect.passes.place_memory",
        "PlaceMemoryPass",
        "an address for every buffer",
        5,
        6,
    ),
    PassEntry(
        "check-memory",
        "tiledialect.checkers.check_memory",
        "CheckMemoryPass",
        "proof that no two live buffers share a byte",
        6,
        6,
    ),
)
"""The whole ladder, in order."""

TARGETS = (
    Entry(
        "package",
        "tiledialect.backend.emit_package",
        "PackageTarget",
        "the file that tile-run simulates",
    ),
)
"""What `-t` can name besides `mlir`, which is the text of the module."""

DIALECTS = (
    Entry("builtin", "xdsl.dialects.builtin", "Builtin", "modules, types, attributes"),
    Entry("func", "xdsl.dialects.func", "Func", "functions"),
    Entry("tile", "tiledialect.dialects.tile", "Tile", "rung 1: tensors"),
    Entry("plan", "tiledialect.dialects.plan", "Plan", "rungs 2 and 3: plans"),
    Entry("exchange", "tiledialect.dialects.exchange", "Exchange", "phases, rows"),
    Entry("memory", "tiledialect.dialects.memory", "Memory", "buffers of tiles"),
    Entry("codelet", "tiledialect.dialects.codelet", "Codelet", "what tiles run"),
)


def make_context(*, allow_unregistered: bool = False) -> Context:
    """A context that knows every dialect by name and loads it when it is used."""
    from xdsl.context import Context

    context = Context(allow_unregistered=allow_unregistered)
    for entry in DIALECTS:
        context.register_dialect(entry.name, _factory(entry))
    return context


def _factory(entry: Entry) -> Callable[[], Dialect]:
    return entry.load


def passes_from(rung: int) -> tuple[PassEntry, ...]:
    """The passes that a module at `rung` has still to go through."""
    start = next((i for i, p in enumerate(PASSES) if p.rung_in == rung), len(PASSES))
    return PASSES[start:]
