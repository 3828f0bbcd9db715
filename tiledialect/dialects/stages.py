"""The stages of a map as an attribute of the operation that runs it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute

from tiledialect.codelets import Stage
from tiledialect.dialects.syntax import integer


def stages_parameter(stages: Sequence[Stage]) -> dict[str, Attribute]:
    """The stages of a map as an attribute."""
    return {
        "stages": ArrayAttr(
            [
                DictionaryAttr(
                    {
                        "function": StringAttr(stage.function),
                        "operands": ArrayAttr([integer(i) for i in stage.operands]),
                        "format": StringAttr(stage.format),
                        "scale": integer(stage.scale),
                    }
                )
                for stage in stages
            ]
        )
    }
