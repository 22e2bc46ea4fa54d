from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.errors import TemplateRenderError, TemplateUnusableError
from autoparser.analysis.core.message_battery import battery_messages, battery_tools
from autoparser.analysis.core.message_shape import Setting, form_departures, offered_tools
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.core.verdicts import Check, Failure, TemplateCrash
from autoparser.analysis.learning.shape_negotiation import answered_conversation
from autoparser.analysis.lint.hit import (
    TEXT_DROPPED,
    Hit,
    HitCause,
    HitEvidence,
    ShownText,
    spoiled_cause,
)
from autoparser.analysis.lint.lint_renders import Render, show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP604")
def check(subject: Subject) -> Iterator[Hit]:
    """Report everything for which `autoparser analyze` exits with 1, or cannot analyze."""
    failure = subject.failure
    if failure is not None:
        yield from _unusable(failure)
        return
    analysis = subject.analysis
    seen: set[str] = set()
    spoiled = analysis.spoiled is not None
    for format_, verdict in zip(analysis.formats, analysis.checks, strict=True):
        setting: Setting = {} if verdict is analysis.checks[0] else format_.setting
        for hit in (*_crashes(subject, verdict, setting), *_departures(subject, verdict, setting)):
            # Attribute to a switch only what does not happen without it.
            if hit.message not in seen:
                seen.add(hit.message)
                yield hit
    yield from _spoiled_forms(subject)
    # A wrong format has wrong grammars, and the gate is slow.
    if not (seen or spoiled):
        yield from _gate_faults(subject)


def _unusable(failure: Exception) -> Iterator[Hit]:
    if isinstance(failure, TemplateUnusableError):
        crash = failure.__cause__
        cause = None
        if isinstance(crash, TemplateRenderError):
            cause = HitCause("raises", crash.line, crash.reason)
        yield Hit(failure.message, line=failure.line, fix=failure.hint or "", cause=cause)


def _crashes(subject: Subject, verdict: Check, setting: Mapping[str, Json]) -> Iterator[Hit]:
    alike: dict[tuple[int | None, str], list[TemplateCrash]] = {}
    for crash in verdict.crashes:
        # Access that only the sandbox forbids is the subject of another rule.
        if crash.needed and not crash.sandbox_alone:
            # Values of several types fail alike at one place, each with its own type's name.
            alike.setdefault((crash.line, _QUOTED.sub("", crash.reason)), []).append(crash)
    for crashes in alike.values():
        yield _crash_hit(subject, crashes, setting)


_QUOTED = re.compile(r"""(["']).*?\1""")


def _crash_hit(
    subject: Subject, crashes: Sequence[TemplateCrash], setting: Mapping[str, Json]
) -> Hit:
    reasons = {title: crash.reason for crash in crashes for title in crash.titles}
    cases = [message for message in battery_messages() if message.title in reasons]
    case = min(cases, key=lambda case: len(str(case.message)))
    count, total = len(reasons), len(battery_messages())
    first = crashes[0]
    return Hit(
        f"{count} of {total} messages raise{'s' * (count == 1)}, the smallest with {case.title}:"
        f" {reasons[case.title].rstrip('.')}",
        (show_render(_render(subject, case.message, setting), case.title),),
        line=first.line,
        cause=HitCause("raises", first.line, first.reason),
        setting=setting,
    )


def _departures(subject: Subject, verdict: Check, setting: Mapping[str, Json]) -> Iterator[Hit]:
    smallest = verdict.smallest
    if smallest is None or smallest.foretold:
        return
    count = len(verdict.different)
    yield Hit(
        f"{count} of {verdict.total} messages {'does' if count == 1 else 'do'} not match the"
        f" format, the smallest with {smallest.title}: {smallest.reason}",
        (
            HitEvidence(
                ShownText("by the format", smallest.written or ""),
                ShownText("by the template", smallest.rendered or ""),
            ),
        ),
        line=_departing_line(subject, smallest, setting),
        setting=setting,
    )


def _departing_line(subject: Subject, failure: Failure, setting: Mapping[str, Json]) -> int | None:
    """Return the line that wrote the first character that the format does not expect.

    Of a text that is cut, it is the line that wrote the text.
    """
    render = _render(subject, failure.message, setting)
    turn, expected = failure.rendered or "", failure.written or ""
    start = render.text.rfind(turn) if turn else -1
    if start < 0:
        return None if render.error is None else render.error.line
    at = prefix_length(turn, expected)
    cut = len(expected) > len(turn) and expected.endswith(turn[at:])
    return render.line_at(start + min(max(at - cut, 0), len(turn) - 1))


def _render(subject: Subject, message: Message, setting: Mapping[str, Json]) -> Render:
    dialogue = answered_conversation(subject.analysis.prober(), message)
    return subject.render(
        subject.shape.messages(dialogue, subject.marks.system),
        tools=offered_tools(battery_tools(), subject.shape),
        setting={**subject.usual_setting, **setting},
    )


def _spoiled_forms(subject: Subject) -> Iterator[Hit]:
    departures = form_departures(subject.shape)
    forms = (form for verdict in subject.analysis.checks for form in verdict.forms if not form.ok)
    # One finding for each form, however many settings it fails under.
    for usual, form in {form.usual: form for form in forms}.items():
        plain = any(departure.plain_text and departure.usual in usual for departure in departures)
        lost = "" if form.fault is None else f", such as {form.fault.title!r}: {form.fault.reason}"
        shown = form.fault
        yield Hit(
            f"OpenAI-style messages ({usual}): {len(form.spoiled)} of {form.asked}"
            f" conversations silently lose text{lost}",
            ()
            if shown is None
            else (
                HitEvidence(ShownText(usual, shown.usual), ShownText(form.wanted, shown.wanted)),
            ),
            cause=TEXT_DROPPED if plain else spoiled_cause(usual),
        )


def _gate_faults(subject: Subject) -> Iterator[Hit]:
    gate = subject.analysis.gate
    if gate.ok:
        return
    fault = gate.faults[0]
    failed = gate.asked - gate.passed or gate.usual_asked - gate.usual_passed
    yield Hit(
        f"{failed} rendered turn{' fails' if failed == 1 else 's fail'} the check of grammar and"
        f" parser: {fault.title} is not {fault.question.value}: {fault.detail}",
        (HitEvidence(ShownText(f"after the prompt, {fault.title}", fault.text)),),
        setting=fault.setting,
    )
