"""Sizes in bytes as people write them: `262144`, `256KiB`, `1MiB`, `2GiB`.

The words `default` and `max` are no sizes: the passes that take a budget resolve them
with the machine.
"""

from __future__ import annotations

import re

UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
LARGEST = (1 << 63) - 1

BUDGET_WORDS = ("default", "max")
"""What a budget may be besides a size; the machine says how many bytes that is."""

AUTO = "auto"
"""The budget that the search chooses by itself."""

_SIZE = re.compile(r"([0-9]{1,18})(KiB|MiB|GiB)?")


class SizeError(ValueError):
    """A text that is no size. Its message quotes the text and says what one is."""


def parse_size(text: int | str) -> int:
    """The bytes that `text` means. Raises SizeError for anything else."""
    if isinstance(text, bool):
        raise _not_a_size(str(text))
    match = _SIZE.fullmatch(str(text))
    if match is None:
        raise _not_a_size(str(text))
    number_of_bytes = int(match[1]) * UNITS[match[2] or ""]
    if number_of_bytes > LARGEST:
        raise SizeError(f"size '{text}' is too large (at most {LARGEST} bytes)")
    return number_of_bytes


def _not_a_size(text: str) -> SizeError:
    return SizeError(
        f"'{text}' is not a size: write plain bytes, or whole KiB, MiB or GiB"
        " (powers of two), as in 262144 or 256KiB"
    )
