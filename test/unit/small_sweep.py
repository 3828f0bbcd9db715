"""Small sweeps, made by `tile-sweep` itself in a few seconds.

`python test/unit/small_sweep.py DIR` makes the one that tests of sweeps and reports
read; tests share it as the fixture `small_sweep`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tiledialect.tools.sweep import main

BUDGETS = ("default", "5632", "4200")
"""The fastest plan; one with less memory; one that no plan fits."""

WORDS = ("tiny-mlp", f"--budgets={','.join(BUDGETS)}")
CASES = tuple(f"b1-fp8-{budget}" for budget in BUDGETS)


def make_small_sweep(folder: Path) -> Path:
    """Sweep the tutorial's MLP on mini16 into a folder that is not there yet."""
    code = main([*WORDS, "--jobs=2", "-o", str(folder)])
    assert code == 0, f"tile-sweep ended with {code}"
    return folder


if __name__ == "__main__":
    make_small_sweep(Path(sys.argv[1]))
