"""The file of digests, one line a template, and what differs from it in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeAlias

from autoparser import Json

from .golden_answers import SECTIONS, answers, digest_of, template_paths, text_of

FILE = Path(__file__).with_name("digests.txt")
WIDTH = 11
"""Of a column: a digest and a space."""
SHOWN_TEMPLATES = 2
"""Most differing templates that are printed in full; the others are named."""
SHOWN_LINES = 8
"""So many lines of an answer are printed."""
SHOWN_CHARACTERS = 140
"""So many characters of such a line are printed."""

Digests: TypeAlias = dict[str, str]
"""Of one template, by section."""


def golden_digests() -> dict[str, Digests]:
    """Read the file: the digests of each template."""
    rows = [
        line.split(maxsplit=len(SECTIONS))
        for line in FILE.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    return {name: dict(zip(SECTIONS, digests, strict=True)) for *digests, name in rows}


def write_digests() -> None:
    """Write the file anew."""
    paths = template_paths()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(_digests_at, paths.values(), chunksize=8))
    lines = [
        "# What is said of each template, a digest a section: golden_answers.py makes them.",
        "# Where a difference is meant, write the file anew: python -m tests.goldens --write",
        _row([f"#{SECTIONS[0]}", *SECTIONS[1:]], "name"),
        *(_row(list(digests.values()), name) for name, digests in zip(paths, found, strict=True)),
    ]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def differences(names: Sequence[str]) -> str:
    """Describe how templates differ from the file, or return an empty text."""
    golden, paths = golden_digests(), template_paths()
    found: dict[str, dict[str, Json]] = {}
    for name in names:
        now, before = answers(paths[name]), golden.get(name, {})
        differing = {
            section: answer
            for section, answer in now.items()
            if digest_of(answer) != before.get(section)
        }
        if differing:
            found[name] = differing
    return "\n".join(_told(found, len(names))) if found else ""


def _told(found: Mapping[str, Mapping[str, Json]], asked: int) -> Iterator[str]:
    counts = Counter(section for differing in found.values() for section in differing)
    sections = ", ".join(f"{section} of {count}" for section, count in counts.most_common())
    yield f"{len(found)} of {asked} templates differ from {FILE.name}: {sections}"
    for at, (name, differing) in enumerate(found.items()):
        yield f"{name}: {', '.join(differing)}"
        if at < SHOWN_TEMPLATES:
            for section, answer in differing.items():
                yield f"  {section} now:"
                yield from (f"    {line}" for line in _shortened(answer))
    yield f"Before and after: python -m tests.goldens --beside HEAD {next(iter(found))!r}"
    yield "If all of it is meant: python -m tests.goldens --write, and look at the difference."


def _shortened(answer: Json) -> Iterator[str]:
    lines = text_of(answer).splitlines()
    for line in lines[:SHOWN_LINES]:
        yield line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…"
    if len(lines) > SHOWN_LINES:
        yield f"… and {len(lines) - SHOWN_LINES} more lines"


def _digests_at(path: Path) -> Digests:
    return {section: digest_of(answer) for section, answer in answers(path).items()}


def _row(cells: Sequence[str], name: str) -> str:
    return "".join(f"{cell:<{WIDTH}}" for cell in cells) + name
