"""The program as planning sees it: values, and groups of operations planned together.

A group is one structured operation and the unary maps that follow it alone (an
activation, a cast): they run where its result lies, before the result moves. Domain
dimensions that every operand walks contiguously are merged, views that keep the element
order vanish, transposes become maps with another order of axes. Shapes are elements.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tiledialect.codelets import Stage, format_class
from tiledialect.diagnostics import fail, locate
from tiledialect.dialects.interfaces import (
    Constant,
    Dimension,
    IndexingMap,
    Structured,
    View,
)
from tiledialect.dialects.tile import (
    argument_names,
    entry_function,
    packed_results,
    return_operation,
    stored_flags,
)
from tiledialect.dialects.tile_types import TensorForm, format_of, tensor_form
from tiledialect.dimensions import matmul_dimensions, merge_dimensions
from tiledialect.formats import format_named
from tiledialect.machine import Machine


@dataclass(frozen=True)
class Value:
    """A tensor of the program. `kind`: input, parameter, constant or computed; a packed
    input is planned as a parameter. `index` is the argument's for the first two;
    `last_use` counts groups (len = an output)."""

    name: str
    form: TensorForm
    kind: str
    location: str
    index: int = -1
    constant: Operation | None = field(default=None, compare=False)

    @property
    def is_stored(self) -> bool:
        """Known before the run: the host may store it as the plan likes."""
        return self.kind in ("parameter", "constant")


@dataclass(frozen=True)
class Operand:
    """One use of a value; `axes` are the domain dimensions of its axes, outer first."""

    value: int
    axes: tuple[int, ...]


@dataclass(frozen=True)
class Member:
    """An operation that a group runs, and the name of the value that it makes."""

    name: str
    operation: Operation


@dataclass(frozen=True)
class Group:
    """Operations that are planned as one.

    family      matmul, map or reduce; matmul's dimensions are b, m, n, k
    dims        the domain after merging
    result      value that it makes, with the domain dimensions of its axes
    format      number format of the anchor's own result, before `stages`
    function    sum or max for a reduce; of a map the first stage says it
    accumulate  format of partial sums
    members     operations of rung 1 that it runs, in order; none for a widening cast
    """

    name: str
    location: str
    family: str
    dims: tuple[Dimension, ...]
    operands: tuple[Operand, ...]
    result: Operand
    format: str
    function: str
    accumulate: str
    stages: tuple[Stage, ...] = ()
    members: tuple[Member, ...] = field(default=(), compare=False)

    def extents(self, axes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.dims[axis].extent for axis in axes)


@dataclass(frozen=True)
class Program:
    """All values, the groups in order, the values returned, and those of them that lie
    for the host as the last group leaves them."""

    values: tuple[Value, ...]
    groups: tuple[Group, ...]
    outputs: tuple[int, ...]
    packed: frozenset[int] = frozenset()

    def last_use(self, value: int) -> int:
        """Position of the last group that reads a value; past all if it is returned."""
        if value in self.outputs:
            return len(self.groups)
        uses = [
            position
            for position, group in enumerate(self.groups)
            if any(operand.value == value for operand in group.operands)
        ]
        return max(uses, default=-1)

    def is_link(self, position: int) -> bool:
        """Whether a group's result rests as it is made: only the very next group reads
        it, once, in the axes in which it was made; or the host does, of a result that
        is packed. Others settle linear."""
        group = self.groups[position]
        value = group.result.value
        if value in self.packed:
            return True
        if value in self.outputs or self.users(value) != [position + 1]:
            return False
        after = self.groups[position + 1]
        uses = [operand for operand in after.operands if operand.value == value]
        same = group.extents(group.result.axes) == after.extents(uses[0].axes)
        return len(uses) == 1 and same

    def is_linked(self, value: int) -> bool:
        """Whether a value is the result of a group and a link."""
        made = [i for i, g in enumerate(self.groups) if g.result.value == value]
        return bool(made) and self.is_link(made[0])

    def signature(self, position: int) -> tuple[object, ...]:
        """What planning sees of a group: groups with equal ones are planned alike."""
        group = self.groups[position]
        used = [
            (
                operand.axes,
                v.form.format.name,
                v.is_stored,
                self.is_linked(operand.value),
            )
            for operand in group.operands
            for v in (self.values[operand.value],)
        ]
        made = self.values[group.result.value].form.format.name
        dims = tuple((dim.name, dim.extent, dim.reduced) for dim in group.dims)
        result = group.result.axes, made, self.is_link(position)
        rest = group.format, group.function, group.accumulate, group.stages
        return (group.family, dims, tuple(used), result, rest)

    def computed_format(self, group: Group) -> str:
        """The number format in which a group's codelet leaves its result: a map's runs
        all stages, the others leave them for later."""
        if group.family == "map":
            return self.values[group.result.value].form.format.name
        return group.format

    def users(self, value: int) -> list[int]:
        """Positions of the groups that read a value."""
        return [
            position
            for position, group in enumerate(self.groups)
            if any(operand.value == value for operand in group.operands)
        ]


def read_program(module: ModuleOp, machine: Machine) -> Program:
    """The program of a rung-1 module. Refuses operations of no known interface."""
    return _Reader(module, machine).read()


class _Reader:
    """Walks the entry function once; `roots` maps each SSA value to a value number."""

    def __init__(self, module: ModuleOp, machine: Machine) -> None:
        self.machine = machine
        self.function = entry_function(module)
        self.values: list[Value] = []
        self.groups: list[Group] = []
        self.roots: dict[SSAValue, int] = {}
        self.names: set[str] = set()
        self.chains: dict[int, int] = {}  # value made by a group -> its position

    def read(self) -> Program:
        flags = stored_flags(self.function)
        names = argument_names(self.function)
        place = locate(self.function)
        for index, argument in enumerate(self.function.args):
            kind = "parameter" if flags[index] else "input"
            form = tensor_form(argument.type)
            self._add(argument, Value(names[index], form, kind, place, index))
        returned = return_operation(self.function)
        for op in self.function.body.block.ops:
            if op is not returned:
                self._read(op)
        outputs = tuple(self.roots[value] for value in returned.operands)
        packed = self._packed(returned, outputs)
        return Program(tuple(self.values), tuple(self.groups), outputs, packed)

    def _packed(self, returned: Operation, outputs: tuple[int, ...]) -> frozenset[int]:
        """The results marked as packed; the host alone reads them, after the last group
        has made them, so that nothing has to know where they lie."""
        flags = packed_results(self.function)
        last = self.groups[-1].result.value if self.groups else -1
        packed = [v for v, marked in zip(outputs, flags, strict=True) if marked]
        read = {o.value for group in self.groups for o in group.operands}
        if any(v != last or v in read or outputs.count(v) > 1 for v in packed):
            fail(
                returned,
                "a packed result is what the last operation makes, returned once and"
                " read by no other",
            )
        return frozenset(packed)

    def _add(self, ssa: SSAValue, value: Value) -> int:
        self.values.append(value)
        self.roots[ssa] = len(self.values) - 1
        return len(self.values) - 1

    def _read(self, op: Operation) -> None:
        if len(op.results) != 1:
            fail(op, f"{op.name} has {len(op.results)} results, planning knows one")
        if isinstance(op, Constant):
            name = self._name(op, "constant")
            form = tensor_form(op.results[0].type)
            value = Value(name, form, "constant", locate(op), constant=op)
            self._add(op.results[0], value)
        elif isinstance(op, View):
            self._read_view(op)
        elif isinstance(op, Structured):
            self._read_structured(op)
        else:
            fail(
                op, f"{op.name} cannot be planned: it is neither structured nor a view"
            )

    def _name(self, op: Operation, fallback: str) -> str:
        base = op.results[0].name_hint or fallback
        name, number = base, 1
        while name in self.names:
            name, number = f"{base}_{number}", number + 1
        self.names.add(name)
        return name

    def _read_view(self, op: Operation) -> None:
        assert isinstance(op, View)
        permutation = op.permutation()
        source = self.roots[op.operands[0]]
        if permutation is None:
            self.roots[op.results[0]] = source
            return
        form = tensor_form(op.results[0].type)
        dims = tuple(Dimension(f"d{i}", e) for i, e in enumerate(form.shape))
        axes = [0] * len(permutation)
        for result_axis, operand_axis in enumerate(permutation):
            axes[operand_axis] = result_axis
        maps = (tuple(axes), tuple(range(len(dims))))
        stage = _stage("identity", form, form, ())
        self._add_group(op, "map", dims, maps, (source,), form, "map", (stage,))

    def _read_structured(self, op: Operation) -> None:
        assert isinstance(op, Structured)
        form = tensor_form(op.results[0].type)
        sources = tuple(self.roots[operand] for operand in op.operands)
        if op.codelet_family == "map":
            if self._fuse(op, form, sources):
                return
            first = self.values[sources[0]].form
            extra = tuple(range(1, len(sources)))
            stage = _stage(op.scalar_function, first, form, extra)
            stages: tuple[Stage, ...] = (stage,)
        else:
            stages = ()
        if op.codelet_family == "matmul":
            self._read_matmul(op, form, sources)
            return
        self._add_group(
            op,
            op.codelet_family,
            op.iteration_domain(),
            op.indexing_maps(),
            sources,
            form,
            op.scalar_function,
            stages,
        )

    def _fuse(self, op: Operation, form: TensorForm, sources: tuple[int, ...]) -> bool:
        """Append a unary map to the group whose result only it reads."""
        assert isinstance(op, Structured)
        position = self.chains.get(sources[0])
        if len(sources) != 1 or position is None or not _read_once(op.operands[0]):
            return False
        group = self.groups[position]
        before = self.values[sources[0]].form
        stage = _stage(op.scalar_function, before, form, ())
        name = self._name(op, "value")
        made = self._add(op.results[0], Value(name, form, "computed", locate(op)))
        self.groups[position] = replace(
            group,
            result=Operand(made, group.result.axes),
            stages=(*group.stages, stage),
            members=(*group.members, Member(name, op)),
        )
        self.chains[made] = position
        return True

    def _read_matmul(
        self, op: Operation, form: TensorForm, sources: tuple[int, ...]
    ) -> None:
        assert isinstance(op, Structured)
        accumulate = format_of(op.accumulation_type()).name
        widened = tuple(self._widen(op, source, accumulate) for source in sources)
        stages: tuple[Stage, ...] = ()
        if form.format.name != accumulate:
            stages = (Stage("cast", accumulate, form.format.name, form.scale),)
        domain, maps = op.iteration_domain(), op.indexing_maps()
        dims, axes = merge_dimensions(domain, maps)
        try:
            dims, axes = matmul_dimensions(dims, axes)
        except ValueError as error:
            fail(op, str(error))
        self._finish(op, "matmul", dims, axes, widened, form, accumulate, "sum", stages)

    def _widen(self, op: Operation, source: int, accumulate: str) -> int:
        """The operand in a format that the matrix unit multiplies with that partial
        sum, by a cast of its own where it is in another."""
        form = self.values[source].form
        for name in (form.format.name, "f16", "f32"):
            if self.machine.matrix_mode(format_class(name), accumulate) is None:
                continue
            if name == form.format.name:
                return source
            return self._cast(op, source, name)
        fail(op, f"machine {self.machine.name} cannot accumulate in {accumulate}")

    def _cast(self, op: Operation, source: int, format: str) -> int:
        value = self.values[source]
        form = TensorForm(value.form.shape, format_named(format))
        name = f"{value.name}.{format}"
        self.values.append(Value(name, form, "computed", locate(op)))
        made = len(self.values) - 1
        dims = (Dimension("d0", form.elements),)
        stage = _stage("cast", value.form, form, ())
        self.groups.append(
            Group(
                name=name,
                location=locate(op),
                family="map",
                dims=dims,
                operands=(Operand(source, (0,)),),
                result=Operand(made, (0,)),
                format=format,
                function="cast",
                accumulate="f32",
                stages=(stage,),
            )
        )
        return made

    def _add_group(
        self,
        op: Operation,
        family: str,
        domain: tuple[Dimension, ...],
        maps: tuple[IndexingMap, ...],
        sources: tuple[int, ...],
        form: TensorForm,
        function: str,
        stages: tuple[Stage, ...],
    ) -> None:
        dims, axes = merge_dimensions(domain, maps)
        accumulate = form.format.name
        self._finish(
            op, family, dims, axes, sources, form, accumulate, function, stages
        )

    def _finish(
        self,
        op: Operation,
        family: str,
        dims: tuple[Dimension, ...],
        axes: tuple[tuple[int, ...], ...],
        sources: tuple[int, ...],
        form: TensorForm,
        accumulate: str,
        function: str,
        stages: tuple[Stage, ...],
    ) -> None:
        name = self._name(op, op.name.split(".")[-1])
        made = self._add(op.results[0], Value(name, form, "computed", locate(op)))
        self.groups.append(
            Group(
                name=name,
                location=locate(op),
                family=family,
                dims=dims,
                operands=tuple(
                    Operand(source, a)
                    for source, a in zip(sources, axes[:-1], strict=True)
                ),
                result=Operand(made, axes[-1]),
                format=accumulate if family == "matmul" else form.format.name,
                function=function,
                accumulate=accumulate,
                stages=stages,
                members=(Member(name, op),),
            )
        )
        self.chains[made] = len(self.groups) - 1


def _stage(
    function: str, before: TensorForm, after: TensorForm, operands: tuple[int, ...]
) -> Stage:
    return Stage(function, before.format.name, after.format.name, after.scale, operands)


def _read_once(value: SSAValue) -> bool:
    """Whether nothing else reads a value, under this shape or that of its making."""
    if len(list(value.uses)) != 1:
        return False
    owner = value.owner
    if isinstance(owner, Operation) and isinstance(owner, View):
        return owner.permutation() is not None or _read_once(owner.operands[0])
    return True
