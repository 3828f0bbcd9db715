"""The container of a package: a zip file that is sealed, and read with suspicion.

Written with sorted members and fixed times, so equal content gives equal bytes. The
zip's comment is the SHA-256 of all bytes before it: any change or cut of the file shows
before anything in it is looked at. That finds damage, not malice, so all sizes are also
checked before anything is unpacked.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import struct
import zipfile
import zlib

from tiledialect.diagnostics import Refused

MAX_FILE_BYTES = 1 << 29
MAX_TOTAL_BYTES = 1 << 30  # unpacked
MAX_MEMBERS = 20_000
FIXED_TIME = (1980, 1, 1, 0, 0, 0)

_END = struct.Struct("<4sHHHHIIH")  # end of central directory; its comment follows
_SEAL_BYTES = 64  # hexadecimal SHA-256


def pack(members: dict[str, bytes]) -> bytes:
    """The bytes of an archive of these members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, FIXED_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, members[name], compresslevel=6)
        archive.comment = b"0" * _SEAL_BYTES
    body = stream.getvalue()[:-_SEAL_BYTES]
    return body + _seal(body)


def read_file(path: str) -> bytes:
    """The bytes of the file at `path`; refuses what is too large to be a package."""
    try:
        with open(path, "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Refused("is not a regular file", path)
            if status.st_size > MAX_FILE_BYTES:
                raise Refused(
                    f"holds {status.st_size} bytes, a package at most {MAX_FILE_BYTES}",
                    path,
                )
            return stream.read(MAX_FILE_BYTES)
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}", path) from error


class Archive:
    """An opened archive: the sizes of its members, and their bytes on demand."""

    def __init__(self, data: bytes, path: str) -> None:
        self.path = path
        _check_end(data, path)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, struct.error, OverflowError) as error:
            raise Refused(f"is no package: {error}", path) from error
        entries = self._zip.infolist()
        self.sizes = {entry.filename: entry.file_size for entry in entries}
        if len(self.sizes) != len(entries):
            raise Refused("has two members of one name", path)
        self._left = set(self.sizes)
        total = sum(self.sizes.values())
        if total > MAX_TOTAL_BYTES:
            raise Refused(f"unpacks to {total} bytes, limit {MAX_TOTAL_BYTES}", path)

    def close(self) -> None:
        """Refuse members that nobody took."""
        if self._left:
            raise Refused(f"has an extra member {min(self._left)!r}", self.path)

    def take(self, name: str) -> bytes:
        """The bytes of a member, once, never more than the directory announced."""
        if name not in self._left:
            word = "uses twice" if name in self.sizes else "lacks"
            raise Refused(f"{word} the member {name!r}", self.path)
        self._left.remove(name)
        size = self.sizes[name]
        try:
            with self._zip.open(name) as stream:
                data = stream.read(size + 1)
        except (
            zipfile.BadZipFile,
            zlib.error,
            OSError,
            EOFError,
            ValueError,
            RuntimeError,
            NotImplementedError,
            struct.error,
        ) as error:
            raise Refused(f"member {name!r} is damaged: {error}", self.path) from error
        if len(data) != size:
            raise Refused(
                f"member {name!r} holds {len(data)} bytes, the directory says {size}",
                self.path,
            )
        return data


def _seal(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _check_end(data: bytes, path: str) -> None:
    """Refuse a file whose end is not that of a sealed archive."""
    at = len(data) - _SEAL_BYTES - _END.size
    if at < 0 or data[at : at + 4] != b"PK\x05\x06":
        raise Refused("is no package, or is cut short", path)
    _, disk, start, here, entries, _, _, comment = _END.unpack_from(data, at)
    if (disk, start, comment) != (0, 0, _SEAL_BYTES) or here != entries:
        raise Refused("is no package: its end is malformed", path)
    if data[max(0, at - 20) : at].startswith(b"PK\x06\x07"):
        raise Refused("is no package: it claims to be a 64-bit zip", path)
    if entries > MAX_MEMBERS:
        raise Refused(f"has {entries} members, a package at most {MAX_MEMBERS}", path)
    body = data[:-_SEAL_BYTES]
    if _seal(body) != data[-_SEAL_BYTES:]:
        raise Refused("was altered: its bytes do not match its seal", path)
