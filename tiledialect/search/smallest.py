"""The smallest budget that works, proven whatever the number of candidates."""

from __future__ import annotations

import numpy as np

from tiledialect.search.labels import Labels
from tiledialect.search.pools import Pool
from tiledialect.search.problem import Problem
from tiledialect.search.stairs import Stairs
from tiledialect.search.walks import whole_walk


def least_bytes(
    problem: Problem, pools: tuple[Pool, ...], most: int | None = None
) -> tuple[tuple[Pool, ...], list[Labels]]:
    """Candidates of every stage, and labels of every stage over them, whose last one is
    the plan of the least footprint there is; no last one where none has at most `most`
    bytes, or else those of the machine."""
    none = np.zeros(0, dtype=np.int64)
    limit = problem.machine.max_bytes if most is None else most
    return whole_walk(problem, pools, Stairs(limit, none, none), timed=False)
