"""Pure text alignment: where two renders differ, where the sentinels are, what repeats."""

from typing import TYPE_CHECKING

from autoparser.lazy_names import lazy_names

from .boundaries import (
    common_prefix,
    common_suffix,
    differing_parts,
    edge_units,
    first_marker,
    is_unit,
    prefix_length,
    suffix_length,
)

if TYPE_CHECKING:
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
    "differing_parts",
    "edge_units",
    "find_slots",
    "first_marker",
    "is_unit",
    "prefix_length",
    "suffix_length",
]

_HOMES = {
    "diff": ("DiffSplit", "diff_split"),
    "pieces": ("Pieces", "find_slots"),
    "repetition": ("Repetition", "decompose"),
}
"""Only learning needs these: what compares the ends of texts does not wait for them."""

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
