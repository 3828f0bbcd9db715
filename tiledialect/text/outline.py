"""What may stand behind its first use in a text: aliases and resources.

MLIR prints most `#loc` aliases and all `dense_resource` data at the end. When one is
needed that was not read yet, the parser jumps to it, reads it and jumps back. Resources
become plain dense constants at once: xDSL 0.75.0 keeps them in a store that all modules
of a process share, where equal names lose their data.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from typing import Literal, overload

from xdsl.context import Context
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, TypeAttribute
from xdsl.parser import ParserState
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind

from tiledialect.text.dense import DenseParser
from tiledialect.text.lexer import TileLexer

_ALIAS = re.compile(r"^[ \t]*([#!][\w$.-]+)[ \t]*=", re.MULTILINE)
_RESOURCES = re.compile(r"^(?:(?!//).)*?(\{-#\s*(?:dialect|external)_resources)", re.M)

ELIDED = "__elided__"
ALIGNMENT_BYTES = 4
"""A resource starts with its alignment; its data follows."""


class OutlineParser(DenseParser):
    """The part of the parser that finds aliases and resources anywhere."""

    def __init__(self, context: Context, text: str, file_name: str) -> None:
        self._resolving = set[str]()
        self._resolved_early = set[str]()
        self._found: dict[str, str] = {}
        self._metadata_end: int | None = None
        super().__init__(context, text, file_name)
        self._parser_state = ParserState(TileLexer(self.lexer.input))
        self.previous_span: Span = self._current_token.span

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> MLIRToken:
        token = self._current_token
        if expected_kind is not None and token.kind != expected_kind:
            self.raise_error(f"Expected '{expected_kind.value}'")
        self.previous_span = token.span
        return super()._consume_token()

    @cached_property
    def _alias_positions(self) -> dict[str, int]:
        """Where each alias is defined; only looked for when one is missing."""
        matches = list(_ALIAS.finditer(self.lexer.input.content))
        return {match[1]: match.start(1) for match in reversed(matches)}

    @contextmanager
    def _elsewhere(self, position: int) -> Generator[None]:
        """Parse at `position`, then go on where the parser was."""
        here = self.pos
        self._resume_from(position)
        yield
        self._resume_from(here)

    @overload
    def _parse_extended_type_or_attribute(
        self, attr_or_dialect_name: str, is_type: Literal[False]
    ) -> Attribute: ...

    @overload
    def _parse_extended_type_or_attribute(
        self, attr_or_dialect_name: str, is_type: Literal[True]
    ) -> TypeAttribute: ...

    def _parse_extended_type_or_attribute(
        self, attr_or_dialect_name: str, is_type: bool
    ) -> Attribute:
        name = attr_or_dialect_name
        if "." in name:
            self._refuse_unknown(name, is_type)
        elif self._current_token.kind != MLIRTokenKind.LESS:
            self._resolve_alias(("!" if is_type else "#") + name)
        if is_type:
            return super()._parse_extended_type_or_attribute(name, True)
        return super()._parse_extended_type_or_attribute(name, False)

    def _refuse_unknown(self, name: str, is_type: bool) -> None:
        """Point at the unknown name itself: the next token may be lines away."""
        find = self.ctx.get_optional_type if is_type else self.ctx.get_optional_attr
        if find(name) is None:
            kind = "Type" if is_type else "Attribute"
            self.raise_error(f"{kind} {name} is not registered", self.previous_span)

    def _resolve_alias(self, name: str) -> None:
        if name in self.attribute_aliases:
            return
        at = self.previous_span
        if name not in self._alias_positions:
            self.raise_error(f"undefined symbol alias '{name}'", at)
        if name in self._resolving:
            self.raise_error(f"alias '{name}' is defined by itself", at)
        self._resolving.add(name)
        with self._elsewhere(self._alias_positions[name]):
            self._parse_alias_def()
        self._resolving.discard(name)
        self._resolved_early.add(name)

    def _parse_alias_def(self) -> None:
        name = self._current_token.text
        if name in self._resolved_early:
            self._resolved_early.discard(name)
            del self.attribute_aliases[name]
        super()._parse_alias_def()

    def _parse_optional_builtin_parametrized_attr(self) -> Attribute | None:
        if self._current_token.text == "dense_resource":
            self._consume_token()
            return self._parse_resource_as_dense()
        return super()._parse_optional_builtin_parametrized_attr()

    def _parse_resource_as_dense(self) -> Attribute:
        self.parse_punctuation("<", " in dense_resource attribute")
        at = self._current_token.span
        key = self.parse_identifier(context_msg=" for resource handle")
        self.parse_punctuation(">", " in dense_resource attribute")
        self.parse_punctuation(":", " in dense_resource attribute")
        type = self._parse_dense_literal_type()
        if key == ELIDED:
            self.raise_error("constant data was elided when this text was printed", at)
        payload = self._resources.get(key)
        if payload is None:
            self.raise_error(f"resource '{key}' has no data in this text", at)
        self.refuse_huge(type, at)
        data = self.payload_bytes("0x" + payload[2 + 2 * ALIGNMENT_BYTES :], type, at)
        return DenseIntOrFPElementsAttr(type, BytesAttr(data))

    @cached_property
    def _resources(self) -> dict[str, str]:
        """The hexadecimal data of each resource of the text."""
        match = _RESOURCES.search(self.lexer.input.content)
        if match is not None:
            with self._elsewhere(match.start(1)):
                self._parse_file_metadata_dictionary()
        return self._found

    def _parse_file_metadata_dictionary(self) -> None:
        """Read the resources once, wherever they are first needed."""
        if self._metadata_end is not None:
            self._resume_from(self._metadata_end)
            return
        super()._parse_file_metadata_dictionary()
        self._metadata_end = self.pos

    def _parse_dialect_resources(self) -> None:
        self.parse_comma_separated_list(self.Delimiter.BRACES, self._parse_of_dialect)

    def _parse_of_dialect(self) -> None:
        name = self.parse_identifier(context_msg=" of a dialect")
        self.parse_punctuation(":")
        if name != "builtin":
            self.raise_error(f"resources of dialect '{name}' are not supported")
        self.parse_comma_separated_list(self.Delimiter.BRACES, self._parse_one)

    def _parse_one(self) -> None:
        at = self._current_token.span
        key = self.parse_identifier_or_str_literal(" for resource handle")
        self.parse_punctuation(":")
        payload = self.parse_str_literal(" with the data of a resource")
        if key in self._found:
            self.raise_error(f"resource '{key}' is defined twice", at)
        if not payload.startswith("0x") or len(payload) < 2 + 2 * ALIGNMENT_BYTES:
            self.raise_error(f"resource '{key}' is no hexadecimal data", at)
        self._found[key] = payload

    def _parse_external_resources(self) -> None:
        self.raise_error("external resources are not supported")
