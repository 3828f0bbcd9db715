"""Named workloads: the texts of rung 1 that a sweep can make by itself.

A workload's text for a batch, a precision and a number of blocks is a module of its own
like those of `examples/`; for the sizes that stand there it is the same text.
"""

from __future__ import annotations

from dataclasses import dataclass

from tiledialect.diagnostics import Usage

PRECISIONS = ("fp8", "fp16")

F8_ELEMENT = "f8E4M3FNUZ"


@dataclass(frozen=True)
class Mlp:
    """Up, GELU, down: without bias, the weights resident.

    `leading` are the extents in front of the channels; the first is for one of a batch.
    """

    name: str
    purpose: str
    machine: str
    function: str
    leading: tuple[int, ...]
    channels: int
    hidden: int
    comments: dict[str, str]  # the first lines, by precision; `{batch}` is filled in

    def text(self, batch: int, precision: str, blocks: int) -> str:
        """The module of a chain of blocks, each with parameters of its own."""
        head = self.comments[precision].format(batch=batch)
        if blocks > 1:
            head += f"// {blocks} of them in a chain, each with weights of its own.\n"
        types = self._types(batch, precision)
        return head + "\n" + types + "\n" + self._module(precision, blocks)

    def _types(self, batch: int, precision: str) -> str:
        leading = "x".join(map(str, (batch * self.leading[0], *self.leading[1:])))
        is_f8 = precision == "fp8"
        element = f"{F8_ELEMENT}, #scale" if is_f8 else "f16"
        lines = ["#scale = #tile.scale<-2>"] if is_f8 else []
        lines += [
            f"!x = tensor<{leading}x{self.channels}x{element}>",
            f"!up = tensor<{self.channels}x{self.hidden}x{element}>",
            f"!down = tensor<{self.hidden}x{self.channels}x{element}>",
            f"!hidden = tensor<{leading}x{self.hidden}xf16>",
        ]
        if is_f8:
            lines.append(f"!hidden_f8 = tensor<{leading}x{self.hidden}x{element}>")
            lines.append(f"!y = tensor<{leading}x{self.channels}xf16>")
        return "\n".join(lines) + "\n"

    def _module(self, precision: str, blocks: int) -> str:
        result = "!y" if precision == "fp8" else "!x"
        suffixes = [f"_{i}" if blocks > 1 else "" for i in range(blocks)]
        weights = ", ".join(
            f"%w1{s}: !up {{tile.parameter}}, %w2{s}: !down {{tile.parameter}}"
            for s in suffixes
        )
        lines = [
            f'module attributes {{tile.machine = "{self.machine}"}} {{',
            f"  func.func @{self.function}(%x: !x, {weights}) -> {result} {{",
        ]
        source = "%x"
        for suffix in suffixes:
            if suffix and source != "%x" and precision == "fp8":
                lines.append(f"    %x{suffix} = tile.cast {source} : !y to !x")
                source = f"%x{suffix}"
            lines += self._block(precision, source, suffix)
            source = f"%y{suffix}"
        lines += [f"    return {source} : {result}", "  }", "}"]
        return "\n".join(lines) + "\n"

    def _block(self, precision: str, source: str, suffix: str) -> list[str]:
        h, g, q, y = (f"%{name}{suffix}" for name in "hgqy")
        up, down = f"%w1{suffix}", f"%w2{suffix}"
        lines = [
            f"    {h} = tile.matmul {source}, {up} : (!x, !up) -> !hidden",
            f"    {g} = tile.gelu tanh {h} : !hidden",
        ]
        if precision == "fp16":
            last = f"    {y} = tile.matmul {g}, {down} : (!hidden, !down) -> !x"
            return [*lines, last]
        return [
            *lines,
            f"    {q} = tile.cast {g} : !hidden to !hidden_f8",
            f"    {y} = tile.matmul {q}, {down} : (!hidden_f8, !down) -> !y",
        ]


SIGLIP = "// The MLP of a SigLIP So400m/14 encoder layer"

WORKLOADS = (
    Mlp(
        "siglip-mlp",
        "the MLP of a SigLIP So400m/14 encoder layer",
        "ipu-c600",
        "siglip_mlp",
        (1, 729),
        1152,
        4304,
        {
            "fp8": f"{SIGLIP} in 8 bits, batch {{batch}}: up, GELU, down.\n"
            "// Activations and weights are f8 with scale -2;"
            " sums, GELU and result are f16.\n",
            "fp16": f"{SIGLIP} in f16 throughout, batch {{batch}}.\n",
        },
    ),
    Mlp(
        "tiny-mlp",
        "the MLP of the tutorial, for 16 tiles",
        "mini16",
        "tiny_mlp",
        (8,),
        64,
        128,
        {
            "fp8": "// The tutorial's program: an 8-bit MLP small enough to follow on"
            " 16 tiles.\n",
            "fp16": "// The tutorial's program in f16: an MLP small enough to follow on"
            " 16 tiles.\n",
        },
    ),
)
"""All that a sweep can name."""


def workload_named(name: str) -> Mlp:
    """The workload of that name. Raises Usage."""
    for workload in WORKLOADS:
        if workload.name == name:
            return workload
    known = ", ".join(workload.name for workload in WORKLOADS)
    raise Usage(
        f"no workload is called '{name}' (known: {known}; or a file that ends in .mlir)"
    )
