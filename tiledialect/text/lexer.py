"""Tokens of a text: xDSL's lexer, with strings in UTF-8 kept as strings.

xDSL 0.75.0 takes a string with an escaped character beyond ASCII for bytes, though its
printer writes every such character escaped: names and file names did not read back.
"""

from __future__ import annotations

from xdsl.utils.lexer import Position
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral


class TileLexer(MLIRLexer):
    """xDSL's lexer, whose bytes are only what is no UTF-8."""

    def _lex_string_literal(self, start_pos: Position) -> MLIRToken:
        token = super()._lex_string_literal(start_pos)
        if token.kind == MLIRTokenKind.BYTES_LIT and _is_text(token):
            return MLIRToken(MLIRTokenKind.STRING_LIT, token.span)
        return token


def _is_text(token: MLIRToken) -> bool:
    try:
        StringLiteral.from_span(token.span).bytes_contents.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
