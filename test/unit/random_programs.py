"""Random tensor programs of one to five operations, as text.

Well-conditioned ones, as the bound of a comparison follows from formats alone: only
tanh's results are raised, only powers are divided by, and a cast to i32, which no error
may flip, is of values that the machine makes exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from random import Random

Shape = tuple[int, ...]

EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 11, 16, 17, 24, 31, 53)
ELEMENTS = 1500
FLOATS = ("f16", "f32", "bf16")
FLOAT8 = ("f8E4M3FNUZ", "f8E5M2FNUZ")
SAFE_UNARY = ("neg", "abs", "relu", "tanh", "gelu tanh", "gelu erf")


@dataclass(frozen=True)
class Tensor:
    """A value of the program. `exact`: the machine makes the reference's very bits, so
    a cast to i32 cannot flip; `positive`: safe to divide by."""

    name: str
    shape: Shape
    format: str
    scale: int = 0
    exact: bool = False
    positive: bool = False

    @property
    def type(self) -> str:
        body = "x".join([*map(str, self.shape), self.format])
        scale = f", #tile.scale<{self.scale}>" if self.scale else ""
        return f"tensor<{body}{scale}>"


@dataclass
class Writer:
    """A program while it is being written."""

    random: Random
    arguments: list[Tensor] = field(default_factory=list[Tensor])
    values: list[Tensor] = field(default_factory=list[Tensor])
    lines: list[str] = field(default_factory=list[str])

    def fresh(self) -> str:
        return f"%v{len(self.lines)}"

    def emit(self, text: str, value: Tensor) -> Tensor:
        self.lines.append(f"{value.name} = {text}")
        self.values.append(value)
        return value

    def source(self, shape: Shape, format: str) -> Tensor:
        """An argument or a constant of this type; sometimes an older one."""
        same = [v for v in self.values if (v.shape, v.format) == (shape, format)]
        if same and self.random.random() < 0.5:
            return self.random.choice(same)
        scale = self.random.choice((-2, 0, 1)) if format in FLOAT8 else 0
        if self.random.random() < 0.2:
            return self.constant(Tensor(self.fresh(), shape, format, scale))
        name = f"%a{len(self.arguments)}"
        value = Tensor(name, shape, format, scale, exact=True)
        self.arguments.append(value)
        self.values.append(value)
        return value

    def constant(self, value: Tensor) -> Tensor:
        value = replace(value, exact=True)
        integer = value.format == "i32"
        if self.random.random() < 0.5 or prod(value.shape) not in range(1, 40):
            text = str(self.random.randint(-9, 9)) if integer else "0.75"
            return self.emit(f"tile.constant splat {text} : {value.type}", value)
        numbers = iter(range(1, prod(value.shape) + 1))
        literal = _nested(value.shape, numbers, "" if integer else ".0")
        return self.emit(f"tile.constant dense<{literal}> : {value.type}", value)

    def older(self, formats: Sequence[str]) -> Tensor:
        """A value to go on with, most often the newest."""
        found = [v for v in self.values if v.format in formats]
        if not found or self.random.random() < 0.2:
            return self.source(self.shape(), self.random.choice(formats))
        return found[-1] if self.random.random() < 0.7 else self.random.choice(found)

    def shape(self, ranks: Sequence[int] = (0, 1, 1, 2, 2, 2, 3, 4)) -> Shape:
        while True:
            rank = self.random.choice(ranks)
            shape = tuple(self.random.choice(EXTENTS) for _ in range(rank))
            if self.random.random() < 0.04 and shape:
                position = self.random.randrange(rank)
                shape = (*shape[:position], 0, *shape[position + 1 :])
            if prod(shape) <= ELEMENTS:
                return shape


def _nested(shape: Shape, numbers: Iterator[int], end: str) -> str:
    if not shape:
        return f"{next(numbers)}{end}"
    inner = ", ".join(_nested(shape[1:], numbers, end) for _ in range(shape[0]))
    return f"[{inner}]"


def add_unary(w: Writer) -> None:
    x = w.older((*FLOATS, "i32"))
    names = ("neg", "abs", "relu") if x.format == "i32" else SAFE_UNARY
    apply_unary(w, x, w.random.choice(names))


def add_chain(w: Writer) -> None:
    """Functions that are steep somewhere, where they are not: e^tanh, then a root."""
    x = apply_unary(w, w.older(FLOATS), "tanh")
    x = apply_unary(w, x, "exp")
    name = w.random.choice(("exp", "sqrt", "rsqrt", "reciprocal", "log"))
    if name != "exp":
        apply_unary(w, x, name)


def apply_unary(w: Writer, x: Tensor, name: str) -> Tensor:
    value = replace(
        x,
        name=w.fresh(),
        exact=x.exact and name in ("neg", "abs", "relu"),
        positive=name == "exp",
    )
    return w.emit(f"tile.{name} {x.name} : {x.type}", value)


def add_binary(w: Writer) -> None:
    x = w.older((*FLOATS, "i32"))
    other = [1 if w.random.random() < 0.3 else e for e in x.shape]
    cut = w.random.randint(0, len(other)) if w.random.random() < 0.4 else 0
    y = w.source(tuple(other[cut:]), x.format)
    names = ["add", "sub", "mul", "max", "min"]
    if y.positive or x.format == "i32":
        names.append("div")
    name = w.random.choice(names)
    value = Tensor(
        w.fresh(),
        x.shape,
        x.format,
        exact=x.format == "i32" or (x.exact and y.exact and name in ("max", "min")),
    )
    if name in ("sub", "div") or w.random.random() < 0.7:
        types = f"({x.type}, {y.type})"
        w.emit(f"tile.{name} {x.name}, {y.name} : {types} -> {value.type}", value)
    else:
        types = f"({y.type}, {x.type})"
        w.emit(f"tile.{name} {y.name}, {x.name} : {types} -> {value.type}", value)


def add_cast(w: Writer) -> None:
    x = w.older((*FLOATS, *FLOAT8, "i32"))
    formats = [f for f in (*FLOATS, *FLOAT8) if f != x.format]
    if x.exact:
        formats.append("i32")
    format = w.random.choice(formats)
    scale = w.random.choice((-3, 0, 2)) if format in FLOAT8 else 0
    value = Tensor(w.fresh(), x.shape, format, scale, exact=x.exact)
    w.emit(f"tile.cast {x.name} : {x.type} to {value.type}", value)


def add_reduce(w: Writer) -> None:
    x = w.older((*FLOATS, "i32"))
    if not x.shape:
        return
    rank = len(x.shape)
    axes = sorted(w.random.sample(range(rank), w.random.randint(1, rank)))
    keep = w.random.random() < 0.5
    shape = tuple(
        1 if i in axes else e for i, e in enumerate(x.shape) if keep or i not in axes
    )
    kind = w.random.choice(("sum", "max"))
    exact = x.format == "i32" or (x.exact and kind == "max")
    value = Tensor(w.fresh(), shape, x.format, exact=exact)
    word = " keepdims" if keep else ""
    text = f"tile.reduce {kind} {x.name} over {axes}{word} : {x.type} -> {value.type}"
    w.emit(text, value)


def add_transpose(w: Writer) -> None:
    x = w.older((*FLOATS, *FLOAT8, "i32"))
    order = list(range(len(x.shape)))
    w.random.shuffle(order)
    value = replace(x, name=w.fresh(), shape=tuple(x.shape[i] for i in order))
    w.emit(f"tile.transpose {x.name} {order} : {x.type} -> {value.type}", value)


def add_reshape(w: Writer) -> None:
    x = w.older((*FLOATS, *FLOAT8, "i32"))
    shapes: list[Shape] = [(prod(x.shape),), (1, *x.shape), (*x.shape, 1)]
    if len(x.shape) >= 2:
        shapes.append((x.shape[0] * x.shape[1], *x.shape[2:]))
        shapes.append((*x.shape[:-2], x.shape[-1], x.shape[-2]))
    if prod(x.shape) == 1:
        shapes.append(())
    value = replace(x, name=w.fresh(), shape=w.random.choice(shapes))
    w.emit(f"tile.reshape {x.name} : {x.type} -> {value.type}", value)


def add_matmul(w: Writer) -> None:
    x = w.older((*FLOATS, *FLOAT8))
    if len(x.shape) < 2:
        x = w.source(w.shape((2, 2, 3)), x.format)
    transpose_a, transpose_b = w.random.random() < 0.3, w.random.random() < 0.3
    batch, (rows, depth) = x.shape[:-2], x.shape[-2:]
    if transpose_a:
        rows, depth = depth, rows
    columns = w.random.choice(EXTENTS)
    while max(depth, rows) * columns * prod(batch) > ELEMENTS:
        columns = max(1, columns // 2)
    right = (columns, depth) if transpose_b else (depth, columns)
    other = w.random.choice((FLOAT8[0], FLOAT8[1]))
    y = w.source(
        (*(batch if w.random.random() < 0.6 else ()), *right),
        other if x.format in FLOAT8 else x.format,
    )
    narrow = x.format == "f16" or x.format in FLOAT8
    accumulate = w.random.choice(("", "", "f16", "f32") if narrow else ("", "f32"))
    format = w.random.choice(FLOATS) if not narrow else w.random.choice(("f16", "f32"))
    value = Tensor(w.fresh(), (*batch, rows, columns), format)
    flags = (" transpose_a" if transpose_a else "") + (
        " transpose_b" if transpose_b else ""
    )
    flags += f" accumulate {accumulate}" if accumulate else ""
    types = f"({x.type}, {y.type}) -> {value.type}"
    w.emit(f"tile.matmul {x.name}, {y.name}{flags} : {types}", value)


ADDERS = (
    *(add_matmul, add_matmul, add_matmul, add_unary, add_chain, add_binary),
    *(add_binary, add_cast, add_reduce, add_transpose, add_reshape),
)


def random_program(seed: int, machine: str) -> str:
    """A program of one to five operations on a machine given by name or as a table."""
    random = Random(seed)
    w = Writer(random)
    for _ in range(random.randint(1, 5)):
        random.choice(ADDERS)(w)
    if random.random() < 0.1:
        w.source(w.shape(), "f16")
    results = [w.values[-1]]
    while random.random() < 0.3:
        results.append(random.choice(w.values))
    arguments = ", ".join(
        f"{a.name}: {a.type}" + (" {tile.parameter}" if random.random() < 0.3 else "")
        for a in w.arguments
    )
    body = "\n    ".join(w.lines)
    types = ", ".join(r.type for r in results)
    names = ", ".join(r.name for r in results)
    return (
        f"module attributes {{tile.machine = {machine}}} {{\n"
        f"  func.func @main({arguments}) -> ({types}) {{\n    {body}\n"
        f"    return {names} : {types}\n  }}\n}}\n"
    )
