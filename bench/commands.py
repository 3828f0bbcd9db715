"""A command of ours as a process of its own: exit code, output, wall and CPU seconds.

A process a command: what one leaves in memory or in caches helps no other.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The folder that commands run in."""

STOPPED_CODE = -9
"""The exit code of a command that ran past its limit."""


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    output: str
    errors: str
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int

    @property
    def reason(self) -> str:
        """The last line of stderr that is an error, or the exit code."""
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        said = [line for line in lines if "error:" in line.lower()]
        if self.code == STOPPED_CODE:
            return "stopped: it ran past its limit of time"
        return (said or lines or [f"exit code {self.code}"])[-1]


def run_tool(tool: str, arguments: list[str], limit_seconds: float) -> Ended:
    """Run `tile-TOOL` at the top of the project; killed after the limit."""
    command = [sys.executable, "-m", f"tiledialect.tools.{tool}", *arguments]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begin = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=errors)
        killer = threading.Timer(limit_seconds, process.kill)
        killer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        finally:
            killer.cancel()
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        texts: list[str] = []
        for stream in (output, errors):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    cpu = usage.ru_utime + usage.ru_stime
    # Linux counts the largest resident set in KiB
    peak = usage.ru_maxrss * 1024
    return Ended(process.returncode, texts[0], texts[1], wall, cpu, peak)


def pass_seconds(errors: str) -> dict[str, float]:
    """Wall seconds of each pass, from what `--time-passes` printed; without the sum."""
    seconds: dict[str, float] = {}
    for line in errors.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] == "s" and words[2] != "total":
            seconds[words[2]] = seconds.get(words[2], 0.0) + float(words[0])
    return seconds
