"""Propose edits of a template that may fix a finding, by its syntax and its renders.

Nothing here decides whether an edit helps. Texts that an edit writes are the template's own: a
header that its turns begin with, or a value of one of its switches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.text_alignment import common_prefix, prefix_length
from autoparser.analysis.lint.linting import LintFinding
from autoparser.analysis.lint.marker_pairs import marker_balance
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.edit_kinds import (
    adding_edits,
    after_all_messages,
    after_its_loop,
    also_compared,
    asking_also,
    items_after_all,
    jinja_text,
    replaced_value,
    string_value,
)
from autoparser.analysis.templates.source_text import template_tokens
from autoparser.analysis.templates.template_edits import TemplateEdit, default_edit, template_edits

from .proof_conversations import RESPELLED_ROLES, closer_of

# Edits by which a generation prompt is written where one is asked for, and only there.
#
# What it says is the template's own: what its turns begin with, or what stands after a user's
# message and does not end it. For example `{{ content + '<e>\n<a>' }}`, in whose template an
# assistant's turn ends in `<e>\n`, gives `{{ content + '<e>\n' + ('<a>' if … else '') }}`.


GENERATION = "add_generation_prompt"

EARLIER = f"{GENERATION} or not loop.last"
"""Where what begins a turn stands after the message before it: asked for, or in the history."""


def prompt_edits(
    subject: Subject, finding: LintFinding, text: str
) -> Iterator[tuple[TemplateEdit, bool]]:
    """Return the edits, and whether each is taken only where nothing else serves."""
    header = subject.format.header
    before = subject.play((subject.user,)).text.partition(subject.marks.user)[0]
    # What begins a user's message, too, asks nobody for an answer.
    begins_both = bool(header.strip()) and before.rstrip().endswith(header.strip())
    if header and not begins_both:
        if _goes_on(subject):
            yield from _write_prompt(text, header)
        yield from ((edit, False) for edit in _ask_for_prompt(subject, text, header))
    if any(each.other and each.one.text == each.other.text for each in finding.evidence):
        # Whether one is asked for made no difference.
        yield from ((edit, False) for edit in _at_the_end(text))
        yield from ((edit, False) for edit in _after_the_question(subject, text))


def _goes_on(subject: Subject) -> bool:
    """Whether an answer follows what stands behind a question: a turn can begin there.

    What a template always writes after all messages may ask for another turn, or say who is to be
    answered: no turn of its own follows that.
    """
    question = subject.play((subject.user,))
    answered = subject.play((subject.user, Message(subject.marks.content)))
    if not (question.rendered and answered.rendered):
        return True
    mark = subject.marks.user
    behind = question.text.rpartition(mark)[2].rstrip()
    return answered.text.rpartition(mark)[2].startswith(behind)


def _write_prompt(text: str, header: str) -> Iterator[tuple[TemplateEdit, bool]]:
    """Write what a turn begins with at the template's end."""
    condition = f"{{%- if {GENERATION} %}}"
    for written in dict.fromkeys((header, header.rstrip(), header.lstrip(), header.strip())):
        later = written != header
        prompt = f"{condition}{{{{- {jinja_text(written)} }}}}{{%- endif %}}"
        line = "" if text.endswith("\n") else "\n"
        yield TemplateEdit(len(text), len(text), f"{line}{prompt}"), later
        end = len(text.removesuffix("\n"))
        spaced = prompt.replace("{%- if", "{% if", 1)
        yield TemplateEdit(end, end, spaced), later


def _ask_for_prompt(subject: Subject, text: str, header: str) -> Iterator[TemplateEdit]:
    """Ask for a generation prompt around what writes one at the end whether it is asked or not."""
    for asked in subject.past_renders:
        if not asked.render.rendered or not asked.render.text.rstrip().endswith(header.strip()):
            continue
        spans = [
            span
            for span in subject.rendering.source_map(asked.variables).spans
            if span.text.strip()
        ]
        if spans:
            last = spans[-1]
            at = text.find(header.strip(), last.start, last.end)
            starts = (
                {last.start, at}
                if at >= 0 and text[last.start : last.start + 2] != "{{"
                else {last.start}
            )
            for start in starts:
                inner = text[start : last.end]
                if inner:
                    yield TemplateEdit(
                        start, last.end, f"{{% if {GENERATION} %}}{inner}{{% endif %}}"
                    )


def _at_the_end(text: str) -> Iterator[TemplateEdit]:
    """Ask for a generation prompt around what a template writes after all messages."""
    for item in items_after_all(text):
        inner = text[item.start : item.end]
        yield TemplateEdit(item.start, item.end, f"{{% if {GENERATION} %}}{inner}{{% endif %}}")


def _after_the_question(subject: Subject, text: str) -> Iterator[TemplateEdit]:
    """Ask for a generation prompt around what begins the turn behind a user's message."""
    question = subject.play((subject.user,)).text
    answered = subject.play((subject.user, Message(subject.marks.content))).text
    behind = question.rpartition(subject.marks.user)[2]
    end = common_prefix(behind, answered.rpartition(subject.marks.content)[2])
    begun = behind[len(end) :]
    if not begun.strip() or marker_balance(begun).closed:
        # What is closed there was opened before the question.
        return
    for token in template_tokens(text):
        held = string_value(token.value) if token.kind == "string" else token.value
        if token.kind not in ("string", "data") or not held.endswith(begun):
            continue
        rest = held.removesuffix(begun)
        for condition in (EARLIER, GENERATION):
            if token.kind == "data":
                inner = f"{{% if {condition} %}}{begun}{{% endif %}}"
                yield TemplateEdit(token.end - len(begun), token.end, inner)
            else:
                before = f"{jinja_text(rest)} + " if rest else ""
                asked = f"({jinja_text(begun)} if {condition} else '')"
                yield TemplateEdit(token.start, token.end, before + asked)


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
        """Return whether both change the same text."""
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
        parting = prefix_length(evidence.one.text, other)
        for asked in subject.past_renders:
            if asked.render.rendered and asked.render.text in shown:
                span = subject.rendering.source_map(asked.variables).span_at(max(parting - 1, 0))
                if span is not None:
                    yield span.start
    yield from _decided_at(subject, shown)


def _decided_at(subject: Subject, render_texts: Iterable[str]) -> Iterator[int]:
    """Return the places of tests that came out otherwise in one of the renders than in another."""
    held: dict[int, set[tuple[bool | None, ...]]] = defaultdict(set)
    asked = {
        render.render.text: render.variables
        for render in subject.past_renders
        if render.render.rendered
    }
    for variables in (asked[text] for text in render_texts if text in asked):
        trace = subject.rendering.step_through(variables)
        tests: dict[int, set[bool | None]] = {number: set() for number in range(len(trace.sites))}
        for step in trace.steps:
            tests[step.site].add(step.held)
        for site, found in tests.items():
            held[trace.sites[site].start].add(tuple(sorted(found, key=repr)))
    yield from (start for start, ways in held.items() if len(ways) > 1)


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


def _respelling(known_role: str, other: str) -> TemplateEdit:
    """Take one role for another in all messages, before anything else is done."""
    role = f"dict(message, role={jinja_text(known_role)}) if message.role == {jinja_text(other)}"
    return TemplateEdit(
        0,
        0,
        "{%- set respelled = namespace(messages=[]) %}\n"
        "{%- for message in messages %}\n"
        f"    {{%- set respelled.messages = respelled.messages + [{role} else message] %}}\n"
        "{%- endfor %}\n"
        "{%- set messages = respelled.messages %}\n",
    )
