"""Plant bugs in templates with blind operators, and count the ones that lint names.

`python -m tests.corpus.planted` draws 20 templates with calls from 20 families and plants 120 bugs.
A bug is kept if it changes the render of an ordinary conversation. It is named if lint reports a
finding that the template without the bug does not have. The same seed draws the same bugs. Bugs
that change only whitespace are counted separately: they may be house style.
"""

from __future__ import annotations

import argparse
import difflib
import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from autoparser import AutoparserError, ChatTemplate
from autoparser.analysis.lint.linting import FindingFilter, lint
from autoparser.analysis.lint.rule import Profile
from autoparser.analysis.lint.subject import Subject
from tests.case_tables import load_cases

from .corpus_templates import PROCESSES, Board, corpus_paths

SHOWN = (Profile.RELEASE, Profile.STRICT)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}

Chat: TypeAlias = list[dict[str, Any]]


TABLE = load_cases(__file__, "planted.yaml")
TOOLS: Chat = TABLE["tools"]
CONVERSATIONS: Sequence[tuple[Chat, bool]] = [
    *((chat, False) for chat in TABLE["chats"]),
    *((chat, True) for chat in TABLE["loops"]),
]


def _as_text(chat: Chat) -> Chat:
    """Return a chat whose arguments are JSON text, as chat APIs send them."""
    copy: Chat = json.loads(json.dumps(chat))
    for message in copy:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.dumps(call["function"]["arguments"])
    return copy


Renders: TypeAlias = Sequence[str | None]
"""By conversation, in both forms of arguments; None if the template raises."""


def renders_of(text: str) -> Renders:
    """Render every conversation."""
    template = ChatTemplate(text, TOKENS)
    found: list[str | None] = []
    for chat, offered in CONVERSATIONS:
        for messages in (chat, _as_text(chat)):
            tools = TOOLS if offered else None
            prompt = messages[-1]["role"] != "assistant"
            try:
                found.append(template.render(messages, tools, add_generation_prompt=prompt))
            except AutoparserError:
                found.append(None)
    return found


def _writes_calls(renders: Renders) -> bool:
    refused = sum(render is None for render in renders)
    return refused < len(CONVERSATIONS) // 2 and any(
        "Ann" in render for render in renders if render
    )


# Operators: each yields mutated texts of a template, and has no template-specific code.

Mutants: TypeAlias = Iterator[str]
Edit: TypeAlias = Callable[[re.Match[str], random.Random], str]

_TAG = re.compile(r"{%.*?%}|{{.*?}}|{#.*?#}", re.DOTALL)
_OPERAND = r"[\w.]+(?:\[[^\[\]]*\])?|'[^']*'|\"[^\"]*\""
_SUM = re.compile(rf"({_OPERAND}) ([+~]) ({_OPERAND})")
_CONDITION = re.compile(r"({%[-+]?\s*(?:el)?if\s+)(.*?)(\s*[-+]?%})$", re.DOTALL)
_FIELD = re.compile(r"(?<=\.)[a-z_]+(?!\()\b|(?<=\[')[a-z_]+(?='\])|(?<=\[\")[a-z_]+(?=\"\])")
_PLACE = re.compile(r"\[(-?\d*):(-?\d*)\]|\[(-?\d+)\]|\bindex0\b|\bindex\b|loop\.first|loop\.last")
_ROLE = re.compile(r"(?<=['\"])(?:user|assistant|system|tool)(?=['\"])")
_DEFAULT = re.compile(
    r"\b(?:true|false|none|defined)\b|default\([^()]*\)|= ?(?:\[\]|''|\"\")(?=\s*-?%})"
    r"|\bis string\b",
    re.IGNORECASE,
)
_ROLES = ("user", "assistant", "system", "tool")
_FIELDS = (
    *("content", "role", "tool_calls", "function", "arguments", "name", "id"),
    *("reasoning_content", "parameters", "description"),
)
_OTHER_PLACES: Mapping[str, str] = TABLE["other_places"]
_OTHER_DEFAULTS: Mapping[str, str] = TABLE["other_defaults"]


def _code(text: str) -> Iterator[re.Match[str]]:
    return (match for match in _TAG.finditer(text) if match.group()[1] != "#")


def _edited(text: str, pattern: re.Pattern[str], edit: Edit, rng: random.Random) -> Mutants:
    """Edit each place of a pattern in the template's code, one at a time."""
    for tag in _code(text):
        for found in pattern.finditer(tag.group()):
            start, end = tag.start() + found.start(), tag.start() + found.end()
            yield text[:start] + edit(found, rng) + text[end:]


def _deleted_lines(text: str, _: random.Random) -> Mutants:
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if line.strip():
            yield "\n".join(lines[:at] + lines[at + 1 :])


def _swapped(text: str, rng: random.Random) -> Mutants:
    yield from _edited(text, _SUM, lambda found, _: f"{found[3]} {found[2]} {found[1]}", rng)
    outputs = [match for match in _code(text) if match.group().startswith("{{")]
    for one, other in pairwise(outputs):
        between = text[one.end() : other.start()]
        yield text[: one.start()] + other[0] + between + one[0] + text[other.end() :]


def _negated(text: str, rng: random.Random) -> Mutants:
    return _edited(text, _CONDITION, lambda found, _: f"{found[1]}not ({found[2]}){found[3]}", rng)


def _renamed(text: str, rng: random.Random) -> Mutants:
    def other_name(found: re.Match[str], rng: random.Random) -> str:
        name = found.group()
        if name not in _FIELDS:
            return name
        return rng.choice([*(field for field in _FIELDS if field != name), f"{name}s", name[:4]])

    return _edited(text, _FIELD, other_name, rng)


def _misplaced(text: str, rng: random.Random) -> Mutants:
    def other_place(found: re.Match[str], _: random.Random) -> str:
        start, stop, index = found.groups()
        if found.group() in _OTHER_PLACES:
            return _OTHER_PLACES[found.group()]
        if index is not None:
            return f"[{int(index) + 1}]"
        if start:
            return f"[{int(start) + 1}:{stop}]"
        return f"[:{int(stop) - 1}]" if stop else "[1:]"

    return _edited(text, _PLACE, other_place, rng)


def _given_another_role(text: str, rng: random.Random) -> Mutants:
    def other_role(found: re.Match[str], rng: random.Random) -> str:
        return rng.choice([role for role in _ROLES if role != found.group()])

    return _edited(text, _ROLE, other_role, rng)


def _given_another_default(text: str, rng: random.Random) -> Mutants:
    def other_default(found: re.Match[str], _: random.Random) -> str:
        words = found.group().lower()
        if words.startswith("default("):
            return "default('')" if "none" in words else "default(none)"
        if words.startswith("="):
            return "= ['x']" if words.endswith("]") else "= 'x'"
        return _OTHER_DEFAULTS[words]

    return _edited(text, _DEFAULT, other_default, rng)


def _without_dashes(text: str, _: random.Random) -> Mutants:
    for tag in _code(text):
        start, end = tag.span()
        if text[start + 2] == "-":
            yield text[: start + 2] + text[start + 3 :]
        if text[end - 3] == "-":
            yield text[: end - 3] + text[end - 2 :]


OPERATORS: Mapping[str, Callable[[str, random.Random], Mutants]] = {
    "delete a line": _deleted_lines,
    "swap two expressions": _swapped,
    "negate a condition": _negated,
    "rename a field": _renamed,
    "off by one": _misplaced,
    "wrong role": _given_another_role,
    "wrong default": _given_another_default,
    "drop a dash": _without_dashes,
}


# Bugs that change an ordinary conversation.


@dataclass(frozen=True, slots=True)
class PlantedBug:
    """A template with a bug."""

    host: Path
    """The template without it."""
    operator: str
    text: str
    whitespace: bool
    """Nothing but whitespace changes in the conversations."""


@dataclass(frozen=True, slots=True)
class PlantedSample:
    """The bugs that were kept, and how many were planted for them."""

    bugs: Sequence[PlantedBug]
    planted: int


_MOST_TRIES = 40
"""So many bugs are planted for one that is kept, at most."""


def plant_bugs(
    paths: Sequence[Path], seed: int, wanted: int = 120, hosts: int = 20
) -> PlantedSample:
    """Draw templates that write calls, one of a family, and plant bugs into them in turn."""
    rng = random.Random(seed)
    chosen = _draw_hosts(paths, rng, hosts)
    kept: dict[str, PlantedBug] = {}
    planted = 0
    names = [*OPERATORS]
    for turn in range(wanted * _MOST_TRIES if chosen else 0):
        if len(kept) == wanted:
            break
        host = chosen[turn % len(chosen)]
        name = names[(turn // len(chosen) + turn) % len(names)]
        text = _source(host)
        mutants = [other for other in dict.fromkeys(OPERATORS[name](text, rng)) if other != text]
        if not mutants:
            continue
        planted += 1
        mutant = rng.choice(mutants)
        whitespace = _change(host, mutant)
        if whitespace is not None:
            kept.setdefault(mutant, PlantedBug(host, name, mutant, whitespace))
    return PlantedSample([*kept.values()], planted)


def _draw_hosts(paths: Sequence[Path], rng: random.Random, count: int) -> list[Path]:
    # Names of one family begin alike: `Qwen3-8B`, `Qwen-Qwen2.5`.
    chosen: dict[str, Path] = {}
    for path in rng.sample(paths, len(paths)):
        family = re.split(r"[-_]", path.stem)[0].lower()[:5]
        if len(chosen) < count and family not in chosen and _writes_calls(_host_renders(path)):
            chosen[family] = path
    return [*chosen.values()]


@cache
def _source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _host_renders(path: Path) -> Renders:
    return renders_of(_source(path))


def _change(host: Path, mutant: str) -> bool | None:
    """Return whether only whitespace changes; None without a change or with a syntax error."""
    try:
        ChatTemplate(mutant).check_syntax()
    except AutoparserError:
        return None
    pairs = zip(_host_renders(host), renders_of(mutant), strict=True)
    changed = [(one, other) for one, other in pairs if one is not None and one != other]
    if not changed:
        return None
    return all(other is not None and _solid(one) == _solid(other) for one, other in changed)


def _solid(render: str) -> str:
    return "".join(render.split())


# Lint's findings on planted bugs.


@dataclass(frozen=True, slots=True)
class NamedBug:
    """A bug, and the findings that its host does not have, by profile."""

    bug: PlantedBug
    findings: Mapping[Profile, Sequence[str]]

    def is_named(self, profile: Profile) -> bool:
        return bool(self.findings[profile])


_LINE_WORDS = re.compile(r"line \d+")


def _findings(text: str) -> Mapping[Profile, frozenset[str]]:
    """Return the findings that each profile shows, without their places."""
    found = lint(Subject(ChatTemplate(text, TOKENS))).findings
    return {
        profile: frozenset(
            f"{finding.code} {_LINE_WORDS.sub('line', finding.message)}"
            for finding in found
            if FindingFilter(profile).shows(finding)
        )
        for profile in SHOWN
    }


@lru_cache(maxsize=64)
def _host_findings(host: Path) -> Mapping[Profile, frozenset[str]]:
    return _findings(_source(host))


def named_bug(bug: PlantedBug) -> NamedBug:
    """Lint a bug beside its host."""
    before, now = _host_findings(bug.host), _findings(bug.text)
    return NamedBug(bug, {profile: sorted(now[profile] - before[profile]) for profile in SHOWN})


def _lines(found: Sequence[NamedBug]) -> Iterator[str]:
    house = [row for row in found if row.bug.whitespace]
    bugs = [row for row in found if not row.bug.whitespace]
    yield "kept release strict"
    for name in OPERATORS:
        yield _row([bug for bug in bugs if bug.bug.operator == name], name)
    yield _row(bugs, "all")
    yield _row(house, "whitespace alone")


def _row(found: Sequence[NamedBug], words: str) -> str:
    named = [sum(row.is_named(profile) for row in found) for profile in SHOWN]
    return f"{len(found):>4} {named[0]:>7} {named[1]:>6}  {words}"


def _unnamed_lines(found: Sequence[NamedBug]) -> Iterator[str]:
    """Show each bug that `release` does not name, with what `strict` finds."""
    for row in found:
        if row.is_named(Profile.RELEASE) or row.bug.whitespace:
            continue
        strict = "; ".join(row.findings[Profile.STRICT]) or "nothing"
        yield f"{row.bug.host.stem}: {row.bug.operator}; strict finds {strict}"
        changed = difflib.ndiff(_source(row.bug.host).split("\n"), row.bug.text.split("\n"))
        yield from (f"  {line}" for line in changed if line[0] in "+-")


PLANTED = Board(named_bug, _lines, lambda row: row.is_named(Profile.RELEASE), chunk=6)


def main() -> int:
    """Print the counts, and the bugs that are not named."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus.planted", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="which bugs are drawn")
    parser.add_argument("--bugs", type=int, default=120, help="how many are kept")
    parser.add_argument("--hosts", type=int, default=20, help="in how many templates")
    parser.add_argument("--jobs", type=int, default=PROCESSES, help="how many processes")
    options = parser.parse_args()
    sample = plant_bugs(corpus_paths(), options.seed, options.bugs, options.hosts)
    # Sort by template, so that a process lints each template once.
    bugs = sorted(sample.bugs, key=lambda row: row.host)
    found = PLANTED.answers(bugs, options.jobs)
    sys.stdout.write(f"{sample.planted} planted, {len(found)} kept\n{PLANTED.table(found)}")
    sys.stdout.writelines(f"{line}\n" for line in _unnamed_lines(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
