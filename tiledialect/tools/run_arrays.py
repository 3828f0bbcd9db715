"""Array files (.npz): read with suspicion, written whole.

8-bit floats and bf16 have no numpy dtype of their own: they are stored as unsigned
elements of their bits, as `formats.stored_array` takes them.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from tiledialect.atomic import write_atomically
from tiledialect.diagnostics import Refused
from tiledialect.formats import format_named, stored_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.runtime.package import Bind

    Stored = NDArray[Any]

MAX_MEMBERS = 4096
MAX_HEADER_BYTES = 4096


def read_arrays(path: str, binds: list[Bind]) -> dict[str, Stored]:
    """An array for each bind, as stored elements. Raises Refused for a file that holds
    anything else; nothing is unpacked before its shape, type and size are right."""
    wanted = {bind.name: bind for bind in binds}
    try:
        with zipfile.ZipFile(path) as archive:
            names = _names(archive, path)
            for name in names:
                if name not in wanted:
                    raise Refused(
                        f"holds the array '{name}', which the program does not take",
                        path,
                    )
            for name in wanted:
                if name not in names:
                    raise Refused(f"lacks the array '{name}'", path)
            return {
                name: _read(archive, names[name], _Wanted(path, wanted[name]))
                for name in wanted
            }
    except Refused:
        raise
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror or error}", path) from error
    except Exception as error:  # zipfile raises seven kinds for damaged files
        raise Refused(f"is no .npz file: {error}", path) from error


def _names(archive: zipfile.ZipFile, path: str) -> dict[str, zipfile.ZipInfo]:
    entries = archive.infolist()
    if len(entries) > MAX_MEMBERS:
        raise Refused(f"holds {len(entries)} arrays, limit {MAX_MEMBERS}", path)
    names = {entry.filename.removesuffix(".npy"): entry for entry in entries}
    if len(names) != len(entries):
        raise Refused("holds two arrays of one name", path)
    return names


@dataclass(frozen=True)
class _Wanted:
    """The array that a bind takes, in the file at `path`."""

    path: str
    bind: Bind

    def refuse(self, problem: str) -> Refused:
        return Refused(f"array '{self.bind.name}' {problem}", self.path)

    def check(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """Refuse another shape or type."""
        bind = self.bind
        if shape != bind.shape:
            raise self.refuse(f"has shape {list(shape)}, not {list(bind.shape)}")
        if dtype.hasobject:
            raise self.refuse("holds Python objects")
        try:
            stored_array(np.empty(0, dtype), format_named(bind.element))
        except ValueError as error:
            raise self.refuse(f"is of another type: {error}") from error


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, wanted: _Wanted) -> Stored:
    try:
        with archive.open(entry) as stream:
            shape, fortran, dtype = _header(stream)
            wanted.check(shape, dtype)
            size = prod(shape) * dtype.itemsize
            rest = entry.file_size - stream.tell()
            if rest != size:
                raise wanted.refuse(f"has {rest} bytes of data, its shape needs {size}")
            data = stream.read(size)
            if len(data) != size or stream.read(1):
                raise wanted.refuse("is cut short")
    except Refused:
        raise
    except Exception as error:  # zipfile, zlib and numpy's parser of headers
        raise wanted.refuse(f"is damaged: {error}") from error
    array = np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
    stored = np.ascontiguousarray(array).reshape(shape)
    return stored_array(stored, format_named(wanted.bind.element))


def _header(stream: BinaryIO | Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and dtype of an .npy stream, whose header has a limit."""
    version = npy.read_magic(stream)
    if version == (1, 0):
        return npy.read_array_header_1_0(stream, MAX_HEADER_BYTES)
    if version == (2, 0):
        return npy.read_array_header_2_0(stream, MAX_HEADER_BYTES)
    raise ValueError(f"version {version} of the array format is unknown")


def write_arrays(path: str, arrays: Mapping[str, Stored]) -> None:
    """Write arrays by name; the file is there whole or not at all."""
    plain = {name: _plain(array) for name, array in arrays.items()}
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **plain)
    write_file(path, stream.getvalue())


def _plain(stored: Stored) -> Stored:
    """Elements of a dtype that numpy can write by itself."""
    if stored.dtype.isbuiltin == 1:
        return stored
    return stored.view(np.dtype(f"u{stored.dtype.itemsize}"))


def write_file(path: str, content: bytes) -> None:
    """Write a file whole; an error of the system names it."""
    try:
        write_atomically(path, content)
    except OSError as error:
        raise Refused(f"cannot be written: {error.strerror}", path) from error
