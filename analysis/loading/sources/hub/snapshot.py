"""Files of a model, fetched into the Hub library's cache.

Contract: after an error the cache holds no half of a file, and no revision points at a commit
whose files are not all there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from autoparser.analysis.core.errors import TemplateReadError

from .client import download
from .failures import HubQuestion, failure
from .listing import Listing
from .patience import asked_patiently, quietly

__all__ = ["LARGEST_FILE", "fetched", "is_cached"]

LARGEST_FILE = 128 << 20
"""Bytes of a file that is fetched; the largest tokenizers have about a third of that."""


def fetched(listing: Listing, names: Sequence[str], revision: str | None) -> Path | None:
    """Fetch these files of a listing; return the directory that holds them, None for no files.

    Raises TemplateNotFoundError, TemplateReadError.
    """
    path: Path | None = None
    for at, name in enumerate(names):
        _check_size(listing, name, listing.files.get(name) or 0)
        # The last one is asked for by the revision's own name: the cache then knows which commit
        # that is, for offline runs, and only once everything else is there.
        last = listing.asked and at == len(names) - 1
        file = _fetched(listing, name, revision if last else listing.commit)
        if file is None:
            file = _fetched(listing, name, listing.commit)
        if file is not None:
            path = file
            for _ in name.split("/"):
                path = path.parent
    return path


def _fetched(listing: Listing, name: str, revision: str | None) -> Path | None:
    """Fetch one file; None where the revision has moved on from the listing's commit."""
    # The library makes the bar itself, and passes nothing on to it.
    counted = type("_Counted", (_Counted,), {"listing": listing, "file": name})
    try:
        with quietly():
            path = asked_patiently(lambda: download(listing.repository, name, revision, counted))
    except Exception as error:  # noqa: BLE001 - the library lets many kinds through
        problem = failure(error, HubQuestion(listing.repository, revision, name))
    else:
        file = Path(path)
        return file if listing.commit in file.parts else None
    raise problem


def is_cached(listing: Listing, name: str) -> Path | None:
    """Return the whole file where the cache holds it already."""
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - slow to import

    path = try_to_load_from_cache(listing.repository, name, revision=listing.commit)
    return Path(path) if isinstance(path, str) else None


def _check_size(listing: Listing, name: str, size: int) -> None:
    if size > LARGEST_FILE:
        raise TemplateReadError(
            f"this file is larger than {LARGEST_FILE >> 20} MiB",
            file=listing.repository,
            place=name,
            hint="nothing that is read is so large; do not trust where it comes from",
        )


class _Counted:
    """The part of a progress bar that the library uses: shows nothing, and stops what is endless.

    A small compressed answer may unfold to any size, whatever the listing says.
    """

    listing: Listing
    file: str

    def __init__(self, *_: object, **options: object) -> None:
        initial = options.get("initial")
        self.count = initial if isinstance(initial, int) else 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing."""

    def update(self, size: float | None = 1) -> None:
        """Count."""
        self.count += int(size or 0)
        _check_size(self.listing, self.file, self.count)

    def ignore(self, *_: object, **__: object) -> None:
        """Show nothing."""

    close = update_transfer = refresh = ignore
    set_description = set_postfix_str = set_transfer_postfix_str = ignore
