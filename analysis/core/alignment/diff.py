"""The difference of two renders: what both begin with, what both end with, what each has alone."""

from __future__ import annotations

from dataclasses import dataclass

from .boundaries import common_prefix, common_suffix


@dataclass(frozen=True, slots=True)
class DiffSplit:
    """Two texts, split where they differ."""

    prefix: str
    left: str
    right: str
    suffix: str


def diff_split(left: str, right: str) -> DiffSplit:
    """Split two texts; neither split cuts a tag or another unit in two."""
    prefix = common_prefix(left, right)
    left_rest, right_rest = left[len(prefix) :], right[len(prefix) :]
    suffix = common_suffix(left_rest, right_rest)
    return DiffSplit(
        prefix=prefix,
        left=left_rest[: len(left_rest) - len(suffix)],
        right=right_rest[: len(right_rest) - len(suffix)],
        suffix=suffix,
    )
