"""Which model, at which revision, and which file of it a URL of the Hub names.

    https://huggingface.co/org/name
    https://huggingface.co/org/name/tree/REVISION
    https://huggingface.co/org/name/blob/REVISION/chat_template.jinja     (resolve and raw, too)

The Hub is the one that `huggingface_hub` is configured for (``HF_ENDPOINT``), by whose URL it may
be named as by huggingface.co. A slash in a revision is written ``%2F``, as the Hub's pages do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from autoparser.analysis.core.errors import TemplateNotFoundError

__all__ = ["Named", "is_url", "named_in", "no_model"]

# Of what was taken for a path, one slash is left.
_URL = re.compile(r"https?:/+(?P<rest>.*)", re.IGNORECASE | re.DOTALL)

_HUB = "https://huggingface.co"
_PAGES = ("tree", "blob", "resolve", "raw")
"""What stands before the revision: a folder of the model, or one of its files."""
_OTHERS = ("datasets", "spaces")
"""What is on the Hub, too, and is not a model."""


@dataclass(frozen=True, slots=True)
class Named:
    """What a URL names, not yet known to be there."""

    repository: str
    revision: str | None = None
    file: str | None = None


def is_url(source: str) -> bool:
    """Whether this is an address on the web."""
    return _URL.match(source) is not None


def named_in(url: str) -> Named:
    """Read a URL. Raises TemplateNotFoundError where it is none of a model on the Hub."""
    parts = _parts(url)
    # A model of two words first, then one of a single word; two parts alone are a model.
    pages = (at for at in (2, 1) if len(parts) > 2 and parts[at] in _PAGES)  # noqa: PLR2004
    at = next(pages, len(parts))
    repository, page = parts[:at], parts[at:]
    # The page, its revision, and a file that only some pages have.
    known = not page or (len(page) > 1 and (page[0] == "tree") == (len(page) == 2))  # noqa: PLR2004
    if not known or len(repository) not in (1, 2) or repository[0] in _OTHERS:
        raise no_model(url)
    revision = page[1] if page else None
    return Named("/".join(repository), revision, "/".join(page[2:]) or None)


def no_model(url: str) -> TemplateNotFoundError:
    """Return the error that a URL is of something else."""
    return TemplateNotFoundError(
        "this URL is of no model on the Hub, nor of a file of one",
        file=url,
        hint=f"give one such as {_HUB}/org/name, or {_HUB}/org/name/blob/main/chat_template.jinja",
    )


def _parts(url: str) -> list[str]:
    """Return what follows the Hub's own URL, part by part. Raises TemplateNotFoundError."""
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    place, path = _split(url)
    for hub in (constants.ENDPOINT, _HUB):
        ours, prefix = _split(hub)
        if place == ours and path[: len(prefix)] == prefix:
            return [unquote(part) for part in path[len(prefix) :]]
    raise TemplateNotFoundError(
        f"this URL is not of the Hub, which is {constants.ENDPOINT}",
        file=url,
        hint="download the file and give its path, or set HF_ENDPOINT to the Hub that it is of",
    )


def _split(url: str) -> tuple[str, list[str]]:
    """Return a URL's host and port, and the parts of its path."""
    match = _URL.match(url)
    try:
        parsed = urlsplit(f"//{match['rest'] if match else url}")
    except ValueError:
        raise no_model(url) from None
    return parsed.netloc.lower(), [part for part in parsed.path.split("/") if part]
