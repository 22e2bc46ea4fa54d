"""Which edits of a template may fix a finding: by syntax, and by what its renders show.

Nothing here knows what an edit is good for. Texts that an edit writes are the template's own: a
header that its turns begin with, a value that one of its switches has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from autoparser.analysis.lint import LintFinding, Subject
from autoparser.analysis.loading.edits import (
    TemplateEdit,
    adding_edits,
    after_all_messages,
    after_its_loop,
    also_compared,
    asking_also,
    default_edit,
    jinja_text,
    replaced_value,
    template_edits,
)

from .prompt_edits import GENERATION, prompt_edits
from .proof_conversation import RESPELLED_ROLES, closer_of

__all__ = ["FixCandidate", "fix_candidates"]

ALWAYS = 60
"""So many characters longer an edit may be that leaves no condition which is always the same."""

NEAR = 64
"""So many characters further is as near: of what stands in one statement the smallest is first."""


@dataclass(frozen=True, slots=True)
class FixCandidate:
    """Edits that are made together."""

    edits: tuple[TemplateEdit, ...]
    later: bool = False
    """Whether it is taken only where nothing else serves."""

    @property
    def size(self) -> int:
        """Characters that are taken away or written; more where a condition decides nothing."""
        always = sum(edit.text in ("true", "false") for edit in self.edits)
        return sum(edit.size for edit in self.edits) + ALWAYS * (always + self.later)

    def and_also(self, other: FixCandidate) -> FixCandidate:
        """Return the edits of both."""
        return FixCandidate((*self.edits, *other.edits), self.later or other.later)

    def overlaps(self, other: FixCandidate) -> bool:
        """Say whether both change the same text."""
        return any(edit.overlaps(each) for edit in self.edits for each in other.edits)


def fix_candidates(subject: Subject, finding: LintFinding, text: str) -> list[FixCandidate]:
    """Return what may fix a finding, nearest to the places that the renders name first."""
    places = [*_places(subject, finding, text)]
    single = [
        *template_edits(text),
        *adding_edits(text),
        *asking_also(text, GENERATION),
        *after_all_messages(text),
    ]
    alone = [*(FixCandidate((edit,)) for edit in dict.fromkeys(single))]
    prompts = [FixCandidate((edit,), later) for edit, later in prompt_edits(subject, finding, text)]
    anywhere = [*(FixCandidate((edit,)) for edit in _defaults(subject)), *_roles(text)]
    closer = closer_of(subject)
    if closer:
        anywhere += map(FixCandidate, after_its_loop(text, closer))
    near = sorted(
        [*prompts, *alone, *_alike(text, single)],
        key=lambda each: (_distance(each, places), each.size),
    )
    return [*dict.fromkeys([*anywhere, *near])]


def _distance(candidate: FixCandidate, places: Sequence[int]) -> int:
    """Return how far the nearest of some places is, as coarsely as a statement is long."""
    return min(
        (abs(edit.start - at) // NEAR for edit in candidate.edits for at in places), default=0
    )


def _places(subject: Subject, finding: LintFinding, text: str) -> Iterator[int]:
    """Return the places of the template that wrote what the finding shows."""
    lines = text.splitlines(keepends=True)
    for line in (finding.line, finding.hit.cause and finding.hit.cause.line):
        if line:
            yield sum(map(len, lines[: line - 1]))
    shown = {each.one.text for each in finding.evidence}
    shown |= {each.other.text for each in finding.evidence if each.other}
    for evidence in finding.evidence:
        other = evidence.other.text if evidence.other else ""
        parting = _parting(evidence.one.text, other)
        for asked in subject.asked:
            if asked.render.rendered and asked.render.text in shown:
                yield from _written_at(subject, asked.variables, parting)
    yield from _decided_at(subject, shown)


def _decided_at(subject: Subject, shown: Iterable[str]) -> Iterator[int]:
    """Return the places of tests that came out otherwise in one of the renders than in another."""
    held: dict[int, set[tuple[bool | None, ...]]] = defaultdict(set)
    asked = {each.render.text: each.variables for each in subject.asked if each.render.rendered}
    for variables in (asked[text] for text in shown if text in asked):
        trace = subject.rendering.step_through(variables)
        tests: dict[int, set[bool | None]] = {number: set() for number in range(len(trace.sites))}
        for step in trace.steps:
            tests[step.site].add(step.held)
        for site, found in tests.items():
            held[trace.sites[site].start].add(tuple(sorted(found, key=repr)))
    yield from (start for start, ways in held.items() if len(ways) > 1)


def _written_at(subject: Subject, variables: Mapping[str, object], at: int) -> Iterator[int]:
    span = subject.rendering.source_map(variables).span_at(max(at - 1, 0))
    if span is not None:
        yield span.start


def _parting(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next(
        (at for at, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other))
    )


def _defaults(subject: Subject) -> Iterator[TemplateEdit]:
    """Return an edit for every value of a switch, by which that is the default."""
    for switch in subject.analysis.switches:
        for value in () if switch.inserted else switch.values:
            if value is not None:
                yield default_edit({switch.name: value})


def _alike(text: str, edits: Iterable[TemplateEdit]) -> Iterator[FixCandidate]:
    """Put edits together that change the same text in the same way."""
    groups: dict[tuple[str, str], list[TemplateEdit]] = defaultdict(list)
    for edit in edits:
        if edit.end > edit.start:
            groups[text[edit.start : edit.end], edit.text].append(edit)
    for alike in groups.values():
        if len(alike) > 1 and not _overlapping(alike):
            yield FixCandidate(tuple(alike))


def _overlapping(edits: Sequence[TemplateEdit]) -> bool:
    ordered = sorted(edits)
    return any(one.end > other.start for one, other in pairwise(ordered))


def _roles(text: str) -> Iterator[FixCandidate]:
    """Let one role be taken for another, wherever roles are compared."""
    for other, known in RESPELLED_ROLES.items():
        compared = also_compared(text, known, other)
        if compared:
            yield FixCandidate(compared)
            written: dict[str, list[TemplateEdit]] = defaultdict(list)
            for edit in replaced_value(text, known, other):
                written[text[edit.start : edit.end]].append(edit)
            for edits in written.values():
                # Left of a comparison, the field stays as it is.
                left = [
                    each
                    for each in edits
                    if not any(0 <= at.start - each.end <= 1 for at in compared)
                ]
                if left and not _overlapping([*compared, *left]):
                    yield FixCandidate((*compared, *left))
        yield FixCandidate((_respelling(known, other),))


def _respelling(known: str, other: str) -> TemplateEdit:
    """Take one role for another in all messages, before anything else is done."""
    role = f"dict(message, role={jinja_text(known)}) if message.role == {jinja_text(other)}"
    return TemplateEdit(
        0,
        0,
        "{%- set respelled = namespace(messages=[]) %}\n"
        "{%- for message in messages %}\n"
        f"    {{%- set respelled.messages = respelled.messages + [{role} else message] %}}\n"
        "{%- endfor %}\n"
        "{%- set messages = respelled.messages %}\n",
    )
