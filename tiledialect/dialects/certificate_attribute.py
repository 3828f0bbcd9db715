"""A certificate as an attribute of the module: plain data, lists of numbers dense."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute

from tiledialect.dialects.syntax import integer, integers


def certificate_attribute(certificate: Mapping[str, object]) -> DictionaryAttr:
    """The attribute of which `plain_value` is the certificate again."""
    return DictionaryAttr({key: _attribute(v) for key, v in certificate.items()})


def _attribute(value: object) -> Attribute:
    match value:
        case int():
            return integer(value)
        case str():
            return StringAttr(value)
        case dict():
            return certificate_attribute(cast("dict[str, object]", value))
        case list():
            items = cast("list[object]", value)
            numbers = [item for item in items if isinstance(item, int)]
            if items and len(numbers) == len(items):
                return integers(numbers)
            return ArrayAttr([_attribute(item) for item in items])
        case _:
            raise TypeError(f"a certificate holds no {value!r}")
