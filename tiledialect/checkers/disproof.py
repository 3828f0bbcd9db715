"""What a checker raises when a claim does not hold."""

from __future__ import annotations


class Disproof(Exception):
    """A claim of the program that is false, as one line for the user.

    Raised by the checkers' algorithms, which know no operation; the pass that called
    them puts the place in the source in front.
    """
