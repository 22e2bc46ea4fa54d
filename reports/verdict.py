"""The verdicts of self-check and gate, their basis, and the failures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.verdicts import (
    AskedForm,
    Check,
    EvidenceKind,
    Failure,
    FormFault,
    Gate,
    TemplateCrash,
)

from .blocks import (
    Blocks,
    ComparedTexts,
    Entries,
    Entry,
    Heading,
    TextSide,
    code,
    compare_texts,
    heading,
    lead,
    prose,
    rows,
    sentence,
    table,
)
from .visible import setting_words, some_of, visible

if TYPE_CHECKING:
    from autoparser.analysis.formats.learned_format import LearnedFormat

FAILURES_NAMED = 12
MOST_FAILURES = 12
FAULTS_SHOWN = 4
CRASHES_NAMED = 3


def check_score(check: Check) -> str:
    """Return the verdict in figures, including those of OpenAI's form if it is altered."""
    form = check.spoiled
    score = f"self-check {check.passed}/{check.total}"
    if form is None:
        return score
    return f"{score}, usual form {form.intact_count}/{form.asked}"


def spoiled_words(form: AskedForm) -> str:
    """Describe the losses in OpenAI-style messages."""
    count = f"{len(form.spoiled)} of {form.asked} conversations lose text in silence"
    fault = form.fault
    shown = "" if fault is None else f", such as {fault.title!r}: {visible(fault.reason)}"
    return f"as users send it ({form.usual}), {count}{shown}"


def wanted_words(form: AskedForm) -> str:
    """Describe the form that replaces OpenAI's, and why; empty if the template accepts both."""
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
    """Return the verdict, and its basis unless it is the same for every message."""
    if check.equal == check.total and check.spoiled is None:
        return verdict_text(check)
    return sentence(verdict_text(check), f": {verdict_basis(check)}")


def verdict_basis(check: Check) -> str:
    """Count the messages by result: written alike, refused, crashed, not asked, different.

    OpenAI-style messages that the template alters are counted, too.
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
        counts.append(f"{check.not_asked} skipped, being like others in the shape it takes")
    if check.different:
        counts.append(f"{len(check.different)} different")
    return ", ".join(counts)


def _crashes(check: Check) -> Iterator[str]:
    """Count the failing crashes and the expected ones, each with a line."""
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
    """Name the operations that only transformers' sandbox forbids; empty if there are none."""
    crash = check.forbidden
    if crash is None:
        return ""
    return (
        f"transformers refuses this template ({_where(crash)}); what follows is from renders in a"
        f" sandbox that lets it change lists, where {check.freed + check.equal} of {check.total}"
        " messages are written as it renders them"
    )


def check_doubt(check: Check, consequence: str) -> str:
    """Return why a verdict is not a pass, and the consequence if the format itself is wrong."""
    if check.different:
        return f"{check_score(check)}, so {consequence}; see autoparser analyze"
    form, crashes = check.spoiled, [*_crashes(check)]
    reason = crashes[0] if form is None or check.failures else spoiled_words(form)
    return f"{check_score(check)}: {reason}; see autoparser analyze"


def check_section(learned: LearnedFormat, *, passing: bool = True) -> Blocks:
    """Report each setting's format on the fixed messages, and show the failures.

    Without `passing`, formats that pass are omitted; the result is empty if all do.
    """
    passed = sum(check.passed for check in learned.checks)
    total = sum(check.total for check in learned.checks)
    drawn: Blocks = []
    for format_, check in zip(learned.formats, learned.checks, strict=True):
        if passing or not check.ok:
            several = len(learned.checks) > 1
            drawn += heading(setting_words(format_.setting) or "nothing set") if several else []
            drawn += _check_blocks(check)
    title = Heading(Text("Self-check"), "check", f"{passed}/{total}")
    return [title, *drawn] if drawn else []


def _check_blocks(check: Check) -> Blocks:
    drawn = lead(f"{check.passed} of {check.total} fixed messages pass: {verdict_basis(check)}.")
    if check.different:
        drawn += lead(
            f"{len(check.different)} fixed messages do not come out as the template renders"
            " them: what this report says does not hold for such messages."
        )
    forbidden = sandbox_words(check)
    drawn += lead(f"{forbidden[0].upper()}{forbidden[1:]}.") if forbidden else []
    drawn += rows([("crash", _crash(crash)) for crash in check.crashes if crash.needed])
    by_size = sorted(check.failures, key=lambda failure: failure.rank)
    shown = [_failure(failure, opened=not at) for at, failure in enumerate(by_size[:MOST_FAILURES])]
    drawn += [Entries(tuple(shown))] if shown else []
    if len(by_size) > MOST_FAILURES:
        drawn += prose(f"And {len(by_size) - MOST_FAILURES} more.")
    return drawn + [_spoiled(form, form.fault) for form in check.forms if form.fault is not None]


def _failure(failure: Failure, *, opened: bool) -> Entry:
    """Show a message on which a format fails: the template's render and the format's text."""
    message = visible(json.dumps(failure.message.to_dict(), ensure_ascii=False))
    raises, says = "no text, it raises", "no text, it says that the template raises"
    sides = (
        TextSide(
            "the template renders",
            error=Text(raises) if failure.rendered is None else None,
            label="what the template renders",
        ),
        TextSide(
            "the analysis writes",
            error=Text(says) if failure.written is None else None,
            label="what the analysis writes",
        ),
    )
    pieces = compare_texts(failure.rendered or "", failure.written or "")
    behind = [*rows([("its message", code(message))]), ComparedTexts(sides, tuple(pieces))]
    reason = Text(failure_reason(failure))
    return Entry(visible(failure.title), reason, blocks=behind, opened=opened)


def _spoiled(form: AskedForm, fault: FormFault) -> Entries:
    """Name the altered OpenAI-style messages, and show the first in both forms."""
    sides = tuple(TextSide(form_name, label=form_name) for form_name in (form.usual, form.wanted))
    pieces = tuple(compare_texts(fault.usual, fault.wanted))
    named = [
        ("spoiled", Text(some_of(form.spoiled, FAILURES_NAMED, "; ", "; and "))),
        ("shown", Text(f"{fault.title}: {visible(fault.reason)}")),
    ]
    words = Text(f"{len(form.spoiled)} of {form.asked} conversations are spoiled")
    behind = [*rows(named), ComparedTexts(sides, pieces)]
    return Entries((Entry(form.usual, words, blocks=behind, opened=True),))


def _crash(crash: TemplateCrash) -> Text:
    count = len(crash.titles)
    named = some_of(crash.titles, CRASHES_NAMED, "; ", "; and ")
    return Text(f"{_where(crash)}, on {count} message{'s' * (count != 1)}: {named}")


def failure_reason(failure: Failure) -> str:
    """Return why a message fails, with the template's line if it crashes."""
    return visible(failure.reason) if failure.crash is None else _where(failure.crash)


def gate_words(learned: LearnedFormat, where: str = "") -> Text:
    """Summarize in one sentence the gate's results on the template's renders after its prompts.

    `where` is the place of the faults.
    """
    gate = learned.gate
    if not gate.asked:
        return Text("not run: no turn that was tried continues a generation prompt")
    counted = Text(gate_score(gate), style=gate_style(learned))
    words = ": what the template writes after its prompts is accepted by the grammar and read back"
    if not gate.ok:
        failed = gate.asked - gate.passed + gate.usual_asked - gate.usual_passed
        words = f": {failed} texts that the template writes after its prompts"
        words += f" are rejected by the grammar or misread{where}"
    if gate.not_asked:
        words += f"; {gate.not_asked} skipped: the turn does not continue the generation prompt"
    return sentence(counted, words)


def gate_score(gate: Gate) -> str:
    """Return the verdict in figures, with those of OpenAI's form if another was used."""
    usual = f", usual form {gate.usual_passed}/{gate.usual_asked}" if gate.usual_asked else ""
    return f"gate {gate.passed}/{gate.asked}{usual}"


def gate_style(learned: LearnedFormat) -> str:
    """Return the style of the gate's score: green only if OpenAI's form was tested, too."""
    if not learned.gate.ok:
        return "bold red"
    return "bold" if learned.spoiled else "bold green"


def gate_section(learned: LearnedFormat) -> Blocks:
    """Report the accepted renders, and list the refused ones."""
    gate = learned.gate
    set_any = any(fault.setting for fault in gate.faults)
    cells = [
        (
            visible(fault.title),
            *([setting_words(fault.setting) or "nothing set"] if set_any else []),
            f"not {fault.question.value}: {visible(fault.detail)}",
        )
        for fault in gate.faults
    ]
    heads = ("message", *(["chat_template_kwargs"] if set_any else []), "what is wrong")
    return [
        Heading(Text("Gate"), "gate", f"{gate.passed}/{gate.asked}"),
        *prose(gate_words(learned)),
        *table("Gate", heads, cells, most=FAULTS_SHOWN),
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
    """Return the evidence for each part; empty without any part.

    Example: `content: the template's renders; reasoning, tool calls: examples`.
    """
    parts: dict[EvidenceKind, list[str]] = {}
    for part, kind in evidence:
        parts.setdefault(kind, []).append(_PARTS[part])
    return "; ".join(f"{', '.join(names)}: {_KINDS[kind]}" for kind, names in parts.items())
