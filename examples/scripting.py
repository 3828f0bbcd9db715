"""From a program to a checked run in Python, with the names of the commands.

Run it from the top of the repository: `python examples/scripting.py`.
"""

from __future__ import annotations

import tiledialect

PROGRAM = "examples/tiny_mlp.mlir"


def show_plan() -> None:
    """Run two passes, and look at the plan that they make."""
    module = tiledialect.parse(PROGRAM)
    tiledialect.run_passes(module, "expand-candidates,search-plan{budget=8KiB}")
    plan = tiledialect.plan(module)
    print(f"{plan.certificate['status']}: {plan.cycles} cycles by estimate")
    for step in plan.steps:
        if step.exchange_cycles:
            print(f"  {step.value} moves for {step.group}: {step.exchange_cycles}")


def compare_budgets() -> None:
    """Compile for some budgets, simulate, compare with the reference."""
    for budget in ("8KiB", "4200"):
        try:
            package = tiledialect.compile(PROGRAM, plan_budget=budget)
        except tiledialect.Infeasible as error:
            print(f"{budget}: {error.message}")
            continue
        done = tiledialect.run(package, check=True)
        print(
            f"{budget}: {done.result.cycles} cycles, {package.footprint} bytes,"
            f" error {done.max_abs_error:.4f}, passed {done.passed}"
        )


if __name__ == "__main__":
    show_plan()
    compare_budgets()
