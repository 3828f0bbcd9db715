"""Places in a text: from positions to `file:line:col`."""

from __future__ import annotations

import bisect
import re

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

_NEWLINE = re.compile("\n")


class Lines:
    """The lines of one text. `first_line` is the number of its first line in the file.

    A text may be a chunk of a file; lines and columns always count in the whole file.
    """

    def __init__(self, text: str, file_name: str, first_line: int = 1) -> None:
        self._starts = [0, *(match.end() for match in _NEWLINE.finditer(text))]
        self._file_name = file_name
        self._file = StringAttr(file_name)
        self._first_line = first_line

    def place(self, position: int) -> tuple[int, int]:
        """Line and column of a position, both from 1."""
        index = bisect.bisect_right(self._starts, position) - 1
        return self._first_line + index, position - self._starts[index] + 1

    def text(self, position: int) -> str:
        """`file:line:col` of a position."""
        line, column = self.place(position)
        return f"{self._file_name}:{line}:{column}"

    def location(self, position: int) -> FileLineColLoc:
        """The location attribute of a position."""
        line, column = self.place(position)
        return FileLineColLoc(self._file, IntAttr(line), IntAttr(column))
