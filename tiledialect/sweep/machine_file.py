"""The machine that a sweep's user names, as a text that stands alone.

A machine file may lie over a file beside it. The copy in a folder of a case must not:
there the fields of both stand in one file.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tiledialect.diagnostics import Refused, Usage
from tiledialect.machine import Machine, MachineError, machine_names
from tiledialect.sweep.cases import MachineFile


def machine_file(word: str) -> MachineFile:
    """What `--machine` names. Raises Usage and Refused."""
    is_file = word.endswith(".toml")
    try:
        machine = Machine.load(word)
    except MachineError as error:
        raise (Refused if is_file else Usage)(str(error)) from error
    if not is_file:
        return MachineFile(word, None)
    text = Path(word).read_text(encoding="utf-8")
    base = tomllib.loads(text).get("base")
    if base is None or base in machine_names():
        return MachineFile(word, text)
    return MachineFile(word, toml_text(machine.fields))


def toml_text(fields: Mapping[str, Any], prefix: str = "") -> str:
    """Nested fields as TOML: plain values first, then tables and lists of tables."""
    lines = [
        f"{_key(name)} = {_value(value)}\n"
        for name, value in fields.items()
        if not _is_table(value) and not _is_tables(value)
    ]
    for name, value in fields.items():
        path = f"{prefix}{_key(name)}"
        if _is_table(value):
            lines.append(f"\n[{path}]\n{toml_text(value, f'{path}.')}")
        elif _is_tables(value):
            lines += [f"\n[[{path}]]\n{toml_text(each, f'{path}.')}" for each in value]
    return "".join(lines)


def _key(name: str) -> str:
    plain = name.replace("_", "a").replace("-", "a")
    return name if plain.isascii() and plain.isalnum() else json.dumps(name)


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_tables(value: object) -> bool:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return False
    items = cast(Sequence[object], value)
    return bool(items) and all(isinstance(item, Mapping) for item in items)


def _value(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value)
        case Sequence():
            items = cast(Sequence[object], value)
            return f"[{', '.join(_value(item) for item in items)}]"
        case _:
            raise Refused(f"a machine has no such value: {value}")
