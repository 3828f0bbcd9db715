"""omnimalloc's supermalloc, the peer that placement is measured against.

It is a test-only extra and untyped here: where it is not installed, there is no peer.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingImports=false, reportUnknownArgumentType=false

import importlib.metadata

from tiledialect.placement.problem import Problem

PEER_BOXES = 2000
"""Above this its set-up alone takes longer than the comparison is worth."""


def peer_version() -> str | None:
    """The version that is installed, or None."""
    try:
        return importlib.metadata.version("omnimalloc")
    except importlib.metadata.PackageNotFoundError:
        return None


def peer_peak(problem: Problem, seconds: float) -> int | None:
    """The peak that it reaches in these seconds; None where it is not installed."""
    try:
        from omnimalloc import Allocation
        from omnimalloc.allocators.supermalloc import SupermallocAllocator
    except ImportError:
        return None
    allocations = tuple(
        Allocation(id=name, size=int(size), start=life[0][0], end=life[-1][1])
        for name, size, life in zip(
            problem.names, problem.bytes, problem.lifetimes, strict=True
        )
    )
    return int(SupermallocAllocator(timeout=seconds).solve(allocations).peak)
