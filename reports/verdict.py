"""The self-check's verdict, what it rests on, and the smallest message on which it fails."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from rich.text import Text

from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.verdicts import (
    AskedForm,
    Check,
    EvidenceKind,
    Failure,
    TemplateCrash,
)

from .blocks import Blocks, blank, compare_texts, difference, heading, prose, rows, sentence
from .visible import some_of, visible

FAILURES_NAMED = 12
CRASHES_NAMED = 3


def check_score(check: Check) -> str:
    """Return the verdict in figures, those of the form that users send where it is spoiled."""
    form = check.spoiled
    score = f"self-check {check.passed}/{check.total}"
    if form is None:
        return score
    return f"{score}, usual form {form.intact_count}/{form.asked}"


def spoiled_words(form: AskedForm) -> str:
    """Say what users send and the template loses in silence."""
    count = f"{len(form.spoiled)} of {form.asked} conversations lose text in silence"
    fault = form.fault
    shown = "" if fault is None else f", such as {fault.title!r}: {visible(fault.reason)}"
    return f"as users send it ({form.usual}), {count}{shown}"


def wanted_words(form: AskedForm) -> str:
    """Say what a template takes in the place of what users send, and why; empty for either."""
    if form.spoiled:
        why_ = f"{form.usual}: spoiled"
    elif form.raised or form.unread:
        # What most conversations do is what a caller sees.
        why_ = f"{form.usual}: {'not read' if form.unread > form.raised else 'it raises'}"
    else:
        return ""
    return f"{form.wanted} ({why_})"


def verdict_text(check: Check) -> Text:
    """Return the verdict as one phrase, such as ``self-check 47/47``."""
    return Text(check_score(check), style="bold green" if check.ok else "bold red")


def verdict_with_basis(check: Check) -> Text:
    """Return the verdict, and what it rests on where that is not the same for every message."""
    if check.equal == check.total and check.spoiled is None:
        return verdict_text(check)
    return sentence(verdict_text(check), f": {verdict_basis(check)}")


def verdict_basis(check: Check) -> str:
    """Say what became of the messages: written alike, refused, crashed, not asked, different.

    And what users send that is spoiled.
    """
    form = check.spoiled
    spoiled = "" if form is None else f"; {spoiled_words(form)}"
    return f"{_own_form(check)}{spoiled}"


def _own_form(check: Check) -> str:
    if check.equal == check.total:
        return "every test message is written as the template renders it"
    counts = [f"{check.equal} written as the template renders them"]
    if check.refused:
        counts.append(f"{check.refused} refused by the template")
    counts += _crashes(check)
    if check.not_asked:
        counts.append(f"{check.not_asked} not asked, being like others in the shape it takes")
    if check.different:
        counts.append(f"{len(check.different)} different")
    return ", ".join(counts)


def _crashes(check: Check) -> Iterator[str]:
    """Count the crashes that do not pass and those that do, each with a line."""
    for needed in (True, False):
        crashes = [crash for crash in check.crashes if crash.needed is needed]
        count = sum(len(crash.titles) for crash in crashes)
        if not count:
            continue
        why = "" if needed else ", which agents do not send it"
        largest = max(crashes, key=lambda crash: len(crash.titles))
        yield f"{count} crash it{why} ({_where(largest)})"


def _where(crash: TemplateCrash) -> str:
    line = "" if crash.line is None else f"line {crash.line}: "
    return f"{line}{visible(crash.reason).rstrip('.')}"


def sandbox_words(check: Check) -> str:
    """Say what transformers' sandbox alone forbids; empty where it forbids nothing."""
    crash = check.forbidden
    if crash is None:
        return ""
    return (
        f"transformers refuses this template ({_where(crash)}); what follows is from renders in a"
        f" sandbox that lets it change lists, where {check.freed + check.equal} of {check.total}"
        " messages are written as it renders them"
    )


def check_doubt(check: Check, consequence: str) -> str:
    """Say why a verdict is not a pass, and the consequence where the format itself is wrong."""
    if check.different:
        return f"{check_score(check)}, so {consequence}; see autoparser analyze"
    form, crashes = check.spoiled, [*_crashes(check)]
    reason = crashes[0] if form is None or check.failures else spoiled_words(form)
    return f"{check_score(check)}: {reason}; see autoparser analyze"


def failure_section(check: Check) -> Blocks:
    """Show the smallest failing message, written against rendered, and what users' form loses."""
    spoiled = [line for form in check.forms for line in _spoiled_section(form)]
    smallest = check.smallest
    if smallest is None:
        return spoiled
    named = [failure.title for failure in check.failures]
    message = visible(json.dumps(smallest.message.to_dict(), ensure_ascii=False))
    pairs = [
        *(("crash", _crash(crash)) for crash in check.crashes if crash.needed),
        ("failing", Text(some_of(named, FAILURES_NAMED, "; ", "; and "))),
        ("smallest", Text(f"{smallest.title}: {failure_reason(smallest)}")),
        ("its message", Text(message)),
    ]
    return [
        *heading(f"Self-check: {check.passed} of {check.total} messages come out right"),
        *rows(pairs),
        *blank(),
        *_difference(smallest),
        *spoiled,
    ]


def _spoiled_section(form: AskedForm) -> Blocks:
    """Show the first message that is spoiled as users send it, in both forms."""
    if form.fault is None:
        return []
    pairs = [
        ("spoiled", Text(some_of(form.spoiled, FAILURES_NAMED, "; ", "; and "))),
        ("shown", Text(f"{form.fault.title}: {visible(form.fault.reason)}")),
    ]
    words = f"{len(form.spoiled)} of {form.asked} conversations are spoiled"
    return [
        *heading(f"{form.usual[0].upper()}{form.usual[1:]}: {words}"),
        *rows(pairs),
        *blank(),
        *prose(f"- {form.usual}, + {form.wanted}"),
        *difference(compare_texts(form.fault.usual, form.fault.wanted)),
    ]


def _crash(crash: TemplateCrash) -> Text:
    count = len(crash.titles)
    named = some_of(crash.titles, CRASHES_NAMED, "; ", "; and ")
    return Text(f"{_where(crash)}, on {count} message{'s' * (count != 1)}: {named}")


def failure_reason(failure: Failure) -> str:
    """Say why a message does not pass, with the template's line where it crashes."""
    return visible(failure.reason) if failure.crash is None else _where(failure.crash)


def _difference(failure: Failure) -> Blocks:
    if failure.foretold and failure.written is None:
        return prose("the template crashes on this message, as the analysis says")
    if failure.rendered is None:
        return [
            *prose("the template raises on this message; the analysis would write:"),
            *difference(compare_texts("", failure.written or "")),
        ]
    if failure.written is None:
        return [
            *prose("the analysis says that the template raises; it renders:"),
            *difference(compare_texts(failure.rendered, "")),
        ]
    if failure.written == failure.rendered:
        return prose("the turn itself comes out alike")
    return [
        *prose("- what the template renders, + what the analysis would write"),
        *difference(compare_texts(failure.rendered, failure.written)),
    ]


_KINDS = {
    EvidenceKind.RENDER: "the template's renders",
    EvidenceKind.EXAMPLE: "examples",
    EvidenceKind.OUTPUT: "outputs",
    EvidenceKind.WORDS: "the prompt's words alone",
}
_PARTS = {
    TurnPart.REASONING: "reasoning",
    TurnPart.CONTENT: "content",
    TurnPart.CALLS: "tool calls",
}


def evidence_words(evidence: Iterable[tuple[TurnPart, EvidenceKind]]) -> str:
    """Return what is known of each part, and from what; empty without any part.

    Example: `content: the template's renders; reasoning, tool calls: examples`.
    """
    parts: dict[EvidenceKind, list[str]] = {}
    for part, kind in evidence:
        parts.setdefault(kind, []).append(_PARTS[part])
    return "; ".join(f"{', '.join(names)}: {_KINDS[kind]}" for kind, names in parts.items())
