"""The one door to numba: compiled inner loops, kept in a cache on disk.

Only modules that hold such loops import this one, and only when they are needed.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")

Decorator = Callable[[Callable[P, R]], Callable[P, R]]


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The function compiled at its first call, for the types of that call."""
    decorate = numba.njit(  # pyright: ignore[reportCallIssue, reportUnknownVariableType]
        cache=True, error_model="numpy", no_cfunc_wrapper=True
    )
    return cast(Decorator[P, R], decorate)(function)


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """The same for one that only compiled functions call, which is quicker to make."""
    decorate = numba.njit(  # pyright: ignore[reportCallIssue, reportUnknownVariableType]
        cache=True,
        error_model="numpy",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=True,
    )
    return cast(Decorator[P, R], decorate)(function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """The same for one that is called at few places: a copy is compiled at each, once
    for all, where `inner` has callers optimise again what they call."""
    decorate = numba.njit(  # pyright: ignore[reportCallIssue, reportUnknownVariableType]
        cache=True,
        error_model="numpy",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=True,
        inline="always",
    )
    return cast(Decorator[P, R], decorate)(function)
