"""The verdicts of self-check and gate, their basis, and the failures.

The self-check covers whole messages, the gate turns after a prompt:

    >>> from autoparser import analyze
    >>> analysis = analyze("fixtures/templates/j1-json-in-tags.jinja")
    >>> str(verdict_text(analysis.check))
    '47/47 test messages match'
    >>> verdict_basis(analysis.check)
    'the format reproduces every test message as the template renders it'
    >>> gate_score(analysis.gate)
    'grammar and parser 14/14 turns'
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from autoparser.analysis.core.call_format import CallLimit
from autoparser.analysis.core.message_shape import StringArguments
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.verdicts import (
    AskedForm,
    Check,
    EvidenceKind,
    Failure,
    FormFault,
    Gate,
    GateQuestion,
    TemplateCrash,
)

from .blocks import (
    Block,
    Blocks,
    ComparedTexts,
    Entries,
    Entry,
    Heading,
    TextSide,
    code,
    compare_texts,
    heading,
    join_texts,
    lead,
    prose,
    rows,
    sentence,
    table,
)
from .visible import counted_noun, first_names, setting_words, visible

if TYPE_CHECKING:
    from autoparser.analysis.formats.learned_format import LearnedFormat

FAILURES_NAMED = 12
"""Conversations named that lose text."""
MOST_FAILURES = 12
"""Failures of the self-check that are shown."""
FAULTS_SHOWN = 4
"""Faults of the gate on a terminal; a page has all."""
CRASHES_NAMED = 3
"""Messages named for one crash."""


def check_score(check: Check) -> str:
    """Return the self-check in figures, including OpenAI-style messages that lose text.

    Examples: `47/47 test messages match`, `46/47 test messages match, OpenAI-style 1/40`.
    """
    form = check.spoiled
    # The score covers the template's own form; users may send another.
    score = f"{check.passed}/{check.total} test messages match"
    return score if form is None else f"{score}, OpenAI-style {form.intact_count}/{form.asked}"


def spoiled_words(form: AskedForm) -> str:
    """Describe the losses in OpenAI-style messages."""
    count = f"{len(form.spoiled)} of {form.asked} conversations silently lose text"
    fault = form.fault
    shown = "" if fault is None else f", e.g. {fault.title!r}: {visible(fault.reason)}"
    return f"OpenAI-style messages ({form.usual}): {count}{shown}"


def wanted_words(form: AskedForm) -> str:
    """Describe the form that replaces OpenAI's, and why; empty if the template accepts both."""
    if form.spoiled:
        effect = "loses text"
    elif form.raised or form.unread:
        # A caller sees what happens to most conversations.
        effect = "ignored" if form.unread > form.raised else "raises"
    else:
        return ""
    return f"{form.wanted} ({form.usual}: {effect})"


def verdict_text(check: Check) -> Text:
    """Return the self-check as one phrase: ``47/47 test messages match``."""
    return Text(check_score(check), style="bold green" if check.ok else "bold red")


def verdict_with_basis(check: Check) -> Text:
    """Return the verdict, and its basis unless it is the same for every message."""
    # A full score says it all; a basis is only of use for another one.
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
        return "the format reproduces every test message as the template renders it"
    counts = [f"{check.equal} reproduced as the template renders them"]
    if check.refused:
        counts.append(f"{check.refused} rejected by the template")
    counts += _crashes(check)
    if check.not_asked:
        counts.append(f"{check.not_asked} skipped (equal to others in the form it expects)")
    if check.different:
        counts.append(f"{len(check.different)} different")
    return ", ".join(counts)


def _crashes(check: Check) -> Iterator[str]:
    """Count the failing crashes and the expected ones, each with a line."""
    # Crashes on what agents send come first: only they are failures.
    for needed in (True, False):
        crashes = [crash for crash in check.crashes if crash.needed is needed]
        count = sum(len(crash.titles) for crash in crashes)
        if not count:
            continue
        rare = "" if needed else ", which agents do not send"
        largest = max(crashes, key=lambda crash: len(crash.titles))
        yield f"{count} crash{'es' * (count == 1)} the template{rare} ({_where(largest)})"


def _where(crash: TemplateCrash) -> str:
    line = "" if crash.line is None else f"line {crash.line}: "
    return f"{line}{visible(crash.reason).rstrip('.')}"


def sandbox_words(check: Check) -> str:
    """Name the operations that only transformers' sandbox forbids; empty if there are none."""
    crash = check.forbidden
    if crash is None:
        return ""
    return (
        f"transformers' sandbox rejects this template ({_where(crash)}); the results are from"
        f" renders in a sandbox that allows changes of lists, where {check.freed + check.equal} of"
        f" {check.total} messages are reproduced"
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


def _check_blocks(check: Check) -> Iterator[Block]:
    yield from lead(f"{check.passed} of {check.total} test messages pass: {verdict_basis(check)}.")
    if check.different:
        yield from lead(
            "This report is wrong about messages that differ from the template's render:"
            f" {len(check.different)} here."
        )
    forbidden = sandbox_words(check)
    yield from lead(f"{forbidden[0].upper()}{forbidden[1:]}.") if forbidden else []
    yield from rows([("crash", _crash(crash)) for crash in check.crashes if crash.needed])
    # The first is shown opened, so it should be short and have a named cause.
    by_size = sorted(check.failures, key=lambda failure: failure.rank)
    shown = [_failure(failure, opened=not at) for at, failure in enumerate(by_size[:MOST_FAILURES])]
    yield from [Entries(tuple(shown))] if shown else []
    if len(by_size) > MOST_FAILURES:
        yield from prose(f"And {len(by_size) - MOST_FAILURES} more.")
    yield from [
        _altered_messages(form, form.fault) for form in check.forms if form.fault is not None
    ]


def _failure(failure: Failure, *, opened: bool) -> Entry:
    """Show a message on which a format fails: the template's render and the format's text."""
    # The message itself, so that a reader can render it again.
    message = visible(json.dumps(failure.message.to_dict(), ensure_ascii=False))
    raises, predicted = "no text, it raises", "no text, it predicts that the template raises"
    sides = (
        TextSide(
            "the template renders",
            error=Text(raises) if failure.rendered is None else None,
            label="the template's render",
        ),
        TextSide(
            "the format predicts",
            error=Text(predicted) if failure.written is None else None,
            label="the format's prediction",
        ),
    )
    pieces = compare_texts(failure.rendered or "", failure.written or "")
    behind = [*rows([("its message", code(message))]), ComparedTexts(sides, tuple(pieces))]
    reason = Text(failure_reason(failure))
    return Entry(visible(failure.title), reason, blocks=behind, opened=opened)


def _altered_messages(form: AskedForm, fault: FormFault) -> Entries:
    """Name the altered OpenAI-style messages, and show the first in both forms."""
    sides = tuple(TextSide(form_name, label=form_name) for form_name in (form.usual, form.wanted))
    pieces = tuple(compare_texts(fault.usual, fault.wanted))
    named = [
        ("lose text", Text(first_names(form.spoiled, FAILURES_NAMED, "; ", "; and "))),
        ("shown", Text(f"{fault.title}: {visible(fault.reason)}")),
    ]
    words = Text(f"{len(form.spoiled)} of {form.asked} conversations lose text")
    behind = [*rows(named), ComparedTexts(sides, pieces)]
    return Entries((Entry(form.usual, words, blocks=behind, opened=True),))


def _crash(crash: TemplateCrash) -> Text:
    count = len(crash.titles)
    named = first_names(crash.titles, CRASHES_NAMED, "; ", "; and ")
    return Text(f"{_where(crash)}, on {counted_noun(count, 'message')}: {named}")


def failure_reason(failure: Failure) -> str:
    """Return why a message fails, with the template's line if it crashes."""
    return visible(failure.reason) if failure.crash is None else _where(failure.crash)


def gate_words(learned: LearnedFormat, where: str = "") -> Text:
    """Summarize in one sentence how grammar and parser treat the rendered turns.

    `where` is the place of the faults.
    """
    gate = learned.gate
    # A template without a generation prompt has nothing to follow.
    if not gate.asked:
        return Text("not tested: no rendered turn continues a generation prompt")
    counted = Text(gate_score(gate), style=gate_style(learned))
    words = ": the grammar accepts, and the parser reads back, every turn rendered after a prompt"
    if not gate.ok:
        words = f": {gate_fault_words(gate)}{where}"
    if gate.not_asked:
        skipped = counted_noun(gate.not_asked, "turn")
        words += f"; {skipped} skipped, which do not continue the generation prompt"
    return sentence(counted, words)


def gate_fault_words(gate: Gate) -> str:
    """Count the turns that fail, and name the first, e.g. `the grammar rejects 2 of 28 turns, …`.

    The gate has at least one fault.
    """
    fault = gate.faults[0]
    failed, asked = gate.asked - gate.passed, gate.asked
    sent = ""
    # All turns in the template's own form pass, so the faults are in OpenAI's form.
    if not failed:
        failed, asked = gate.usual_asked - gate.usual_passed, gate.usual_asked
        sent = " of OpenAI-style messages"
    questions = {fault.question for fault in gate.faults}
    doers = [_FAULTS[question] for question in GateQuestion if question in questions]
    return f"{' or '.join(doers)} {failed} of {asked} turns{sent}, first {fault.title}"


_FAULTS = {
    GateQuestion.ACCEPTED: "the grammar rejects",
    GateQuestion.READ: "the parser misreads",
}


def gate_score(gate: Gate) -> str:
    """Return the verdict in figures, including OpenAI-style messages that fail."""
    score = f"grammar and parser {gate.passed}/{gate.asked} turns"
    if gate.usual_passed == gate.usual_asked:
        return score
    return f"{score}, OpenAI-style {gate.usual_passed}/{gate.usual_asked}"


def format_verdict(learned: LearnedFormat) -> Text:
    """Return the verdict for parsing, then for serving and training, as one sentence.

    Example: `parsing works: 47/47 test messages match the template (self-check), grammar and parser
    14/14 turns; see findings for serving and training`.
    """
    checks = learned.checks
    different = sum(len(check.different) for check in checks)
    # Faults of OpenAI-style messages alone come from the template, not from the parser.
    misread = not learned.gate.own_form_ok and any(
        fault.question is GateQuestion.READ for fault in learned.gate.faults
    )
    parts = {part for format_ in learned.formats for part in format_.shown_parts}
    if not parts and not any(check.failures for check in checks):
        # The empty turns of all messages match in vain.
        return Text("not tested: the template renders no assistant message")
    if different:
        judged = (f"parsing, grammars and so serving are unreliable{_failing(learned)}", "bold red")
    elif misread:
        judged = (f"parsing and so serving fail for {_faulty_turns(learned.gate)}", "bold red")
    # The sandbox is transformers' own; other engines may render the template.
    elif _count_freed(learned.check) == learned.check.total:
        judged = ("parsing works outside transformers' sandbox", "bold green")
    elif any(check.failures for check in checks):
        judged = ("parsing works where the template does not crash", "bold green")
    else:
        judged = ("parsing works", "bold green")
    consequences = _consequences(learned, served=not different and not misread)
    clauses = [sentence(judged, f": {_scores(learned)}"), *map(Text, consequences)]
    return join_texts(clauses, "; ")


def _count_freed(check: Check) -> int:
    """Count the messages that match outside transformers' sandbox; 0 if it rejects nothing."""
    return 0 if check.forbidden is None else check.freed + check.equal


def _failing(learned: LearnedFormat) -> str:
    """Name the setting whose messages differ, unless the default's do: ` with think=true`."""
    pairs = zip(learned.formats, learned.checks, strict=True)
    failing = [setting_words(format_.setting) for format_, check in pairs if check.different]
    return "" if learned.check.different else f" with {first_names(failing, 1)}"


def _scores(learned: LearnedFormat) -> str:
    """Return both scores, with the number of settings if there are several.

    Example: `47/47 test messages match the template (self-check), grammar and parser 26/28 turns`.
    """
    check, gate, checks = learned.check, learned.gate, learned.checks
    free = f"; {freed}/{check.total} outside the sandbox" if (freed := _count_freed(check)) else ""
    scores = [f"{check.passed}/{check.total} test messages match the template (self-check{free})"]
    if gate.asked:
        scores.append(f"grammar and parser {gate.passed}/{gate.asked} turns")
    if len(checks) > 1:
        failed = sum(not check.ok for check in checks)
        scores.append(
            f"{failed} of {len(checks)} settings fail{'s' * (failed == 1)}"
            if failed
            else f"{len(checks)} settings"
        )
    return ", ".join(scores)


def _consequences(learned: LearnedFormat, *, served: bool) -> Iterator[str]:
    """Name each fault that matters for serving or training, or the command that looks for them.

    `served` is whether parsing, on which serving depends, has no fault.
    """
    gate, form = learned.gate, learned.spoiled
    if not gate.own_form_ok and all(
        fault.question is GateQuestion.ACCEPTED for fault in gate.faults
    ):
        yield f"serving under a grammar: it rejects {_faulty_turns(gate)}"
    faults: list[str] = []
    if any(failure.foretold for check in learned.checks for failure in check.failures):
        crashing = "the template crashes on messages that agents send"
        if _count_freed(learned.check) == learned.check.total:
            crashing = "transformers' sandbox rejects messages that agents send"
        faults.append(f"serving and training: {crashing}")
    if form is not None:
        intact = f"{form.intact_count} of {form.asked} intact"
        faults.append(f"serving and training: OpenAI-style messages lose text ({intact})")
    united, arguments = learned.formats.united, learned.string_arguments
    if (
        united.retention.tool_loop is False
        or (united.calls is not None and united.calls.limit in LOST_CALLS)
        # A caller sees what raises; only losses in silence need the findings.
        or (arguments in LOST_ARGUMENTS and arguments is not StringArguments.RAISES)
    ):
        faults.append("see findings for serving and training")
    yield from faults
    # Lint finds more faults than an analysis, so no fault here is not yet a pass.
    if served and not faults:
        yield "run lint for serving and training"


LOST_CALLS = (CallLimit.FIRST, CallLimit.LAST)
"""Limits under which the template drops calls of a turn without an error."""

LOST_ARGUMENTS = {
    StringArguments.ENCODED_TWICE: "JSON-string arguments are encoded twice",
    StringArguments.DROPPED: "JSON-string arguments are dropped or altered",
    StringArguments.RAISES: "JSON-string arguments raise",
}
"""The faults of templates with arguments given as JSON text, as chat APIs send them."""


def _faulty_turns(gate: Gate) -> str:
    """Count the turns that fail, e.g. `2 turns (message 'an argument of every type')`."""
    titles = [repr(title) for title in dict.fromkeys(fault.title for fault in gate.faults)]
    named = f"message{'s' * (len(titles) > 1)} {first_names(titles, 1)}"
    return f"{counted_noun(gate.asked - gate.passed, 'turn')} ({named})"


def gate_style(learned: LearnedFormat) -> str:
    """Return the style of the gate's score: green only if OpenAI's form was tested, too."""
    if not learned.gate.ok:
        return "bold red"
    return "bold" if learned.spoiled else "bold green"


def gate_section(learned: LearnedFormat) -> Blocks:
    """Report the accepted renders, and list the refused ones."""
    gate = learned.gate
    # A column of `nothing set` alone would say nothing.
    set_any = any(fault.setting for fault in gate.faults)
    cells = [
        (
            visible(fault.title),
            *([setting_words(fault.setting) or "nothing set"] if set_any else []),
            f"not {fault.question.value}: {visible(fault.detail)}",
        )
        for fault in gate.faults
    ]
    heads = ("message", *(["chat_template_kwargs"] if set_any else []), "fault")
    return [
        Heading(Text("Grammar and parser"), "gate", f"{gate.passed}/{gate.asked}"),
        *prose(gate_words(learned)),
        *table("Grammar and parser", heads, cells, most=FAULTS_SHOWN),
    ]


_KINDS = {
    EvidenceKind.RENDER: "the template's renders",
    EvidenceKind.EXAMPLE: "examples",
    EvidenceKind.OUTPUT: "outputs",
    EvidenceKind.WORDS: "the prompt's description alone",
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
