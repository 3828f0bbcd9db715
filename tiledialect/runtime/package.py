"""The package: all that a machine needs to run a program, as plain data.

Addresses are byte offsets from the start of a tile's SRAM. `to_bytes` gives equal bytes
for equal content; `read` refuses whatever is not a whole, valid package with one
`Refused` that names the file. `docs/package.md` describes the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tiledialect.layout import Layout
from tiledialect.layout_json import Json
from tiledialect.tiles import TileSet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64]
    Words: TypeAlias = NDArray[np.uint32]

FORMAT = "tiledialect-package"
VERSION = 3

Axes: TypeAlias = tuple[tuple[tuple[int, int], ...], ...]
Parameters: TypeAlias = dict[str, Json]


@dataclass(frozen=True)
class View:
    """Where an operand's block lies on each tile of a call.

    axes: for each dim of the call its (count, stride in bytes) factors, outermost
    first; empty where the operand does not have the dim.
    """

    address: int
    format: str
    scale: int
    axes: Axes


@dataclass(frozen=True)
class Call:
    """One run of a structured codelet on every tile of a set."""

    family: str  # "matmul", "map", "reduce" or "sum"
    tiles: TileSet
    dims: tuple[str, ...]
    extents: tuple[int, ...]
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    parameters: Parameters


@dataclass(frozen=True)
class Moves:
    """Runs of bytes copied inside tiles (family "copy") or set to zero ("fill").

    All tables have one entry a run, a tile's runs stand in the order in which they are
    made; `source` is empty for a fill.
    """

    family: str
    tile: Ints
    source: Ints
    destination: Ints
    bytes: Ints


@dataclass(frozen=True)
class Rows:
    """The control words of a phase. `start` is CSR over programs into `words`."""

    tiles: Ints  # that take part, ascending
    send: Ints  # program number, or -1
    receive: Ints  # program number, or -1
    receive_start: Ints  # cycles
    start: Ints
    words: Words


@dataclass(frozen=True)
class ExchangeStep:
    """One exchange phase. `length` and `bound` (receive, send, control) are cycles."""

    name: str
    location: str
    length: int
    bound: tuple[int, int, int]
    messages: int
    estimate: int | None
    rows: Rows


@dataclass(frozen=True)
class ComputeStep:
    """One compute set. A tile makes its calls in this order."""

    name: str
    location: str
    estimate: int | None
    calls: tuple[Call | Moves, ...]


Step: TypeAlias = ExchangeStep | ComputeStep


@dataclass(frozen=True)
class Bind:
    """A tensor of the program and where it lies.

    data: a constant's elements, row-major, as bytes; empty otherwise.
    """

    kind: str  # "input", "parameter", "constant" or "output"
    index: int
    name: str
    element: str  # number format
    scale: int
    shape: tuple[int, ...]
    layout: Layout
    address: int
    bytes: int
    data: bytes = b""


@dataclass(frozen=True)
class Buffer:
    """Bytes set aside on some tiles during half-open ranges of steps."""

    name: str
    address: int
    bytes: int
    tiles: TileSet
    live: tuple[tuple[int, int], ...]
    region: str
    purpose: str
    location: str


@dataclass(frozen=True)
class Support:
    """Bytes at the bottom of every tile: rows first, then the rest; `bytes` is all."""

    code: int
    rows: int
    program: int
    profile: int
    bytes: int


@dataclass(frozen=True)
class Package:
    """A compiled program. `machine` holds the nested fields of its machine."""

    compiler: str
    source: str
    machine: dict[str, Json]
    budget: int
    reserve: int
    entry: str
    binds: tuple[Bind, ...]
    buffers: tuple[Buffer, ...]
    support: Support
    footprint: int
    live_peak: int
    estimated_cycles: int
    certificate: Json
    steps: tuple[Step, ...]

    @property
    def source_sha256(self) -> str:
        """The hash of what the package was made from."""
        import hashlib

        return hashlib.sha256(self.source.encode()).hexdigest()


def to_bytes(package: Package) -> bytes:
    """The package as a file's content."""
    from tiledialect.runtime.archive import pack
    from tiledialect.runtime.package_writer import members_of

    return pack(members_of(package))


def read(path: str) -> Package:
    """The package in the file at `path`."""
    from tiledialect.runtime.archive import read_file

    return from_bytes(read_file(path), path)


def from_bytes(data: bytes, path: str = "<package>") -> Package:
    """The package of these bytes; `path` stands in front of errors."""
    from tiledialect.runtime.archive import Archive
    from tiledialect.runtime.package_reader import package_of

    return package_of(Archive(data, path))
