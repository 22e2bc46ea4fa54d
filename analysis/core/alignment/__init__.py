"""Pure text alignment: where two renders differ, where the sentinels are, what repeats."""

from .boundaries import (
    common_prefix,
    common_suffix,
    edge_units,
    first_marker,
    is_unit,
    prefix_length,
    suffix_length,
)
from .diff import DiffSplit, diff_split
from .pieces import Pieces, find_slots
from .repetition import Repetition, decompose

__all__ = [
    "DiffSplit",
    "Pieces",
    "Repetition",
    "common_prefix",
    "common_suffix",
    "decompose",
    "diff_split",
    "edge_units",
    "find_slots",
    "first_marker",
    "is_unit",
    "prefix_length",
    "suffix_length",
]
