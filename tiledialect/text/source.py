"""The text of an input file, and its chunks."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from tiledialect.diagnostics import ParseFailed, Refused

STDIN = "<stdin>"
BYTE_ORDER_MARK = "\ufeff"

_SEPARATOR = re.compile(r"^[ \t]*// -----[^\n]*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Chunk:
    """A part of a file that is a module of its own; its first line in the file."""

    text: str
    first_line: int


def read_text(path: str) -> str:
    """The text of a file, or of stdin for `-`, without a byte order mark."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as stream:
                data = stream.read()
    except OSError as error:
        raise Refused(f"cannot read '{path}': {error.strerror}") from error
    try:
        return data.decode("utf-8").removeprefix(BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        message = f"not UTF-8 text: byte 0x{data[error.start]:02X}"
        raise ParseFailed(message, f"{shown_name(path)}:{line}:{column}") from error


def shown_name(path: str) -> str:
    """The name of an input in messages and locations."""
    return STDIN if path == "-" else path


def split_chunks(text: str) -> list[Chunk]:
    """The parts of a text between lines that start with `// -----`."""
    chunks: list[Chunk] = []
    start = 0
    first_line = 1
    for match in _SEPARATOR.finditer(text):
        chunks.append(Chunk(text[start : match.start()], first_line))
        first_line += text.count("\n", start, match.end())
        start = match.end()
    return [*chunks, Chunk(text[start:], first_line)]
