"""Reading JSON from a stranger: each field by name, of a kind, within limits."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from tiledialect.diagnostics import Refused
from tiledialect.layout_json import Json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tiledialect.runtime.archive import Archive

LARGEST = (1 << 53) - 1
MAX_JSON_BYTES = 1 << 28


class Fields:
    """An object of the manifest. `where` is its place there, for errors."""

    def __init__(self, archive: Archive, value: Json, where: str) -> None:
        self.archive = archive
        self.where = where
        if not isinstance(value, dict):
            raise self.error("must be an object")
        self._left = dict(value)

    def error(self, problem: str, key: str | None = None) -> Refused:
        """The error about this object, or about a field of it."""
        place = self.where if key is None else _join(self.where, key)
        return Refused(f"{place or 'the manifest'} {problem}", self.archive.path)

    def take(self, key: str) -> Json:
        """The field as it stands."""
        if key not in self._left:
            raise self.error(f"lacks the field {key!r}")
        return self._left.pop(key)

    def close(self) -> None:
        """Refuse fields that nobody asked for."""
        if self._left:
            raise self.error(f"has an unknown field {min(self._left)!r}")

    def text(self, key: str, among: tuple[str, ...] | None = None) -> str:
        value = self.take(key)
        if not isinstance(value, str):
            raise self.error("must be a text", key)
        if among is not None and value not in among:
            raise self.error(f"is {value!r}, not one of {', '.join(among)}", key)
        return value

    def number(self, key: str, least: int = 0, most: int = LARGEST) -> int:
        return self._number(self.take(key), key, least, most)

    def optional_number(self, key: str) -> int | None:
        value = self.take(key)
        return None if value is None else self._number(value, key, 0, LARGEST)

    def items(self, key: str) -> list[Json]:
        """The items of a list."""
        value = self.take(key)
        if not isinstance(value, list):
            raise self.error("must be a list", key)
        return value

    def numbers(self, key: str, least: int = 0, most: int = LARGEST) -> list[int]:
        """A list of whole numbers."""
        return [self._number(item, key, least, most) for item in self.items(key)]

    def pairs(self, key: str, least: int = 0) -> list[tuple[int, int]]:
        """A list of pairs of whole numbers."""
        return [self.pair(item, key, least) for item in self.items(key)]

    def pair(self, item: Json, key: str, least: int = 0) -> tuple[int, int]:
        """A field's item as a pair of whole numbers."""
        if not isinstance(item, list) or len(item) != 2:
            raise self.error("must hold pairs of whole numbers", key)
        first = self._number(item[0], key, least, LARGEST)
        return first, self._number(item[1], key, least, LARGEST)

    def objects(self, key: str) -> list[Fields]:
        """A list of objects."""
        return [
            Fields(self.archive, item, _join(self.where, f"{key}[{i}]"))
            for i, item in enumerate(self.items(key))
        ]

    def inside(self, key: str) -> Fields:
        """An object inside this one."""
        return Fields(self.archive, self.take(key), _join(self.where, key))

    def table(self, key: str, dtype: str) -> NDArray[np.int64]:
        """The numbers of a binary member, widened."""
        import numpy as np

        data = self.member(key, dtype)
        return np.frombuffer(data, dtype=np.dtype(dtype)).astype(np.int64)

    def member(self, key: str, dtype: str) -> bytes:
        """The bytes of a binary member, its size and hash checked."""
        entry = self.inside(key)
        name = entry.text("member")
        entry.text("dtype", (dtype,))
        shape = entry.numbers("shape")
        digest = entry.text("sha256")
        entry.close()
        size = self.archive.sizes.get(name)
        item_bytes = int(dtype[2:])
        if size is None or len(shape) != 1 or shape[0] * item_bytes != size:
            raise entry.error(
                f"says {shape} elements of {item_bytes} bytes,"
                f" the archive's member {name!r} holds {size} bytes"
            )
        data = self.archive.take(name)
        if hashlib.sha256(data).hexdigest() != digest:
            raise entry.error(f"does not have the hash of member {name!r}")
        return data

    def _number(self, value: Json, key: str, least: int, most: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error("must be a whole number", key)
        if not least <= value <= most:
            raise self.error(f"is {value}, not from {least} to {most}", key)
        return value


def parse_json(data: bytes, path: str) -> Json:
    """The value of a JSON text. Refuses repeated names and numbers like NaN."""
    if len(data) > MAX_JSON_BYTES:
        raise Refused(f"manifest of {len(data)} bytes, limit {MAX_JSON_BYTES}", path)
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_int=_int,
        )
    except (ValueError, RecursionError) as error:
        raise Refused(f"manifest is no valid JSON: {error}", path) from error


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("an object names a field twice")
    return made


def _no_constant(text: str) -> Json:
    raise ValueError(f"{text} is no number of JSON")


def _int(text: str) -> int:
    if len(text) > 20:
        raise ValueError("a number of more than 20 digits")
    return int(text)


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
