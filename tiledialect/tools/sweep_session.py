"""One run of `tile-sweep`: the cases, their folder, the executor, the rows."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiledialect.diagnostics import Refused, Usage
from tiledialect.sweep.cases import (
    Case,
    MachineFile,
    Program,
    Setting,
    parts_of,
    unique,
    workload_programs,
)
from tiledialect.sweep.folder import HEAD, SweepFolder, head_of, read_head
from tiledialect.sweep.machine_file import machine_file
from tiledialect.sweep.pool import Run, dask_executor, local_executor, run_all
from tiledialect.sweep.record import ROWS
from tiledialect.sweep.run_case import Job, to_json
from tiledialect.sweep.versions import compiler_sha256, sha256
from tiledialect.tools.sweep_progress import progress
from tiledialect.tools.sweep_table import table

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from tiledialect.tools.sweep_arguments import Options

Json = dict[str, Any]


def run(options: Options) -> int:
    """Do what the options ask for. The exit code."""
    folder = Path(options.output)
    if options.workload is None:
        _take_arguments(options, folder)
    cases = cases_of(options)
    _check_folder(folder, resume=options.resume)
    sweep = SweepFolder(options.output)
    try:
        names = [case.name for case in cases]
        sweep.begin(head_of(str(options.workload), arguments_of(options), names))
        sweep.remove_leftovers()
        records = sweep.kept(names)
        _check_kept(cases, records)
        _run_rest(options, sweep, cases, records)
    finally:
        sweep.close()
    rows = [records[name] for name in names]
    if not options.quiet:
        for line in table(rows):
            print(line)
    return 0 if all(row["status"] in ROWS for row in rows) else 1


def cases_of(options: Options) -> list[Case]:
    """The cases in order: precisions, then batches, then budgets. Raises Usage and
    Refused before anything runs."""
    machine = None if options.machine is None else machine_file(options.machine)
    cases: list[Case] = []
    for program, budgets in _programs(options):
        setting = setting_of(program, options.machine, options.reserve)
        for budget in budgets:
            setting.budget_bytes(budget)
            cases.append(_case(program, budget, setting, machine, options.reserve))
    return unique(cases)


def arguments_of(options: Options) -> Json:
    """The arguments that say what is swept, as `sweep.json` keeps them."""
    is_file = str(options.workload).endswith(".mlir")
    return {
        "batches": None if is_file else options.batches or [1],
        "budgets": options.budgets,
        "precision": None if is_file else options.precision or ["fp8"],
        "blocks": None if is_file else options.blocks or 1,
        "machine": options.machine,
        "reserve": options.reserve,
    }


def _take_arguments(options: Options, folder: Path) -> None:
    """Fill in what `--resume` alone leaves to the folder."""
    head = read_head(folder)
    if head is None:
        raise Usage(f"{folder} holds no sweep to resume: no {HEAD} is there")
    options.workload = head["workload"]
    for name, value in head["arguments"].items():
        setattr(options, name, value)


def _programs(options: Options) -> list[tuple[Program, Sequence[str]]]:
    name = str(options.workload)
    if name.endswith(".mlir"):
        from tiledialect.text.source import read_text

        return [(Program(name, read_text(name)), options.budgets)]
    parts = parts_of(options.precision or ["fp8"], options.budgets)
    return [
        *workload_programs(name, options.batches or [1], parts, options.blocks or 1)
    ]


def _case(
    program: Program,
    budget: str,
    setting: Setting,
    machine: MachineFile | None,
    reserve: str | None,
) -> Case:
    return Case(program.case_name(budget), program, budget, setting, machine, reserve)


def setting_of(program: Program, machine: str | None, reserve: str | None) -> Setting:
    """Machine and reserve of the module that `tile-opt` will have. Raises Refused and
    Usage."""
    from tiledialect.dialects.module_attributes import (
        MACHINE,
        RESERVE,
        machine_of,
        reserve_of,
        rung_of,
    )
    from tiledialect.pipeline import make_context
    from tiledialect.text.parser import parse_module
    from tiledialect.tools.settings import (
        DEFAULT_MACHINE,
        machine_attribute,
        reserve_attribute,
    )

    module = parse_module(make_context(), program.text, program.workload)
    if rung_of(module) != 1:
        raise Refused(f"is at rung {rung_of(module)}, not at rung 1", program.workload)
    if machine is not None:
        module.attributes[MACHINE] = machine_attribute(machine)
    elif MACHINE not in module.attributes:
        module.attributes[MACHINE] = machine_attribute(DEFAULT_MACHINE)
    if reserve is not None:
        module.attributes[RESERVE] = reserve_attribute(reserve)
    return Setting(machine_of(module), reserve_of(module))


def _check_folder(folder: Path, *, resume: bool) -> None:
    """A new sweep needs a new folder, a resumed one its own."""
    if folder.exists() and not folder.is_dir():
        raise Usage(f"{folder} is no folder")
    if (folder / HEAD).exists():
        if not resume:
            raise Usage(f"{folder} holds a sweep; --resume goes on with it")
    elif folder.is_dir() and not all(_is_ours(path) for path in folder.iterdir()):
        raise Usage(f"{folder} holds other files; name a new folder")


def _is_ours(path: Path) -> bool:
    """Whether a sweep that was ended at once may have left it."""
    return path.name == "cases" or path.name.startswith(f".{HEAD}.")


def _check_kept(cases: Sequence[Case], records: dict[str, Json]) -> None:
    """Refuse to go on with other texts, machines or another compiler."""
    for case in cases:
        record = records.get(case.name)
        if record is None:
            continue
        now = {
            "input": sha256(case.program.text.encode()),
            "compiler": compiler_sha256(),
            "machine": sha256(to_json(case.setting.machine.fields)),
        }
        for what, value in now.items():
            if record["sha256"][what] != value:
                raise Refused(
                    f"its {what} has changed since; sweep into a new folder", case.name
                )


def _run_rest(
    options: Options,
    sweep: SweepFolder,
    cases: Sequence[Case],
    records: dict[str, Json],
) -> None:
    """Run the cases that have no record yet, and add their records."""
    rest = [case for case in cases if case.name not in records]
    if not rest:
        return
    work = None if options.scheduler is not None else str(sweep.work.resolve())
    jobs = [Job(case, options.timeout, work) for case in rest]
    with (
        _executor(options) as (executor, run_one),
        progress(len(cases), len(records), quiet=options.quiet) as ended,
    ):
        for done in run_all(executor, run_one, jobs):
            sweep.write(done)
            records[done.name] = done.record
            ended(done.name, done.record["status"])


@contextmanager
def _executor(options: Options) -> Generator[tuple[Executor, Run]]:
    if options.scheduler is not None:
        with dask_executor(options.scheduler) as made:
            yield made
    else:
        with local_executor(options.jobs or 1) as made:
            yield made
