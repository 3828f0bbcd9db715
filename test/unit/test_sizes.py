"""Sizes are plain bytes, KiB, MiB or GiB, and nothing else."""

from __future__ import annotations

import pytest

from tiledialect.sizes import SizeError, parse_size


@pytest.mark.parametrize(
    ("text", "number_of_bytes"),
    [
        ("262144", 262144),
        ("256KiB", 262144),
        ("1MiB", 1048576),
        ("2GiB", 2147483648),
        ("0", 0),
        ("007", 7),
        (262144, 262144),
        ("8589934591GiB", (1 << 63) - (1 << 30)),
        ("999999999999999999", 999999999999999999),
    ],
)
def test_sizes(text: int | str, number_of_bytes: int) -> None:
    assert parse_size(text) == number_of_bytes


@pytest.mark.parametrize(
    "text",
    [
        "256kib",
        "256KB",
        "256K",
        "256 KiB",
        " 256",
        "256\n",
        "0x40000",
        "0.25MiB",
        "1e6",
        "-1",
        "+1",
        "KiB",
        "",
        "256KiBB",
        "٣",
        "1_000",
        "default",
        "1000000000000000000",
        -1,
        True,
    ],
)
def test_everything_else_is_refused_by_name(text: int | str) -> None:
    with pytest.raises(SizeError) as error:
        parse_size(text)
    assert f"'{text}'" in str(error.value)
    assert "KiB, MiB or GiB" in str(error.value)


def test_a_size_beyond_64_bits_is_refused() -> None:
    with pytest.raises(SizeError, match="'8589934592GiB' is too large"):
        parse_size("8589934592GiB")
