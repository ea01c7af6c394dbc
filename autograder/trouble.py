"""What speaks to the person who asked for something."""

from __future__ import annotations


class Trouble(Exception):
    """A request that cannot be carried out: the text says why, and the way out."""
