"""The one door to numba here: loops compiled for given types, kept in a cache on disk.

What they are compiled without halves the time that it takes: a way in from Python for
those that only compiled functions call, one for C, checks of divisors, and counts of
references, so that they can make no arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def outer(signature: object) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """For a function that Python calls; it is compiled when its module is loaded."""
    return cast(Callable[[Callable[P, R]], Callable[P, R]], _njit(signature, False))


def inner(signature: object) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The same for one that only compiled functions call."""
    return cast(Callable[[Callable[P, R]], Callable[P, R]], _njit(signature, True))


def _njit(signature: object, alone: bool) -> object:
    return numba.njit(  # pyright: ignore[reportCallIssue, reportUnknownVariableType]
        signature,  # pyright: ignore[reportArgumentType]
        cache=True,
        error_model="numpy",
        no_cfunc_wrapper=True,
        no_cpython_wrapper=alone,
        _nrt=False,
    )
