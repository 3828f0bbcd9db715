"""Executors of cases: processes of this machine, or a Dask cluster.

Both are `concurrent.futures` executors. The local one has a thread a job, and each
thread has its commands as processes: those, not Python workers, do the work, and a
limit or a stop can end them at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from typing import Any

from tiledialect.diagnostics import Refused
from tiledialect.sweep.commands import Interrupted, Processes
from tiledialect.sweep.run_case import Finished, Job, run_case

CONNECT_SECONDS = 30

Run = Callable[[Job], Finished]


@contextmanager
def local_executor(jobs: int) -> Generator[tuple[Executor, Run]]:
    """So many cases at a time, here. What still runs at the end is ended."""
    processes = Processes()
    executor = ThreadPoolExecutor(jobs, thread_name_prefix="case")
    try:
        yield executor, partial(run_case, processes=processes)
    finally:
        processes.stop()
        executor.shutdown(cancel_futures=True)


@contextmanager
def dask_executor(address: str) -> Generator[tuple[Executor, Run]]:
    """The workers of a scheduler, as many cases as they take."""
    try:
        from distributed import Client
    except ImportError as error:
        raise Refused(
            "--scheduler needs Dask: pip install 'tiledialect[dask]'"
        ) from error
    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise Refused(f"no scheduler answers at {address}: {error}") from error
    executor = client.get_executor(pure=False, retries=0)
    try:
        yield executor, run_case
    finally:
        executor.shutdown(wait=False)
        client.close()


def run_all(executor: Executor, run: Run, jobs: Sequence[Job]) -> Iterator[Finished]:
    """Run the jobs; give each as it ends. A job without an end, as when a worker dies,
    holds up no other; at last they are named in a Refused."""
    names = {executor.submit(run, job): job.case.name for job in jobs}
    lost: list[str] = []
    for future in as_completed(names):
        name = names.pop(future)  # and with it the future, which holds a package
        error = future.exception()
        if error is None:
            yield future.result()
        elif isinstance(error, Interrupted):
            raise error
        else:
            lost.append(f"{name} ({type(error).__name__}: {error})")
    if lost:
        raise Refused(f"no result of {', '.join(lost)}; --resume tries again")
