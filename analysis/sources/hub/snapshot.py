"""Files of a model, fetched into the Hub library's cache.

Contract: after an error the cache holds no half of a file, and no revision points at a commit
whose files are not all there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autoparser.analysis.errors import TemplateReadError

from .failures import Question, failure
from .listing import Listing
from .patience import asked_patiently, quietly

__all__ = ["LARGEST_FILE", "fetched", "is_cached"]

LARGEST_FILE = 128 << 20
"""Bytes of a file that is fetched; the largest tokenizers have about a third of that."""


def fetched(listing: Listing, names: Sequence[str], revision: str | None) -> Path | None:
    """Fetch these files of a listing; give the directory that holds them, None for no files.

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
    from huggingface_hub import hf_hub_download  # noqa: PLC0415 - slow to import

    counted: Any = _counted(listing, name)
    try:
        with quietly():
            path = asked_patiently(
                lambda: hf_hub_download(
                    listing.repository,
                    name,
                    revision=revision,
                    library_name="autoparser",
                    tqdm_class=counted,
                )
            )
    except Exception as error:  # noqa: BLE001 - the library lets many kinds through
        problem = failure(error, Question(listing.repository, revision, name))
    else:
        file = Path(path)
        return file if listing.commit in file.parts else None
    raise problem


def is_cached(listing: Listing, name: str) -> Path | None:
    """Give the whole file where the cache holds it already."""
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


def _counted(listing: Listing, name: str) -> type[object]:
    """Make the bar of a download, which shows nothing, and stops one that does not end.

    A small compressed answer may unfold to any size, whatever the listing says.
    """

    class Counted:
        """The part of a progress bar that the library uses."""

        def __init__(self, *_: object, **options: object) -> None:
            initial = options.get("initial")
            self.count = initial if isinstance(initial, int) else 0

        def __enter__(self) -> Counted:
            return self

        def __exit__(self, *_: object) -> None:
            self.close()

        def update(self, size: float | None = 1) -> None:
            """Count."""
            self.count += int(size or 0)
            _check_size(listing, name, self.count)

        def close(self) -> None:
            """Nothing is open."""

        def update_transfer(self, size: float | None = 1) -> None:
            """Count nothing: these bytes are not yet those of the file."""

        def set_postfix_str(self, *_: object, **__: object) -> None:
            """Show nothing."""

        def set_transfer_postfix_str(self, *_: object, **__: object) -> None:
            """Show nothing."""

        def set_description(self, *_: object, **__: object) -> None:
            """Show nothing."""

        def refresh(self, *_: object, **__: object) -> None:
            """Show nothing."""

    return Counted
