"""The one door to numba: compiled inner loops, kept in a cache on disk.

Only modules that hold such loops import this one, and only when they are needed.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit  # pyright: ignore[reportUnknownVariableType]

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The function compiled at its first call, for the types of that call."""
    return cast(Callable[P, R], njit(cache=True, error_model="numpy")(function))
