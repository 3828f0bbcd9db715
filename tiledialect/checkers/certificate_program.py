"""Rung 1 as the certificate's checker reads it: values, and groups in order.

Written once more from the rules of docs/architecture.md ("Groups"), apart from the
reader that planning uses. Of a contraction the dimensions b, m, n, k are kept, of any
other group only how many elements it reads and makes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tiledialect.checkers.disproof import Disproof
from tiledialect.codelets import Stage, format_class
from tiledialect.dialects.interfaces import Constant, Dimension, Structured, View
from tiledialect.dialects.tile import (
    argument_names,
    entry_function,
    packed_results,
    return_operation,
    stored_flags,
)
from tiledialect.dialects.tile_types import TensorForm, format_of, tensor_form
from tiledialect.formats import format_named
from tiledialect.machine import Machine, MatrixMode

NAMES = "bmnk"


@dataclass(frozen=True)
class Tensor:
    """A value: its form, whether it is known before the run, and whether it is an
    argument of the program."""

    name: str
    form: TensorForm
    stored: bool
    argument: bool


@dataclass(frozen=True)
class Use:
    """A value that a group reads; of a contraction also the dimensions (0 to 3 for b,
    m, n, k) that its elements run over."""

    value: int
    axes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Work:
    """One group.

    extents, grains, axes  of a contraction: of b, m, n and k; those of the result
    mode                   of a contraction: how the matrix unit runs it
    format                 of what is summed; `stages` run on the sum
    elements               of any other group: points of its domain
    """

    name: str
    family: str
    uses: tuple[Use, ...]
    result: int
    format: str
    stages: tuple[Stage, ...] = ()
    elements: int = 0
    extents: tuple[int, ...] = ()
    grains: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()
    mode: MatrixMode | None = None


@dataclass(frozen=True)
class Task:
    """All values, the groups in order, the values returned, and those of them that lie
    for the host as the last group leaves them."""

    values: tuple[Tensor, ...]
    groups: tuple[Work, ...]
    outputs: frozenset[int]
    packed: frozenset[int] = frozenset()

    def readers(self, value: int) -> list[int]:
        """Positions of the groups that read a value."""
        return [
            position
            for position, group in enumerate(self.groups)
            if any(use.value == value for use in group.uses)
        ]

    def last_use(self, value: int) -> int:
        """The last group that reads a value; past all of them if it is returned."""
        if value in self.outputs:
            return len(self.groups)
        return max(self.readers(value), default=-1)

    def may_link(self, position: int) -> bool:
        """Whether a result may rest as it is made: the next group alone reads it, or
        the host does, of a packed one."""
        value = self.groups[position].result
        read_next = value not in self.outputs and self.readers(value) == [position + 1]
        return read_next or value in self.packed

    def made_by(self, value: int) -> int:
        """The group that makes a value; -1: none does."""
        made = [i for i, group in enumerate(self.groups) if group.result == value]
        return made[0] if made else -1


def read_task(module: ModuleOp, machine: Machine) -> Task:
    """The groups of a rung-1 module. Raises Disproof for what cannot be read."""
    return _Reader(module, machine).read()


@dataclass
class _Reader:
    module: ModuleOp
    machine: Machine
    values: list[Tensor] = field(default_factory=list[Tensor])
    groups: list[Work] = field(default_factory=list[Work])
    numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    names: set[str] = field(default_factory=set[str])

    def read(self) -> Task:
        function = entry_function(self.module)
        flags, names = stored_flags(function), argument_names(function)
        for argument, stored, name in zip(function.args, flags, names, strict=True):
            form = tensor_form(argument.type)
            self.numbers[argument] = self._value(Tensor(name, form, stored, True))
        returned = return_operation(function)
        for op in function.body.block.ops:
            if op is not returned:
                self._read(op)
        outputs = [self.numbers[value] for value in returned.operands]
        marks = zip(outputs, packed_results(function), strict=True)
        packed = frozenset(value for value, marked in marks if marked)
        groups = tuple(self.groups)
        return Task(tuple(self.values), groups, frozenset(outputs), packed)

    def _value(self, value: Tensor) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def _made(self, op: Operation, otherwise: str, stored: bool = False) -> int:
        """A new value for the result of an operation."""
        form = tensor_form(op.results[0].type)
        value = Tensor(self._name(op, otherwise), form, stored, False)
        self.numbers[op.results[0]] = number = self._value(value)
        return number

    def _name(self, op: Operation, otherwise: str) -> str:
        name = first = op.results[0].name_hint or otherwise
        count = 1
        while name in self.names:
            count += 1
            name = f"{first}_{count - 1}"
        self.names.add(name)
        return name

    def _read(self, op: Operation) -> None:
        if isinstance(op, Constant):
            self._made(op, "constant", stored=True)
        elif isinstance(op, View) and op.permutation() is None:
            self.numbers[op.results[0]] = self.numbers[op.operands[0]]
        elif isinstance(op, View):
            self._simple(op, "map", (self._stage(op, "identity", 1),))
        elif not isinstance(op, Structured):
            raise Disproof(f"{op.name} is no operation that plans are made for")
        elif op.codelet_family == "matmul":
            self._contraction(op)
        elif op.codelet_family == "map" and self._joins(op):
            self._join(op)
        else:
            stages = (self._stage(op, op.scalar_function, len(op.operands)),)
            family = op.codelet_family
            self._simple(op, family, stages if family == "map" else ())

    def _stage(self, op: Operation, function: str, operands: int) -> Stage:
        before = self.values[self.numbers[op.operands[0]]].form
        after = tensor_form(op.results[0].type)
        extra = tuple(range(1, operands))
        name = before.format.name
        return Stage(function, name, after.format.name, after.scale, extra)

    def _joins(self, op: Operation) -> bool:
        """Whether a map of one operand runs on the result of the group that makes it,
        as nothing else reads that."""
        value = self.numbers[op.operands[0]]
        made = any(group.result == value for group in self.groups)
        return len(op.operands) == 1 and made and _read_once(op.operands[0])

    def _join(self, op: Operation) -> None:
        assert isinstance(op, Structured)
        value = self.numbers[op.operands[0]]
        stage = self._stage(op, op.scalar_function, 1)
        made = self._made(op, "value")
        at = next(i for i, group in enumerate(self.groups) if group.result == value)
        group = self.groups[at]
        stages = (*group.stages, stage)
        self.groups[at] = replace(group, result=made, stages=stages)

    def _simple(self, op: Operation, family: str, stages: tuple[Stage, ...]) -> None:
        uses = tuple(Use(self.numbers[operand]) for operand in op.operands)
        made = self._made(op, op.name.split(".")[-1])
        value = self.values[made]
        elements = value.form.elements
        if isinstance(op, Structured):
            elements = prod(dim.extent for dim in op.iteration_domain())
        format = value.form.format.name
        if family == "reduce":
            format = self.values[uses[0].value].form.format.name
        self.groups.append(
            Work(value.name, family, uses, made, format, stages, elements)
        )

    def _contraction(self, op: Operation) -> None:
        assert isinstance(op, Structured)
        accumulate = format_of(op.accumulation_type()).name
        sources = [self._multiplied(self.numbers[o], accumulate) for o in op.operands]
        extents, axes = _merged(op.iteration_domain(), op.indexing_maps())
        left = self.values[sources[0]].form.format.name
        mode = self.machine.matrix_mode(format_class(left), accumulate)
        assert mode is not None, "the operand was brought to a format that has one"
        form = tensor_form(op.results[0].type)
        stages: tuple[Stage, ...] = ()
        if form.format.name != accumulate:
            stages = (Stage("cast", accumulate, form.format.name, form.scale),)
        made = self._made(op, op.name.split(".")[-1])
        uses = tuple(Use(s, a) for s, a in zip(sources, axes[:2], strict=True))
        self.groups.append(
            Work(
                name=self.values[made].name,
                family="matmul",
                uses=uses,
                result=made,
                format=accumulate,
                stages=stages,
                extents=extents,
                grains=(1, 1, mode.n_block, mode.k_block),
                axes=axes[2],
                mode=mode,
            )
        )

    def _multiplied(self, value: int, accumulate: str) -> int:
        """The value in a format that the matrix unit multiplies with that sum: its own,
        or what a cast of its own group makes of it."""
        form = self.values[value].form
        formats = (form.format.name, "f16", "f32")
        known = [
            name
            for name in formats
            if self.machine.matrix_mode(format_class(name), accumulate) is not None
        ]
        if not known:
            raise Disproof(f"no mode of the matrix unit accumulates in {accumulate}")
        if known[0] == form.format.name:
            return value
        name = f"{self.values[value].name}.{known[0]}"
        made = TensorForm(form.shape, format_named(known[0]))
        number = self._value(Tensor(name, made, False, False))
        stages = (Stage("cast", form.format.name, known[0]),)
        uses = (Use(value),)
        self.groups.append(
            Work(name, "map", uses, number, known[0], stages, form.elements)
        )
        return number


def _read_once(value: SSAValue) -> bool:
    """Whether one operation reads a value, and one that of which it is a view."""
    if len(list(value.uses)) != 1:
        return False
    owner = value.owner
    if not (isinstance(owner, Operation) and isinstance(owner, View)):
        return True
    return owner.permutation() is not None or _read_once(owner.operands[0])


def _merged(
    domain: tuple[Dimension, ...], maps: tuple[tuple[int | None, ...], ...]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Extents of b, m, n and k, and which of them each map has, in order. Neighbours
    that every map walks one right behind the other are one dimension."""
    real = [d for d, dim in enumerate(domain) if dim.extent != 1]
    walks = [[d for d in one if d in real] for one in maps]
    runs: list[list[int]] = []
    for d in real:
        if runs and _together(domain, walks, runs[-1][-1], d):
            runs[-1].append(d)
        else:
            runs.append([d])
    roles: dict[str, int] = {}
    spare: list[int] = []
    for number, run in enumerate(runs):
        role = _role(domain, walks, run[0])
        if role in roles:
            spare.append(roles[role])
        roles[role] = number
    batch = [*([roles.pop("b")] if "b" in roles else []), *spare]
    if len(batch) > 1:
        raise Disproof("a matmul has more than one batch dimension")
    slots = [batch[0] if batch else None, *(roles.get(role) for role in "mnk")]
    found = [None if slot is None else runs[slot] for slot in slots]
    extents = tuple(prod(domain[d].extent for d in run or []) for run in found)
    usual = ("bmk", "bnk", "bmn")
    axes = tuple(
        tuple(
            at
            for at, run in enumerate(found)
            if (NAMES[at] in names if run is None else run[0] in walk)
        )
        for names, walk in zip(usual, walks, strict=True)
    )
    return extents, axes


def _together(
    domain: tuple[Dimension, ...], walks: list[list[int]], first: int, second: int
) -> bool:
    if domain[first].reduced != domain[second].reduced:
        return False
    return all(
        (first in walk) == (second in walk)
        and (first not in walk or walk.index(second) == walk.index(first) + 1)
        for walk in walks
    )


def _role(domain: tuple[Dimension, ...], walks: list[list[int]], d: int) -> str:
    left, right = d in walks[0], d in walks[1]
    if domain[d].reduced:
        return "k"
    if left and right:
        return "b"
    return "m" if left else "n"
