"""Where the parts of a JSON text stand in it, for messages."""

from __future__ import annotations

import json
import re

Keys = tuple[str | int, ...]

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class Places:
    """Where each key and item of a valid JSON text begins; `twice`: the keys that lead
    to the second one of a name in its object, if there is one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.twice: Keys | None = None
        self._at: dict[Keys, int] = {}
        self._first = self._skip(0)
        self._value((), self._first)

    def of(self, keys: Keys) -> str:
        """`line:column` of the innermost of these keys that is there."""
        while keys and keys not in self._at:
            keys = keys[:-1]
        at = self._at.get(keys, self._first)
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        return f"{line}:{column}"

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return at if match is None else match.end()

    def _value(self, keys: Keys, at: int) -> int:
        """Note what is inside the value at a place; where it ends."""
        start = self.text[at]
        if start not in "{[":
            return _DECODER.raw_decode(self.text, at)[1]
        at, number = self._skip(at + 1), 0
        while self.text[at] not in "}]":
            key: str | int = number
            place = at
            if start == "{":
                key, at = _DECODER.raw_decode(self.text, at)
                at = self._skip(self._skip(at) + 1)
            inner = (*keys, key)
            if inner in self._at:
                self.twice = self.twice or inner
            self._at[inner] = place
            at = self._skip(self._value(inner, at))
            if self.text[at] == ",":
                at = self._skip(at + 1)
            number += 1
        return at + 1
