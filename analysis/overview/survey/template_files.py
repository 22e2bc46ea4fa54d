"""The templates below directories, and saved formats that stand there without one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from autoparser.analysis.core.errors import TemplateNotFoundError

SUFFIXES = (".jinja", ".jinja2", ".j2")
FORMAT = ".format.json"
"""What names of saved formats end in by convention; any other is named itself."""
CONFIGURATION = "tokenizer_config.json"
"""The file of a model directory that may hold a template, where no file of its own does."""


def templates_in(places: Sequence[str]) -> tuple[str, ...]:
    """Return the templates that are named, or lie below what is named, each once, in order.

    Raises TemplateNotFoundError for a place that does not exist or holds no template.
    """
    found: dict[str, None] = {}
    for place in places:
        path = Path(place)
        if not path.exists():
            raise TemplateNotFoundError(
                "there is no file or directory of this name",
                file=place,
                hint="name directories with templates, or template files",
            )
        if not path.is_file() and not path.is_dir():
            # A template is read for its digest and again for its record; a pipe has one reading.
            raise TemplateNotFoundError(
                "this is neither a file nor a directory",
                file=place,
                hint="save what it gives as a file",
            )
        inside = [place] if path.is_file() else [str(each) for each in _below(path)]
        if not inside:
            raise TemplateNotFoundError(
                "there is no template in this directory or below it",
                file=place,
                hint=f"templates are files named *{SUFFIXES[0]}, or in a {CONFIGURATION}; saved"
                f" formats are named *{FORMAT}",
            )
        found.update(dict.fromkeys(inside))
    return tuple(found)


def _below(directory: Path) -> Iterator[Path]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    with_file = {path.parent for path in files if path.suffix in SUFFIXES}
    for path in files:
        alone = path.name == CONFIGURATION or path.name.endswith(FORMAT)
        if path.suffix in SUFFIXES or (alone and path.parent not in with_file):
            yield path
