"""What made a result: versions of all that computes, and the compiler's own source."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tiledialect import __version__

LIBRARIES = ("xdsl", "numpy", "ml_dtypes", "numba", "llvmlite")
SOURCE = Path(__file__).parents[1]
SOURCE_SUFFIXES = (".py", ".toml")


@cache
def versions() -> dict[str, str]:
    """Versions of the compiler, of Python and of the libraries that compute."""
    found = {"tiledialect": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return {**found, "system": f"{platform.system()} {platform.machine()}"}


@cache
def compiler_sha256() -> str:
    """One hash over every source file of the compiler and its machines, by name."""
    total = hashlib.sha256()
    files = [path for path in SOURCE.rglob("*") if path.suffix in SOURCE_SUFFIXES]
    for path in sorted(files, key=lambda p: p.relative_to(SOURCE).as_posix()):
        name = path.relative_to(SOURCE).as_posix()
        total.update(f"{sha256(path.read_bytes())}  {name}\n".encode())
    return total.hexdigest()


def sha256(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
