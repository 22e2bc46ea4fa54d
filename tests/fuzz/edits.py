"""Run the trials of the fuzzers (options, shares of templates, finds), and edit texts at random."""

from __future__ import annotations

import argparse
import multiprocessing
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHOWN = 20
"""Finds that are printed at most."""


@dataclass
class Tally:
    """The counts of a trial, and its finds."""

    counts: Counter[str] = field(default_factory=Counter[str])
    finds: list[Any] = field(default_factory=list[Any])

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.counts + other.counts, self.finds + other.finds)


def fuzz_options(program: str, doc: str, unit: str, amount: int) -> argparse.ArgumentParser:
    """Return the options of a program that makes so many trials of a unit unless told otherwise."""
    options = argparse.ArgumentParser(prog=f"python -m {program}", description=doc)
    options.add_argument(f"--{unit}", type=int, default=amount, dest="amount", help="in all")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--jobs", "-j", type=int, default=2)
    options.add_argument("words", nargs="*", help="only templates whose names hold one of these")
    return options


def paths_named(paths: Iterable[Path], words: Sequence[str]) -> list[Path]:
    """Return all paths, or those whose names hold one of the words."""
    return [path for path in paths if not words or any(word in path.stem for word in words)]


def in_shares(
    fuzz: Callable[[Sequence[Path], int], Tally], paths: Sequence[Path], amount: int, jobs: int
) -> Tally:
    """Fuzz every n-th path in each of some processes, with as many trials in all as `amount`."""
    count = max(1, min(jobs, len(paths)))
    shares = [paths[start::count] for start in range(count)]
    amounts = [amount // count] * count
    amounts[0] += amount - sum(amounts)
    if count == 1 or "fork" not in multiprocessing.get_all_start_methods():
        return sum(map(fuzz, shares, amounts), Tally())
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("fork")) as pool:
        return sum(pool.map(fuzz, shares, amounts), Tally())


def print_finds(finds: Sequence[object], *summary: str) -> int:
    """Print the first finds and lines behind them; return the exit code, 1 if there is a find."""
    for line in (*finds[:SHOWN], *summary):
        # A text may hold lone surrogates, which UTF-8 does not encode.
        sys.stdout.write(str(line).encode("utf-8", "backslashreplace").decode() + "\n")
    return 1 if finds else 0


LONGEST = 12
"""Characters that one edit takes at most."""
EDITS = (
    *("delete", "double", "swap", "truncate", "insert", "insert"),
    *("delete marker", "delete marker", "double marker", "respace", "respace"),
    *("break lines", "begin with a mark"),
)
"""The kinds of edits, each as often as it is to be chosen."""
_SPACES = ("", " ", "\n", "\r\n", "\n\n", "\t", "\u00a0", "\u2003", "\ufeff", "  ")
_SCRAPS = (
    *("<", "</", ">", "{", "}", "[", "]", '"', "'", "\\", ",", ":", "\n", " "),
    *("\u00e9", "\x00", "\u00a0", "\ufeff", "\r\n"),
)


def edited(rng: random.Random, text: str, pieces: Sequence[str], count: int) -> str:
    """Make so many edits; `pieces` are the markers of the text's format."""
    for _ in range(count):
        text = _edited(rng, text, pieces)
    return text


def _edited(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    match rng.choice(EDITS).split():
        case ["delete", *marker]:
            start, end = _piece(rng, text, pieces) if marker else _stretch(rng, text)
            return text[:start] + text[end:]
        case ["double", *marker]:
            start, end = _piece(rng, text, pieces) if marker else _stretch(rng, text)
            return text[:end] + text[start:]
        case ["swap"]:
            start, middle = _stretch(rng, text)
            end = min(len(text), middle + rng.randint(1, LONGEST))
            return text[:start] + text[middle:end] + text[start:middle] + text[end:]
        case ["truncate"]:
            return text[: rng.randint(0, len(text))]
        case ["insert"]:
            # A marker, a part of one, or a character that means something.
            piece = rng.choice(pieces or _SCRAPS) if rng.random() < 0.7 else rng.choice(_SCRAPS)
            if rng.random() < 0.5:
                start, end = _stretch(rng, piece)
                piece = piece[start:end]
            at = rng.randint(0, len(text))
            return text[:at] + piece + text[at:]
        case ["respace"]:
            runs = list(re.finditer(r"\s+", text))
            at = rng.randint(0, len(text))
            start, end = rng.choice(runs).span() if runs and rng.random() < 0.8 else (at, at)
            return text[:start] + rng.choice(_SPACES) + text[end:]
        case ["break", _]:
            return text.replace("\n", "\r\n")
        case _:
            return f"\ufeff{text}"


def cut(rng: random.Random, text: str) -> list[str]:
    """Cut a text into the pieces of a stream: single characters, small pieces, or large ones."""
    longest = rng.choice((1, 3, 9, 40))
    pieces: list[str] = []
    at = 0
    while at < len(text):
        size = rng.randint(1, longest)
        pieces.append(text[at : at + size])
        at += size
    return pieces


def _piece(rng: random.Random, text: str, pieces: Sequence[str]) -> tuple[int, int]:
    """Choose a marker of a text, or any stretch of it if it has none."""
    found = [piece for piece in pieces if piece in text]
    if not found:
        return _stretch(rng, text)
    piece = rng.choice(found)
    # Overlapping matches count as well.
    start = rng.choice([match.start() for match in re.finditer(f"(?={re.escape(piece)})", text)])
    return start, start + len(piece)


def _stretch(rng: random.Random, text: str) -> tuple[int, int]:
    start = rng.randint(0, len(text))
    return start, min(len(text), start + rng.randint(1, LONGEST))


# Edits of a whole turn: what hostile or confused models write.


DEEPEST = 5_000
"""Brackets in one another, of a value that is put in."""
_HIDDEN = ("\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\ud800", "\udc00", "\U000e0041")
"""Characters without a width, and halves of surrogate pairs."""
_ALIKE = str.maketrans("<>|[]{}/_aeo", "‹›ǀ［］｛｝∕＿аео")
"""Characters that look like others."""
KINDS = ("drop", "interleave", "double", "look alike", "nest", "hide", "move")


def mutated(rng: random.Random, text: str, pieces: Sequence[str], other: str) -> str:
    """Change a whole turn in one or two ways; `other` is a turn of another format."""
    for kind in rng.sample(KINDS, rng.randint(1, 2)):
        text = _mutated(rng, text, pieces, other, kind)
    return text


def _mutated(rng: random.Random, text: str, pieces: Sequence[str], other: str, kind: str) -> str:
    parts = marker_parts(text, pieces)
    match kind:
        case "drop":
            chance = rng.choice((0.1, 0.3, 0.6))
            return "".join(part for part in parts if part not in pieces or rng.random() > chance)
        case "interleave":
            strangers = marker_parts(other, ())
            at = 0
            mixed: list[str] = []
            for part in parts:
                mixed.append(part)
                if strangers[at:] and rng.random() < 0.4:
                    mixed.append(strangers[at])
                    at += 1
            return "".join(mixed)
        case "double":
            start = rng.randrange(len(parts) + 1)
            end = min(len(parts), start + rng.randint(1, 6))
            return "".join((*parts[:end], *parts[start:]))
        case "look alike":
            return "".join(
                part.translate(_ALIKE) if part in pieces and rng.random() < 0.3 else part
                for part in parts
            )
        case "nest":
            opening, closing = rng.choice(("[]", "{}", ('{"a":', "}"), ("<a>", "</a>")))
            depth = rng.choice((3, 60, DEEPEST))
            closers = rng.choice((depth, depth, depth // 2, 0))
            return _put_between(rng, parts, opening * depth + "1" + closing * closers)
        case "hide":
            for _ in range(rng.randint(1, 8)):
                at = rng.randint(0, len(text))
                text = text[:at] + rng.choice(_HIDDEN) + text[at:]
            return text
        case _:
            start = rng.randrange(len(parts) + 1)
            end = min(len(parts), start + rng.randint(1, 4))
            return _put_between(rng, [*parts[:start], *parts[end:]], "".join(parts[start:end]))


def marker_parts(text: str, pieces: Sequence[str]) -> list[str]:
    """Return the markers of a text and the text between them; without markers, its words."""
    if not pieces:
        return re.findall(r"[\s\S]{1,12}", text)
    longest = sorted(pieces, key=len, reverse=True)
    found = re.split(f"({'|'.join(map(re.escape, longest))})", text)
    return [part for part in found if part]


def _put_between(rng: random.Random, parts: Sequence[str], inserted: str) -> str:
    at = rng.randint(0, len(parts))
    return "".join((*parts[:at], inserted, *parts[at:]))
