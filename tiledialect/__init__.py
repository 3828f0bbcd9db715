"""tiledialect: a compiler for machines made of many tiles with private SRAM."""

__version__ = "0.1.0"
