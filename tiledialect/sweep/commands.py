"""Commands of ours, each as a process of its own that a limit or a stop can end.

Python code in the middle of a build cannot be ended from outside; a process can be,
at any moment, and nothing that it left in memory reaches the next case.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

CHILD = "tiledialect.sweep.child"
MODULES = {"tile-opt": "tiledialect.tools.opt", "tile-run": "tiledialect.tools.run"}
PACKAGE_ROOT = Path(__file__).parents[2]

TIME_LINE = re.compile(r" *(\d+\.\d{3}) s  (\S+)")
"""What `--time-passes` prints of a pass."""


class Interrupted(Exception):
    """The sweep is to end: nothing that this command did counts."""


@dataclass(frozen=True)
class Ended:
    """A command that has ended. A negative code is the signal that ended it."""

    words: tuple[str, ...]
    code: int
    output: str  # stdout and stderr as they came, without the lines of times
    pass_seconds: dict[str, float]
    wall_seconds: float
    cpu_seconds: float
    peak_memory_bytes: int
    timed_out: bool

    @property
    def error(self) -> str:
        """The last line that is an error, else the last line, else the exit code."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        said = [line for line in lines if "error:" in line]
        if self.code < 0 and not said:
            return f"ended by signal {-self.code}"
        return (said or lines or [f"exit code {self.code}"])[-1]


class Processes:
    """The processes that run now; `stop` ends them all and lets none begin."""

    def __init__(self) -> None:
        self._running: set[int] = set()  # pids that nobody has waited for yet
        self._lock = threading.Lock()
        self._stopped = False

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for pid in self._running:
                os.kill(pid, signal.SIGKILL)

    def run(self, words: tuple[str, ...], folder: Path, limit_seconds: float) -> Ended:
        """Run a command in a folder. Raises Interrupted when all are stopped."""
        with tempfile.TemporaryFile() as output:
            begin = time.perf_counter()
            pid = self._start(words, folder, output.fileno())
            timed_out = threading.Event()
            timer = threading.Timer(limit_seconds, self._expire, (pid, timed_out))
            timer.daemon = True
            timer.start()
            status, usage = self._wait(pid)
            timer.cancel()
            wall = time.perf_counter() - begin
            if self._stopped:
                raise Interrupted
            output.seek(0)
            text, seconds = _without_times(output.read().decode(errors="replace"))
        return Ended(
            words,
            os.waitstatus_to_exitcode(status),
            text,
            seconds,
            wall,
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss * 1024,  # Linux counts the largest resident set in KiB
            timed_out.is_set(),
        )

    def _start(self, words: tuple[str, ...], folder: Path, output: int) -> int:
        arguments = [CHILD, str(os.getpid()), MODULES[words[0]], *words[1:]]
        path = [str(PACKAGE_ROOT), os.environ.get("PYTHONPATH", "")]
        with self._lock:
            if self._stopped:
                raise Interrupted
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", *arguments],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is the sweep's to handle
            )
            process.returncode = 0  # waited for below, not by its destructor
            self._running.add(process.pid)
        return process.pid

    def _wait(self, pid: int) -> tuple[int, resource.struct_rusage]:
        """Wait for the end. A pid is freed under the lock, so no kill meets a stranger
        who was given it since."""
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            self._running.discard(pid)
            _, status, usage = os.wait4(pid, 0)
        return status, usage

    def _expire(self, pid: int, timed_out: threading.Event) -> None:
        with self._lock:
            if pid in self._running:
                timed_out.set()
                os.kill(pid, signal.SIGKILL)


def _without_times(text: str) -> tuple[str, dict[str, float]]:
    """The text without the lines of `--time-passes`, and the seconds of each pass."""
    seconds: dict[str, float] = {}
    rest: list[str] = []
    for line in text.splitlines(keepends=True):
        match = TIME_LINE.fullmatch(line.rstrip("\n"))
        if match is None:
            rest.append(line)
        elif match[2] != "total":
            seconds[match[2]] = seconds.get(match[2], 0.0) + float(match[1])
    return "".join(rest), seconds
