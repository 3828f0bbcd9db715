"""Files that are there whole or not at all.

The bytes go to a temporary name in the same folder and are then renamed, so neither an
error nor an interrupt leaves half a file, and an older file stays until the new one is
complete.
"""

from __future__ import annotations

import contextlib
import os


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Put `content` at `path`. Raises OSError and leaves nothing new behind."""
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        _write_in_place(target, content)
        return
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as stream:
            stream.write(content)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _write_in_place(target: str, content: bytes) -> None:
    """Write to a device or a pipe, which cannot be renamed onto."""
    with open(target, "wb") as stream:
        stream.write(content)
