"""What `tile-run` prints: a table of steps, then cycles, bytes and error."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiledialect.runtime.simulator import StepResult
    from tiledialect.tools.run_session import Run

HEAD = ("step", "name", "location", "kind", "cycles", "estimate")


def print_run(done: Run, *, quiet: bool) -> None:
    """Print a run; `quiet` leaves the table of steps out."""
    if not quiet:
        for line in table(done.result.steps):
            print(line)
        print()
    package, result = done.package, done.result
    estimate = package.estimated_cycles
    print(
        f"{result.cycles} cycles"
        f" ({done.microseconds:.2f} us at {done.machine.clock_ghz:g} GHz),"
        f" estimated {estimate} ({_percent(estimate, result.cycles)})"
    )
    for line in kind_sums(result.steps):
        print(line)
    print(
        f"{result.peak_tile_bytes} bytes on the fullest tile, placed"
        f" {result.placed_bytes}, footprint {package.footprint}, budget"
        f" {package.budget}"
    )
    for error in done.errors or []:
        word = "within" if error.passed else "BEYOND"
        print(
            f"'{error.name}': max abs error {error.max_abs_error:.6g}, {word}"
            f" {error.allowed:.6g}; {error.over_rms:.4g} of the output's RMS"
            f" {error.rms:.6g}"
        )


def table(steps: tuple[StepResult, ...]) -> list[str]:
    """One line a step, columns aligned."""
    rows = [HEAD] + [
        (
            str(number),
            step.name,
            step.location,
            step.kind,
            str(step.cycles),
            "-" if step.estimate is None else str(step.estimate),
        )
        for number, step in enumerate(steps)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    right = (True, False, False, False, True, True)
    return [
        "  ".join(
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]


def kind_sums(steps: tuple[StepResult, ...]) -> list[str]:
    """A line each for exchange and compute."""
    return [f"  {kind}: {_sums(steps, kind)}" for kind in ("exchange", "compute")]


def _sums(steps: tuple[StepResult, ...], kind: str) -> str:
    """Cycles of the steps of a kind beside their estimates, where all have one."""
    own = [step for step in steps if step.kind == kind]
    cycles = sum(step.cycles for step in own)
    steps_text = f"{len(own)} step{'' if len(own) == 1 else 's'}"
    estimates = [step.estimate for step in own if step.estimate is not None]
    if len(estimates) < len(own):
        return f"{cycles} cycles in {steps_text}"
    total = sum(estimates)
    return (
        f"{cycles} cycles in {steps_text}, estimated {total}"
        f" ({_percent(total, cycles)})"
    )


def _percent(estimate: int, cycles: int) -> str:
    """How far an estimate is off."""
    if cycles == 0:
        return "+0.0 %" if estimate == 0 else "of nothing"
    return f"{(estimate - cycles) / cycles * 100:+.1f} %"
