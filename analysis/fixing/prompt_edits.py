r"""Edits by which a generation prompt is written where one is asked for, and only there.

What it says is the template's own: what its turns begin with, or what stands after a user's
message and does not end it. For example `{{ content + '<e>\n<a>' }}`, in whose template an
assistant's turn ends in `<e>\n`, gives `{{ content + '<e>\n' + ('<a>' if … else '') }}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.alignment import common_prefix
from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint import LintFinding, Subject
from autoparser.analysis.lint.paired_markers import balance
from autoparser.analysis.loading.edits import (
    TemplateEdit,
    items_after_all,
    jinja_text,
    string_value,
)
from autoparser.analysis.loading.template import template_tokens

__all__ = ["GENERATION", "prompt_edits"]

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
            yield from _written(text, header)
        yield from ((edit, False) for edit in _asked_for(subject, text, header))
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


def _written(text: str, header: str) -> Iterator[tuple[TemplateEdit, bool]]:
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


def _asked_for(subject: Subject, text: str, header: str) -> Iterator[TemplateEdit]:
    """Ask for a generation prompt around what writes one at the end whether it is asked or not."""
    for asked in subject.asked:
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
    if not begun.strip() or balance(begun).closed:
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
