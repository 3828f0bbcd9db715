"""What moves and copies between two layouts must do: the specification of both.

One table serves an exchange phase, the copies that belong to it, and both checkers.
"""

from __future__ import annotations

from functools import lru_cache

from tiledialect.diagnostics import fail
from tiledialect.dialects.relayout import RelayoutOp
from tiledialect.layout import Layout
from tiledialect.relayout import Transfers, relayout, stack_partials


@lru_cache(maxsize=64)
def _transfers(source: Layout, destination: Layout, stack: bool) -> Transfers:
    if stack:
        return stack_partials(source, destination)[0]
    return relayout(source, destination)


def transfers_of(op: RelayoutOp) -> Transfers:
    """The transfers of a move or copy. Refuses layouts that do not go together."""
    layouts = op.source_layout.data, op.destination_layout.data
    try:
        return _transfers(*layouts, op.stack is not None)
    except ValueError as error:
        fail(op, str(error))
