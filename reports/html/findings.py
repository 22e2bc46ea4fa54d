"""What lint found, and where the self-check fails."""

from __future__ import annotations

import json
from collections.abc import Sequence

from autoparser.analysis.core.text_alignment import diff_split
from autoparser.analysis.core.verdicts import AskedForm, Check, Failure
from autoparser.analysis.formats.learned_format import LearntFormat
from autoparser.analysis.lint.hit import HitEvidence, Severity, ShownText
from autoparser.analysis.lint.linting import LintFinding, LintReport
from autoparser.analysis.lint.rule import Profile
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.reports.places import lines_of, template_place
from autoparser.reports.setting_words import setting_words
from autoparser.reports.verdict import basis, sandbox_words, spoiled_words, why
from autoparser.reports.visible import visible

from .element import Element, Node, fragment, h
from .page_parts import badge, definitions, lead, opening
from .phases import difference
from .signs import whole

__all__ = ["findings", "released", "self_check", "self_checks"]

_KINDS = {Severity.ERROR: "bad", Severity.WARNING: "doubt", Severity.INFO: "plain"}
MOST_FAILURES = 12
LONGEST_LINE = 240
"""Characters of a template's line that are shown."""


def released(report: LintReport) -> Sequence[LintFinding]:
    """Return the findings that a page shows at once: those of lint's usual profile."""
    return [each for each in report.findings if Profile.RELEASE.shows(each.rule, each.severity)]


def findings(report: LintReport, template: ChatTemplate) -> Element:
    """List what the rules found, the weightiest first, each with its line and what shows it.

    As `autoparser lint` does, what is not in its usual profile is folded.
    """
    shown = released(report)
    folded = [each for each in report.findings if each not in shown]
    left_out = [
        (h("code", rule.code), f"{rule.summary}: needs {need.value}")
        for rule, need in report.left_out
    ]
    nothing = f"No rule found anything that the profile {Profile.RELEASE} shows."
    return fragment(
        [_finding(each, template) for each in shown]
        or lead(nothing if folded else "No rule found anything."),
        opening(_counted(len(folded)), *(_finding(each, template) for each in folded))
        if folded
        else None,
        opening(f"{len(left_out)} rules could not look", definitions(left_out))
        if left_out
        else None,
    )


def _counted(folded: int) -> str:
    return f"{folded} finding{'s' * (folded != 1)} not in the profile {Profile.RELEASE}"


def _finding(finding: LintFinding, template: ChatTemplate) -> Element:
    pairs: list[tuple[Node, Node]] = []
    line, place = finding.line, template_place(template, finding.line)
    if line is not None:
        text = "".join(lines_of(template.text)[line - 1 : line]).strip()
        pairs.append((f"Line {line}", h("code", text[:LONGEST_LINE])))
    pairs.append(("Confidence", finding.confidence.value))
    if finding.fix:
        pairs.append(("What fixes it", visible(finding.fix)))
    if finding.also:
        pairs.append(("Seen as well by", ", ".join(finding.also)))
    summary = fragment(
        badge(finding.severity.value, _KINDS[finding.severity]),
        h("b", finding.code, class_="tag"),
        h("span", finding.rule.name, class_="what"),
        h("span", visible(finding.message), class_="concludes"),
        None if place is None else fragment(" ", h("small", str(place))),
    )
    return opening(summary, definitions(pairs), *map(_evidence, finding.evidence))


def _evidence(evidence: HitEvidence) -> Element:
    one, other = evidence.one, evidence.other
    if other is None:
        return h("figure", _side(one, difference("", one.text, "", "both", one.label), "both"))
    split = diff_split(one.text, other.text)
    same = one.text == other.text and not (one.error or other.error)
    sides = [
        _side(one, difference(split.prefix, split.left, split.suffix, "left", one.label), "left"),
        _side(
            other,
            difference(split.prefix, split.right, split.suffix, "right", other.label),
            "right",
        ),
    ]
    return h(
        "figure",
        h("figcaption", "Both render the same text.") if same else None,
        h("div", sides, class_="sides"),
        class_="evidence",
    )


def _side(shown: ShownText, render: Element, side: str) -> Element:
    if shown.error:
        render = h("p", "It raises ", h("q", visible(shown.error)), class_="bad")
    said = json.dumps(list(shown.messages), indent=2, ensure_ascii=False)
    return h(
        "div",
        h("h3", visible(shown.label)),
        render,
        opening("The conversation", whole(said, "The conversation"), printed=False)
        if shown.messages
        else None,
        class_=f"side {side}",
    )


def self_checks(analysis: LearntFormat) -> Element:
    """Say of every setting's format how it does on the fixed messages."""
    if len(analysis.checks) == 1:
        return self_check(analysis.check)
    pairs = zip(analysis.formats, analysis.checks, strict=True)
    return fragment(
        fragment(h("h3", setting_words(format_.setting) or "nothing set"), self_check(check))
        for format_, check in pairs
    )


def self_check(check: Check) -> Element:
    """Say how a format does on the fixed messages; show those on which it fails."""
    if check.ok:
        return lead(f"{check.passed} of {check.total} fixed messages pass: {basis(check)}.")
    forbidden = sandbox_words(check)
    by_size = sorted(check.failures, key=lambda failure: failure.rank)
    shown = by_size[:MOST_FAILURES]
    left_out = len(check.failures) - len(shown)
    return fragment(
        lead(f"{check.passed} of {check.total} fixed messages pass: {basis(check)}."),
        lead(
            f"{len(check.different)} fixed messages come out otherwise than the template renders"
            " them: what this page says does not hold for such messages."
        )
        if check.different
        else None,
        lead(f"{forbidden[0].upper()}{forbidden[1:]}.") if forbidden else None,
        [_failure(each, open_=not at) for at, each in enumerate(shown)],
        [_spoiled(form) for form in check.forms if form.fault is not None],
        h("p", f"And {left_out} more.") if left_out else None,
    )


def _spoiled(form: AskedForm) -> Element:
    """Show the first message that is spoiled as users send it, in both forms."""
    fault = form.fault
    if fault is None:
        return fragment()
    split = diff_split(fault.usual, fault.wanted)
    prefix, suffix = split.prefix, split.suffix
    return opening(
        fragment(
            h("b", form.usual, class_="what"), h("span", spoiled_words(form), class_="concludes")
        ),
        h(
            "div",
            h(
                "div",
                h("h3", form.usual),
                difference(prefix, split.left, suffix, "left", form.usual),
                class_="side left",
            ),
            h(
                "div",
                h("h3", form.wanted),
                difference(prefix, split.right, suffix, "right", form.wanted),
                class_="side right",
            ),
            class_="sides",
        ),
        open_=True,
    )


def _failure(failure: Failure, *, open_: bool) -> Element:
    message = json.dumps(failure.message.to_dict(), ensure_ascii=False)
    split = diff_split(failure.rendered or "", failure.written or "")
    prefix, suffix = split.prefix, split.suffix
    return opening(
        fragment(
            h("b", visible(failure.title), class_="what"),
            h("span", why(failure), class_="concludes"),
        ),
        h("p", h("code", message)),
        h(
            "div",
            h(
                "div",
                h("h3", "the template renders"),
                difference(prefix, split.left, suffix, "left", "what the template renders")
                if failure.rendered is not None
                else h("p", "no text: it raises", class_="bad"),
                class_="side left",
            ),
            h(
                "div",
                h("h3", "the analysis writes"),
                difference(prefix, split.right, suffix, "right", "what the analysis writes")
                if failure.written is not None
                else h("p", "no text: it says that the template raises", class_="bad"),
                class_="side right",
            ),
            class_="sides",
        ),
        open_=open_,
    )
