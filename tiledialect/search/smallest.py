"""The smallest budget that works, proven whatever the number of candidates."""

from __future__ import annotations

import numpy as np

from tiledialect.search.pools import Pool
from tiledialect.search.problem import Problem
from tiledialect.search.solve import Plan, plan_of
from tiledialect.search.stairs import Stairs
from tiledialect.search.walks import whole_walk


def least_plan(
    problem: Problem, pools: tuple[Pool, ...], most_bytes: int
) -> Plan | None:
    """The plan of the least footprint; None where none has at most so many bytes."""
    none = np.zeros(0, dtype=np.int64)
    light = tuple(pool.best(timed=False) for pool in pools)
    some, layers = whole_walk(
        problem, light, Stairs(most_bytes, none, none), timed=False
    )
    return plan_of(problem, some, layers, 0) if len(layers[-1]) else None
