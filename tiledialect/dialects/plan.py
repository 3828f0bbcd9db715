"""The plan dialect: catalogues of candidates (rung 2) and plans (rung 3).

On rung 3 the entry function holds, instead of tensor operations, the steps of a plan:
values come with a layout, `plan.relayout` moves them, `plan.compute` runs a codelet on
the blocks of a grid, `plan.reduce` adds partial sums. While several plans are in the
running each is a region of `plan.alternatives`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    DenseArrayBase,
    DenseIntElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    i32,
)
from xdsl.ir import Attribute, Dialect, OpResult, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from tiledialect.dialects.layout_attribute import LayoutAttr
from tiledialect.dialects.plan_part_op import PartOp
from tiledialect.dialects.plan_step_ops import (
    ComputeOp,
    LoadOp,
    ReduceOp,
    RelayoutOp,
    ViewOp,
)
from tiledialect.dialects.syntax import (
    finish,
    integer,
    integers,
    names_attribute,
    optional_text,
    parse_count,
    print_end,
)


@irdl_op_definition
class CatalogueOp(IRDLOperation):
    """The candidates of one group of operations: every grid with every choice.

    `considered` counts all grids that were enumerated; `dropped` says how many each
    filter took away. `dims` are the domain's dimensions, `columns` what the table of
    grids holds, a row each. Besides a grid a candidate chooses one of the `paths` (how
    each operand comes to its block), one of the `rests` (where the result rests and in
    what order) and one of the `steps` in time. The whole program may run in as many
    parts as one of `chunks` says; it is left out where that is 1 alone.
    """

    name = "plan.catalogue"
    group = prop_def(StringAttr)
    dims = prop_def(ArrayAttr[StringAttr])
    extents = prop_def(DenseArrayBase.constr(I64))
    columns = prop_def(ArrayAttr[StringAttr])
    considered = prop_def(IntegerAttr[I64])
    dropped = prop_def(DictionaryAttr)
    paths = prop_def(ArrayAttr[StringAttr])
    rests = prop_def(ArrayAttr[StringAttr])
    steps = prop_def(DenseArrayBase.constr(I64))
    chunks = opt_prop_def(DenseArrayBase.constr(I64))
    table = prop_def(DenseIntElementsAttr)
    loc_text = opt_prop_def(StringAttr)

    def __init__(
        self,
        group: str,
        dims: dict[str, int],
        columns: Sequence[str],
        considered: int,
        dropped: dict[str, int],
        paths: Sequence[str],
        rests: Sequence[str],
        steps: Sequence[int],
        table: DenseIntElementsAttr,
        *,
        chunks: Sequence[int] = (1,),
        location: str | None = None,
    ) -> None:
        super().__init__(
            properties={
                "group": StringAttr(group),
                "dims": names_attribute(list(dims)),
                "extents": integers(list(dims.values())),
                "columns": names_attribute(columns),
                "considered": integer(considered),
                "dropped": DictionaryAttr({k: integer(v) for k, v in dropped.items()}),
                "paths": names_attribute(paths),
                "rests": names_attribute(rests),
                "steps": integers(steps),
                "chunks": integers(chunks) if tuple(chunks) != (1,) else None,
                "table": table,
                "loc_text": optional_text(location),
            }
        )

    @property
    def chunk_counts(self) -> tuple[int, ...]:
        """The numbers of chunks."""
        return (1,) if self.chunks is None else tuple(self.chunks.get_values())

    def verify_(self) -> None:
        if min(self.chunk_counts, default=0) < 1:
            raise VerifyException("chunks are counts from 1 up, and there is one")
        if len(self.dims) != len(self.extents):
            raise VerifyException(
                f"{len(self.dims)} dimensions have {len(self.extents)} extents"
            )
        shape = self.table.get_shape()
        if len(shape) != 2 or shape[1] != len(self.columns):
            raise VerifyException(
                f"a table of {len(self.columns)} columns is needed, this is {shape}"
            )
        type = self.table.get_element_type()
        if type != i32:
            raise VerifyException(f"a table holds i32, not {type}")
        least = min(self.table.get_values(), default=1)
        if least < 1:
            raise VerifyException(f"a table counts parts from 1, one is {least}")

    @classmethod
    def parse(cls, parser: Parser) -> CatalogueOp:
        group = parser.parse_str_literal()
        pairs = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_extent(parser)
        )
        parser.parse_keyword("considered")
        considered = parse_count(parser)
        parser.parse_keyword("dropped")
        dropped = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_extent(parser)
        )
        columns = _parse_texts(parser, "columns")
        paths = _parse_texts(parser, "paths")
        rests = _parse_texts(parser, "rests")
        parser.parse_keyword("steps")
        steps = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parse_count(parser, 1)
        )
        chunks = [1]
        if parser.parse_optional_keyword("chunks"):
            chunks = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parse_count(parser, 1)
            )
        parser.parse_keyword("table")
        table = parser.parse_attribute()
        if not isa(table, DenseIntElementsAttr):
            parser.raise_error("a table is dense<...> : tensor<...xi32>")
        op = CatalogueOp(
            group,
            dict(pairs),
            columns,
            considered,
            dict(dropped),
            paths,
            rests,
            steps,
            table,
            chunks=chunks,
        )
        return finish(op, parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.group.data)
        extents = zip(self.dims, self.extents.get_values(), strict=True)
        dims = ", ".join(f"{name.data} {extent}" for name, extent in extents)
        dropped = ", ".join(
            f"{name} {value.value.data}"
            for name, value in self.dropped.data.items()
            if isinstance(value, IntegerAttr)
        )
        printer.print_string(
            f" ({dims}) considered {self.considered.value.data} dropped ({dropped})"
        )
        with printer.indented():
            for name, texts in (
                ("columns", self.columns),
                ("paths", self.paths),
                ("rests", self.rests),
            ):
                printer.print_string(f"\n{name} [")
                printer.print_list(
                    texts, lambda text: printer.print_string_literal(text.data)
                )
                printer.print_string("]")
            steps = ", ".join(map(str, self.steps.get_values()))
            printer.print_string(f"\nsteps [{steps}]")
            if self.chunks is not None:
                chunks = ", ".join(map(str, self.chunk_counts))
                printer.print_string(f"\nchunks [{chunks}]")
            printer.print_string("\ntable ")
            printer.print_attribute(self.table)
        print_end(printer, self)


def _parse_texts(parser: Parser, keyword: str) -> list[str]:
    parser.parse_keyword(keyword)
    return parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_str_literal
    )


def _parse_extent(parser: Parser) -> tuple[str, int]:
    return parser.parse_identifier(), parse_count(parser)


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The results of one of several plans."""

    name = "plan.yield"
    values = var_operand_def(AnyAttr())
    traits = traits_def(IsTerminator())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[list(values)])


@irdl_op_definition
class AlternativesOp(IRDLOperation):
    """The best plans of a search, best estimate first, one a region.

    `choices` says of each plan, as constraints would, which candidates it is made of.
    """

    name = "plan.alternatives"
    res = var_result_def(AnyAttr())
    estimates = prop_def(DenseArrayBase.constr(I64))
    footprints = prop_def(DenseArrayBase.constr(I64))
    choices = opt_prop_def(ArrayAttr[DictionaryAttr])
    plans = var_region_def("single_block")
    loc_text = opt_prop_def(StringAttr)

    def __init__(
        self,
        result_types: Sequence[Attribute],
        plans: Sequence[Region],
        estimates: Sequence[int],
        footprints: Sequence[int],
        choices: Sequence[DictionaryAttr] | None = None,
        *,
        location: str | None = None,
    ) -> None:
        super().__init__(
            result_types=[list(result_types)],
            regions=[list(plans)],
            properties={
                "estimates": integers(estimates),
                "footprints": integers(footprints),
                "choices": None if choices is None else ArrayAttr(choices),
                "loc_text": optional_text(location),
            },
        )

    @property
    def outputs(self) -> list[OpResult]:
        return list(self.res)

    def verify_(self) -> None:
        count = len(self.plans)
        if count < 1:
            raise VerifyException("there is no plan to choose from")
        if len(self.estimates) != count or len(self.footprints) != count:
            raise VerifyException(
                f"{count} plans need an estimate and a footprint each"
            )
        if self.choices is not None and len(self.choices) != count:
            raise VerifyException(
                f"{count} plans need choices of {count}, not of {len(self.choices)}"
            )
        for number, plan in enumerate(self.plans):
            self._verify_yield(number, plan)

    def _verify_yield(self, number: int, plan: Region) -> None:
        """Each plan ends with the results' values, of their types."""
        end = plan.block.last_op
        if not isinstance(end, YieldOp):
            raise VerifyException(f"plan {number} does not end with plan.yield")
        wanted, given = list(self.res.types), list(end.values.types)
        if wanted != given:
            raise VerifyException(
                f"plan {number} yields ({', '.join(map(str, given))}), the results are"
                f" ({', '.join(map(str, wanted))})"
            )

    @classmethod
    def parse(cls, parser: Parser) -> AlternativesOp:
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_type
        )
        estimates: list[int] = []
        footprints: list[int] = []
        plans: list[Region] = []
        while parser.parse_optional_keyword("plan"):
            estimates.append(parse_count(parser))
            parser.parse_keyword("cycles")
            footprints.append(parse_count(parser))
            parser.parse_keyword("bytes")
            plans.append(parser.parse_region())
        choices: list[DictionaryAttr] | None = None
        if parser.parse_optional_keyword("choices"):
            choices = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: _parse_choices(parser)
            )
        op = AlternativesOp(types, plans, estimates, footprints, choices)
        return finish(op, parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(" : (")
        printer.print_list(self.res, lambda r: printer.print_attribute(r.type))
        printer.print_string(")")
        numbers = zip(
            self.estimates.get_values(), self.footprints.get_values(), strict=True
        )
        for plan, (cycles, size) in zip(self.plans, numbers, strict=True):
            printer.print_string(f" plan {cycles} cycles {size} bytes ")
            printer.print_region(plan)
        if self.choices is not None:
            printer.print_string(" choices ")
            printer.print_attribute(self.choices)
        print_end(printer, self)


def _parse_choices(parser: Parser) -> DictionaryAttr:
    attribute = parser.parse_attribute()
    if not isinstance(attribute, DictionaryAttr):
        parser.raise_error("choices of a plan are {group = {...}, ...}")
    return attribute


Plan = Dialect(
    "plan",
    [
        CatalogueOp,
        AlternativesOp,
        YieldOp,
        LoadOp,
        RelayoutOp,
        ComputeOp,
        PartOp,
        ReduceOp,
        ViewOp,
    ],
    [LayoutAttr],
)
