"""tiledialect: a compiler for machines made of many tiles with private SRAM.

The functions here are those of `tiledialect.scripting`, loaded on first use: a command
that only tells its version imports nothing else. `docs/scripting.md` shows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiledialect.diagnostics import (
        Infeasible,
        Refused,
        Stopped,
        TileError,
        Usage,
    )
    from tiledialect.runtime.package import Package
    from tiledialect.scripting import (
        Plan,
        PlanStep,
        compile,
        package,
        parse,
        parse_text,
        plan,
        read_package,
        run,
        run_passes,
        show,
        write_package,
    )

__version__ = "0.1.0"

__all__ = [
    "Infeasible",
    "Package",
    "Plan",
    "PlanStep",
    "Refused",
    "Stopped",
    "TileError",
    "Usage",
    "__version__",
    "compile",
    "package",
    "parse",
    "parse_text",
    "plan",
    "read_package",
    "run",
    "run_passes",
    "show",
    "write_package",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from tiledialect import scripting

    value = getattr(scripting, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
