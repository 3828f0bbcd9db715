"""The results of a run beside those of the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tiledialect.diagnostics import Refused
from tiledialect.formats import FORMATS, decode
from tiledialect.tools.run_tolerance import allowed_error

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from xdsl.dialects.builtin import ModuleOp

    from tiledialect.runtime.package import Bind, Package

    Stored = NDArray[Any]


@dataclass(frozen=True)
class OutputError:
    """How far one output lies from the reference, and how far it may lie.

    Both errors are infinite where one of both is not finite and the other differs.
    """

    name: str
    max_abs_error: float
    rms_error: float
    rms: float
    allowed: float

    @property
    def passed(self) -> bool:
        return self.max_abs_error <= self.allowed

    @property
    def over_rms(self) -> float:
        if self.max_abs_error == 0:
            return 0.0
        return self.max_abs_error / self.rms if self.rms else np.inf


def parse_source(package: Package, path: str) -> ModuleOp:
    """The rung-1 module that a package was made from."""
    from xdsl.utils.exceptions import VerifyException

    from tiledialect.dialects.tile import entry_function
    from tiledialect.pipeline import make_context
    from tiledialect.text.parser import parse_module
    from tiledialect.text.verify import verify_module

    name = f"source in {path}"
    module = parse_module(make_context(), package.source, name)
    verify_module(module)
    try:
        entry_function(module)
    except VerifyException as error:
        raise Refused(str(error), name) from error
    return module


def default_arguments(module: ModuleOp, seed: int) -> dict[str, Stored]:
    """Seeded arrays for every argument of a program."""
    from tiledialect.reference import default_arguments

    return default_arguments(module, seed)


def reference_outputs(
    module: ModuleOp, arguments: Mapping[str, Stored]
) -> list[Stored]:
    """What the program gives in the reference."""
    from tiledialect.reference import run_reference

    try:
        return run_reference(module, arguments)
    except ValueError as error:
        raise Refused(f"the reference cannot run this program: {error}") from error


def compare(
    bind: Bind, made: Stored, expected: Stored, relative: float, bound: float | None
) -> OutputError:
    """One output beside the reference's; `bound` is what the user allows, otherwise
    `relative` is, over RMS."""
    format = FORMATS[bind.element]
    if made.shape != expected.shape or made.dtype != expected.dtype:
        raise Refused(
            f"output '{bind.name}' is {made.dtype}{list(made.shape)}, the reference's"
            f" {expected.dtype}{list(expected.shape)}"
        )
    ours = decode(made, format, bind.scale).astype(np.float64)
    theirs = decode(expected, format, bind.scale).astype(np.float64)
    finite = theirs[np.isfinite(theirs)]
    rms = float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0
    if bound is None:
        largest = float(np.max(np.abs(finite), initial=0.0))
        bound = allowed_error(relative, rms, largest)
        bound = 0.0 if format.is_integer else bound
    distance = _distance(ours, theirs)
    largest = float(np.max(distance, initial=0.0))
    rms_error = float(np.sqrt(np.mean(np.square(distance)))) if distance.size else 0.0
    return OutputError(bind.name, largest, rms_error, rms, bound)


def _distance(
    ours: NDArray[np.float64], theirs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far each element is off; infinitely where only one of both is finite."""
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):
        distance = np.where(same, 0.0, np.abs(ours - theirs))
    return np.nan_to_num(distance, nan=np.inf)
