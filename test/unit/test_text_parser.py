"""Text becomes IR with places; aliases and resources may stand anywhere."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FusedLoc,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp

from tiledialect.diagnostics import ParseFailed, locate, location_text
from tiledialect.pipeline import make_context
from tiledialect.text.parser import NESTING_LIMIT, parse_module
from tiledialect.text.printer import print_module


def parse(text: str, *, unregistered: bool = False) -> ModuleOp:
    return parse_module(make_context(allow_unregistered=unregistered), text, "t.mlir")


def error_of(text: str, *, unregistered: bool = False) -> str:
    with pytest.raises(ParseFailed) as error:
        parse(text, unregistered=unregistered)
    return str(error.value)


def test_every_operation_has_its_place() -> None:
    module = parse(
        """// a comment

module {
  func.func @f(%x: tensor<2xf32>,
               %y: tensor<2xf32>) -> tensor<2xf32> {
    %z, %w = "a.b"(%x) ({
      "a.c"() : () -> ()
    }) : (tensor<2xf32>) -> (tensor<2xf32>, i32)
    return %z : tensor<2xf32>
  }
}""",
        unregistered=True,
    )
    places = [locate(op).removeprefix("t.mlir:") for op in module.walk()]
    assert places == ["3:1", "4:3", "6:14", "7:7", "9:5"]
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    arguments = [location_text(argument.location) for argument in function.args]
    assert arguments == ["t.mlir:4:16", "t.mlir:5:16"]


def test_an_implicit_module_has_the_place_of_its_text() -> None:
    assert (
        locate(parse("func.func private @f()\nfunc.func private @g()")) == "t.mlir:1:1"
    )


def test_a_given_location_is_kept() -> None:
    module = parse('module {} loc("net.py":12:4)')
    assert locate(module) == "net.py:12:4"
    assert locate(parse("module {} loc(unknown)")) == "t.mlir:1:1"


def test_a_chunk_counts_lines_in_its_file() -> None:
    module = parse_module(make_context(), "\n module {}", "t.mlir", first_line=40)
    assert locate(module) == "t.mlir:41:2"
    with pytest.raises(ParseFailed, match=r"t\.mlir:41:10: error"):
        parse_module(make_context(), "\nmodule { ? }", "t.mlir", first_line=40)


LATE = """
module {
  func.func @main(%x: i32 loc(#loc1)) -> i32 {
    return %x : i32 loc(#loc3)
  } loc(#loc4)
} loc(#loc1)
#loc1 = loc("a.py":1:2)
#loc3 = loc(fused<"cse">[#loc1, #loc2])
#loc2 = loc("b.py":3:4 to :9)
#loc4 = loc(callsite("f"(#loc2) at #loc1))
"""


def test_locations_may_be_defined_behind_their_use() -> None:
    module = parse(LATE)
    assert [locate(op) for op in module.walk()] == ["a.py:1:2", "b.py:3:4", "a.py:1:2"]
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    assert location_text(function.args[0].location) == "a.py:1:2"
    last = function.body.block.last_op
    assert last is not None
    assert isinstance(last.location, FusedLoc)


def test_locations_round_trip_when_printed() -> None:
    text = print_module(parse(LATE), locations=True)
    assert print_module(parse(text), locations=True) == text
    assert 'loc(fused<"cse">["a.py":1:2, "b.py":3:4])' in text


def test_types_and_attributes_may_be_aliases_behind_their_use() -> None:
    module = parse(
        "func.func private @f(!t) attributes {a = #n}\n!t = i32\n#n = 7 : i8"
    )
    assert "@f(i32) -> () attributes {a = 7 : i8}" in print_module(module)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("module attributes {a = #x} {}", "1:24: error: undefined symbol alias '#x'"),
        (
            "module attributes {a = #x} {}\n#x = #y\n#y = #x",
            "'#x' is defined by itself",
        ),
        ("module {}\n#x = 1\n#x = 2", "3:4: error: re-declaration of alias '#x'"),
        ("module attributes {a = #x} {}\n#x = 1\n#x = 2", "3:4: error: re-declaration"),
    ],
)
def test_an_alias_needs_one_definition(text: str, error: str) -> None:
    assert error in error_of(text)


def resource(key: str, payload: str) -> str:
    return (
        f"module attributes {{a = dense_resource<{key}> : tensor<2xf32>}} {{}}\n"
        f'{{-#\n dialect_resources: {{ builtin: {{ w: "{payload}" }} }}\n#-}}'
    )


def test_a_resource_becomes_a_constant_of_its_own_module() -> None:
    """Two texts with one key do not share it, whatever the order."""
    first = parse(resource("w", "0x040000000000803F00000040"))
    second = parse(resource("w", "0x04000000000080BF00000040"))
    for module, bits in ((first, "0000803f00000040"), (second, "000080bf00000040")):
        attribute = module.attributes["a"]
        assert isinstance(attribute, DenseIntOrFPElementsAttr)
        assert attribute.data.data.hex() == bits
    assert "dense_resource" not in print_module(first)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (resource("v", "0x0400000000000000"), "1:39: error: resource 'v' has no data"),
        (resource("__elided__", "0x04000000"), "1:39: error: constant data was elided"),
        (resource("w", "0x040000000000"), "1:39: error: payload of 2 bytes"),
        (resource("w", "abc"), "3:34: error: resource 'w' is no hexadecimal data"),
        ("module {}\n{-# external_resources: {} #-}", "external resources are not"),
    ],
)
def test_a_resource_needs_its_data(text: str, error: str) -> None:
    assert error in error_of(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "module {\n  func.func @f() {\n    foo.bar\n  }\n}",
            "3:5: error: Operation foo.bar is",
        ),
        (
            '%0 = "tile.nope"() : () -> i32',
            "1:6: error: Operation tile.nope is not registered",
        ),
        (
            "tile.matmull",
            "1:1: error: Operation tile.matmull is not registered;"
            " did you mean tile.matmul?",
        ),
        ("func.func private @f(!tile.nope\n\n)", "1:22: error: Type tile.nope is not"),
        (
            "module attributes {a = #tile.nope\n\n} {}",
            "1:24: error: Attribute tile.nope",
        ),
        (
            "func.func @f() {\n  return %b : i32\n\n}",
            "2:10: error: value %b is used but not",
        ),
        ("module {", "2:1: error: unexpected end of text"),
        ("module {}\n}", "2:1: error: operation expected"),
        ('module { "abc', "1:10: error: End of file reached before closing string"),
        (
            "module attributes {a = 300 : i8\n\n} {}",
            "1:30: error: Integer value 300 is out of",
        ),
        ("module attributes {a = ²} {}", "1:24: error: invalid literal for int()"),
        (
            "module attributes {a = affine_map<(d0)[s0] -> (d0 * s0)>} {}",
            "error: Multiplication with",
        ),
        ("module attributes {a = 1, a = 2} {}", "error: Duplicate key 'a'"),
        (
            "module @f attributes",
            "2:1: error: unexpected end of text: Expected attribute dict",
        ),
    ],
)
def test_malformed_text_is_one_error_in_its_place(text: str, error: str) -> None:
    message = error_of(text + "\n")
    assert message.startswith("t.mlir:")
    assert error in message
    assert "\n" not in message


def nested(depth: int) -> dict[str, str]:
    """Texts of everything that nests, `depth` deep."""
    regions = '"a.b"() ({\n' * depth + "}) : () -> ()\n" * depth
    return {
        "regions": regions,
        "arrays": f"module attributes {{a = {'[' * depth}{']' * depth}}} {{}}",
        "dictionaries": f"module attributes {'{a = ' * depth}1{'}' * depth} {{}}",
        "tuples": f"module attributes {{a = {'tuple<' * depth}i8{'>' * depth}}} {{}}",
        "functions": f"module attributes {{a = {'()->(' * depth}i8{')' * depth}}} {{}}",
        "locations": f"module {{}} loc({'fused[' * depth}unknown{']' * depth})",
    }


@pytest.mark.parametrize("kind", nested(1))
@pytest.mark.usefixtures("deep_recursion")
def test_nesting_is_accepted_up_to_a_limit(kind: str) -> None:
    text = nested(NESTING_LIMIT - 2)[kind]
    module = parse(text, unregistered=True)
    printed = print_module(module, locations=True)
    assert print_module(parse(printed, unregistered=True), locations=True) == printed


@pytest.mark.parametrize("depth", [NESTING_LIMIT + 1, 50_000])
@pytest.mark.parametrize("kind", nested(1))
@pytest.mark.usefixtures("deep_recursion")
def test_deeper_nesting_is_refused(kind: str, depth: int) -> None:
    message = error_of(nested(depth)[kind], unregistered=True)
    assert message.endswith(f"error: nesting too deep (limit {NESTING_LIMIT})")


@pytest.mark.parametrize("text", ["(" * 50_000, "[" * 50_000])
@pytest.mark.usefixtures("deep_recursion")
def test_what_only_python_limits_is_refused_too(text: str) -> None:
    body = "affine_map<(d0) -> " if text[0] == "(" else "dense<"
    message = error_of(f"module attributes {{a = {body}{text}")
    assert message.startswith("t.mlir:1:")
    assert message.endswith(f"error: nesting too deep (limit {NESTING_LIMIT})")


def test_symbols_of_any_text_round_trip() -> None:
    text = print_module(
        parse(r'module @"model v1/\CE\BB" { func.func private @"a b"() }')
    )
    assert r'@"model v1/\CE\BB"' in text
    assert print_module(parse(text)) == text


def test_strings_round_trip_and_bytes_stay_bytes() -> None:
    text = r'module attributes {a = "\C3\A9\0A", b = "\FF"} {}'
    module = parse(text)
    assert module.attributes["a"] == StringAttr("é\n")
    assert module.attributes["b"] == BytesAttr(b"\xff")
    again = parse(print_module(module))
    assert again.attributes == module.attributes


def test_line_ends_do_not_matter() -> None:
    text = "// windows\nmodule {\n  func.func private @f() // x\n}\n"
    windows = parse(text.replace("\n", "\r\n"))
    assert print_module(windows) == print_module(parse(text))
    assert [locate(op) for op in windows.walk()] == [
        locate(op) for op in parse(text).walk()
    ]


def test_an_empty_text_is_an_empty_module() -> None:
    for text in ("", "// nothing here\n"):
        assert not parse(text).ops


def test_places_are_attributes_of_one_file() -> None:
    module = parse("module {}")
    assert isinstance(module.location, FileLineColLoc)
    assert module.location.filename.data == "t.mlir"
