"""Propose edits of a template that may fix a finding, from its syntax and its renders.

Whether an edit helps is decided elsewhere. An edit only writes text of the template itself: the
header of its turns, or a value of one of its switches.

For a template that writes `{{ m.content | trim }}`, and a finding about stripped content,
three of the candidates, as the replaced and the new text, are

    " | trim"     ""
    "| trim"      "| string"
    "m.content"   "(m.content or '')"
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

from .proof_conversations import RESPELLED_ROLES, last_call_closer

# Edits that write a generation prompt if, and only if, one is requested. Its text is the template's
# own: the header of its turns, or the text after a user's message that does not end it. For example
# `{{ content + '<e>\n<a>' }}`, in whose template an assistant's turn ends in `<e>\n`, gives `{{
# content + '<e>\n' + ('<a>' if … else '') }}`.


GENERATION = "add_generation_prompt"

EARLIER = f"{GENERATION} or not loop.last"
"""The condition for a turn's header that is written with the message before it: requested, or in
the history."""


def prompt_edits(
    subject: Subject, finding: LintFinding, text: str
) -> Iterator[tuple[TemplateEdit, bool]]:
    """Yield edits with whether each is a last resort."""
    header = subject.format.header
    before = subject.play((subject.user,)).text.partition(subject.marks.user)[0]
    # A header that also begins the user's messages does not request an answer.
    begins_both = bool(header.strip()) and before.rstrip().endswith(header.strip())
    if header and not begins_both:
        if _goes_on(subject):
            yield from _write_prompt(text, header)
        yield from ((edit, False) for edit in _ask_for_prompt(subject, text, header))
    if any(
        evidence.other and evidence.one.text == evidence.other.text for evidence in finding.evidence
    ):
        # The template renders the same text with and without a requested prompt.
        yield from ((edit, False) for edit in _at_the_end(text))
        yield from ((edit, False) for edit in _after_the_question(subject, text))


def _goes_on(subject: Subject) -> bool:
    """Return whether an answer replaces nothing that is written after a question.

    Text after all messages may belong to another turn, or name the next speaker: then no turn of
    its own follows it.
    """
    question = subject.play((subject.user,))
    answered = subject.play((subject.user, Message(subject.marks.content)))
    if not (question.rendered and answered.rendered):
        return True
    mark = subject.marks.user
    behind = question.text.rpartition(mark)[2].rstrip()
    return answered.text.rpartition(mark)[2].startswith(behind)


def _write_prompt(text: str, header: str) -> Iterator[tuple[TemplateEdit, bool]]:
    """Write the turn's header at the end of the template."""
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
    """Make an unconditional generation prompt at the end conditional."""
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
            found = text.find(header.strip(), last.start, last.end)
            starts = (
                {last.start, found}
                if found >= 0 and text[last.start : last.start + 2] != "{{"
                else {last.start}
            )
            for start in starts:
                inner = text[start : last.end]
                if inner:
                    yield TemplateEdit(start, last.end, _if_prompted(inner))


def _at_the_end(text: str) -> Iterator[TemplateEdit]:
    """Make text that the template writes after all messages conditional."""
    for item in items_after_all(text):
        inner = text[item.start : item.end]
        yield TemplateEdit(item.start, item.end, _if_prompted(inner))


def _if_prompted(inner: str) -> str:
    """Return a piece of a template that is only rendered if a prompt is requested."""
    # The new tag removes whitespace before it if the piece did: environments differ in the rest.
    sign = "-" if inner.startswith(("{{-", "{%-")) else ""
    return f"{{%{sign} if {GENERATION} %}}{inner}{{% endif %}}"


def _after_the_question(subject: Subject, text: str) -> Iterator[TemplateEdit]:
    """Make the start of the answer that is written with the user's message conditional."""
    question = subject.play((subject.user,)).text
    answered = subject.play((subject.user, Message(subject.marks.content))).text
    behind = question.rpartition(subject.marks.user)[2]
    end = common_prefix(behind, answered.rpartition(subject.marks.content)[2])
    begun = behind[len(end) :]
    if not begun.strip() or marker_balance(begun).closed:
        # The closer belongs to a marker from before the question.
        return
    for token in template_tokens(text):
        held = string_value(token.value) if token.kind == "string" else token.value
        if token.kind not in ("string", "data") or not held.endswith(begun):
            continue
        rest = held.removesuffix(begun)
        # In the history the start belongs to the answer; a template may or may not write it there
        # already.
        for condition in (EARLIER, GENERATION):
            if token.kind == "data":
                inner = f"{{% if {condition} %}}{begun}{{% endif %}}"
                yield TemplateEdit(token.end - len(begun), token.end, inner)
            else:
                before = f"{jinja_text(rest)} + " if rest else ""
                asked = f"({jinja_text(begun)} if {condition} else '')"
                yield TemplateEdit(token.start, token.end, before + asked)


ALWAYS = 60
"""Additional characters that an edit may have if it leaves no constant condition."""

NEAR = 64
"""The resolution of distances, in characters: within one statement, the smallest edit comes first.
"""


@dataclass(frozen=True, slots=True)
class FixCandidate:
    """Edits that are applied together."""

    edits: tuple[TemplateEdit, ...]
    """The edits, e.g. one that removes ``| trim``."""
    later: bool = False
    """Whether it is a last resort, e.g. True for a generation prompt without the whitespace of the
    turns' header."""

    @property
    def size(self) -> int:
        """The number of removed and written characters, plus a penalty for constant conditions."""
        always = sum(edit.text in ("true", "false") for edit in self.edits)
        return sum(edit.size for edit in self.edits) + ALWAYS * (always + self.later)

    def and_also(self, other: FixCandidate) -> FixCandidate:
        """Return the edits of both."""
        return FixCandidate((*self.edits, *other.edits), self.later or other.later)

    def overlaps(self, other: FixCandidate) -> bool:
        """Return whether both change the same text."""
        return any(edit.overlaps(other_edit) for edit in self.edits for other_edit in other.edits)


def fix_candidates(subject: Subject, finding: LintFinding, text: str) -> list[FixCandidate]:
    """Return edits that may fix a finding, the nearest to the places in its renders first."""
    places = [*_places(subject, finding, text)]
    single = [
        *template_edits(text),
        *adding_edits(text),
        *asking_also(text, GENERATION),
        *after_all_messages(text),
    ]
    alone = [*(FixCandidate((edit,)) for edit in dict.fromkeys(single))]
    prompts = [FixCandidate((edit,), later) for edit, later in prompt_edits(subject, finding, text)]
    # These have no place near the difference: a default is written at the beginning, and roles are
    # compared anywhere.
    anywhere = [*(FixCandidate((edit,)) for edit in _defaults(subject)), *_roles(text)]
    closer = last_call_closer(subject)
    if closer:
        anywhere += map(FixCandidate, after_its_loop(text, closer))
    near = sorted(
        [*prompts, *alone, *_alike(text, single)],
        key=lambda candidate: (_distance(candidate, places), candidate.size),
    )
    return [*dict.fromkeys([*anywhere, *near])]


def _distance(candidate: FixCandidate, places: Sequence[int]) -> int:
    """Return the distance to the nearest place, in units of a statement's length."""
    return min(
        (abs(edit.start - place) // NEAR for edit in candidate.edits for place in places), default=0
    )


def _places(subject: Subject, finding: LintFinding, text: str) -> Iterator[int]:
    """Yield the places of the template that wrote the finding's evidence."""
    lines = text.splitlines(keepends=True)
    for line in (finding.line, finding.hit.cause and finding.hit.cause.line):
        if line:
            yield sum(map(len, lines[: line - 1]))
    shown = {evidence.one.text for evidence in finding.evidence}
    shown |= {evidence.other.text for evidence in finding.evidence if evidence.other}
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
    """Yield the places of tests with another outcome in one of the renders."""
    held: dict[int, set[tuple[bool | None, ...]]] = defaultdict(set)
    asked = {
        render.render.text: render.variables
        for render in subject.past_renders
        if render.render.rendered
    }
    for variables in (asked[text] for text in render_texts if text in asked):
        trace = subject.rendering.step_through(variables)
        # A test that one render never reaches counts as another outcome, too.
        tests: dict[int, set[bool | None]] = {number: set() for number in range(len(trace.sites))}
        for step in trace.steps:
            tests[step.site].add(step.held)
        for site, found in tests.items():
            held[trace.sites[site].start].add(tuple(sorted(found, key=repr)))
    yield from (start for start, ways in held.items() if len(ways) > 1)


def _defaults(subject: Subject) -> Iterator[TemplateEdit]:
    """Yield edits that make a value the default of a switch, for every value."""
    for switch in subject.analysis.switches:
        for value in () if switch.inserted else switch.values:
            if value is not None:
                yield default_edit({switch.name: value})


def _alike(text: str, edits: Iterable[TemplateEdit]) -> Iterator[FixCandidate]:
    """Combine edits that make the same change to the same text."""
    groups: dict[tuple[str, str], list[TemplateEdit]] = defaultdict(list)
    for edit in edits:
        # An insertion replaces no text by which it could be found again elsewhere.
        if edit.end > edit.start:
            groups[text[edit.start : edit.end], edit.text].append(edit)
    for alike in groups.values():
        if len(alike) > 1 and not _overlapping(alike):
            yield FixCandidate(tuple(alike))


def _overlapping(edits: Sequence[TemplateEdit]) -> bool:
    ordered = sorted(edits)
    return any(one.end > other.start for one, other in pairwise(ordered))


def _roles(text: str) -> Iterator[FixCandidate]:
    """Accept one role in place of another, wherever roles are compared."""
    for other, known in RESPELLED_ROLES.items():
        compared = also_compared(text, known, other)
        if compared:
            yield FixCandidate(compared)
            written: dict[str, list[TemplateEdit]] = defaultdict(list)
            for edit in replaced_value(text, known, other):
                written[text[edit.start : edit.end]].append(edit)
            for edits in written.values():
                # The field to the left of a comparison keeps its name.
                left = [
                    edit
                    for edit in edits
                    if not any(0 <= place.start - edit.end <= 1 for place in compared)
                ]
                if left and not _overlapping([*compared, *left]):
                    yield FixCandidate((*compared, *left))
        yield FixCandidate((_respelling(known, other),))


def _respelling(known_role: str, other: str) -> TemplateEdit:
    """Rename a role in all messages before anything else."""
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
