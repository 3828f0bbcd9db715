"""What passes know of an operation: three kinds, one interface each.

A pass asks for the interface and never for the name of an operation, so a new
operation is one class here and its codelet. *Structured* operations compute over an
iteration domain, *views* only say where an element comes from, *whole-axis*
operations need named axes whole on one tile. A *constant* brings its own bytes.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

from xdsl.ir import Attribute

IndexingMap = tuple[int | None, ...]
"""Entry a is the domain dimension that axis a runs over. None: the axis has extent 1
and one index serves the whole domain (broadcast operand, kept reduced axis)."""


@dataclass(frozen=True)
class Dimension:
    """One extent of an iteration domain; parallel unless it is reduced over."""

    name: str
    extent: int
    reduced: bool = False


class Structured(abc.ABC):
    """A computation: one scalar function at every point of an iteration domain."""

    @abc.abstractmethod
    def iteration_domain(self) -> tuple[Dimension, ...]:
        """The dimensions, result axes first, reduced ones last where order is free."""

    @abc.abstractmethod
    def indexing_maps(self) -> tuple[IndexingMap, ...]:
        """One map an operand, then one a result."""

    @property
    @abc.abstractmethod
    def codelet_family(self) -> str:
        """`matmul`, `map` or `reduce`."""

    @property
    @abc.abstractmethod
    def scalar_function(self) -> str:
        """A name of `tiledialect.scalar_functions`."""

    @abc.abstractmethod
    def accumulation_type(self) -> Attribute:
        """The least precise type in which sums (or a map's values) may be kept."""


class View(abc.ABC):
    """No arithmetic: each element of the result is one element of the operand."""

    @abc.abstractmethod
    def permutation(self) -> tuple[int, ...] | None:
        """Result axis i is operand axis p[i]; None keeps the row-major order."""


class WholeAxis(abc.ABC):
    """A codelet that needs some axes of its operand whole on one tile."""

    @abc.abstractmethod
    def whole_axes(self) -> tuple[int, ...]:
        """Axes of the first operand that must not be cut."""


class Constant(abc.ABC):
    """A value that the program brings along."""

    @property
    @abc.abstractmethod
    def is_splat(self) -> bool:
        """Whether every element is the same; such a value is never expanded."""

    @abc.abstractmethod
    def element_bytes(self) -> bytes:
        """Stored elements, row-major and little-endian; one element for a splat."""
