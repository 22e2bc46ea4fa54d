"""What lint found, and where the self-check fails."""

from __future__ import annotations

import json
from collections.abc import Sequence

from autoparser.analysis.check import Check, Failure
from autoparser.analysis.portrait import Remark, Severity
from autoparser.reports.visible import visible

from .element import Element, Node, fragment, h
from .parts import badge, definitions, lead, opening
from .phases import difference
from .signs import whole

__all__ = ["findings", "self_check"]

_KINDS = {Severity.ERROR: "bad", Severity.WARNING: "doubt", Severity.INFO: "plain"}
MOST_FAILURES = 12


def findings(remarks: Sequence[Remark]) -> Element:
    """List what lint found, the worst first."""
    if not remarks:
        return lead("Lint found nothing.")
    order = list(Severity)
    ranked = sorted(remarks, key=lambda each: (order.index(each.severity), each.code))
    return fragment([_remark(each) for each in ranked])


def _remark(remark: Remark) -> Element:
    pairs: list[tuple[Node, Node]] = []
    if remark.line is not None:
        pairs.append(("Line", str(remark.line)))
    if remark.confidence:
        pairs.append(("Confidence", visible(remark.confidence)))
    if remark.fix:
        pairs.append(("Fix", whole(remark.fix, f"Fix of {remark.code}")))
    if remark.evidence:
        pairs.append(("Evidence", whole(remark.evidence, f"Evidence of {remark.code}")))
    summary = fragment(
        badge(remark.severity.value, _KINDS[remark.severity]),
        h("b", visible(remark.code), class_="tag"),
        h("span", visible(remark.title), class_="what") if remark.title else None,
        h("span", visible(remark.message), class_="concludes"),
    )
    return opening(summary, definitions(pairs)) if pairs else h("p", summary, class_="remark")


def self_check(check: Check) -> Element:
    """Say how the analysis does on the fixed messages; show those on which it fails."""
    if check.ok:
        return lead(
            f"The analysis writes all {check.total} fixed messages as the template renders them"
            + (f"; {check.refused} of them are refused, as it says." if check.refused else ".")
        )
    shown = sorted(check.failures, key=lambda failure: failure.size)[:MOST_FAILURES]
    left_out = len(check.failures) - len(shown)
    return fragment(
        lead(
            f"{check.total - check.passed} of {check.total} fixed messages come out otherwise than"
            " the template renders them: what this page says does not hold for such messages."
        ),
        [_failure(each, open_=not at) for at, each in enumerate(shown)],
        h("p", f"And {left_out} more.") if left_out else None,
    )


def _failure(failure: Failure, *, open_: bool) -> Element:
    message = json.dumps(failure.message.to_dict(), ensure_ascii=False)
    prefix, rendered, written, suffix = _split(failure.rendered or "", failure.written or "")
    return opening(
        fragment(
            h("b", visible(failure.title), class_="what"),
            h("span", visible(failure.reason), class_="concludes"),
        ),
        h("p", h("code", message)),
        h(
            "div",
            h(
                "div",
                h("h4", "the template renders"),
                difference(prefix, rendered, suffix, "left", "what the template renders")
                if failure.rendered is not None
                else h("p", "no text: it raises", class_="bad"),
                class_="side left",
            ),
            h(
                "div",
                h("h4", "the analysis writes"),
                difference(prefix, written, suffix, "right", "what the analysis writes")
                if failure.written is not None
                else h("p", "no text: it says that the template raises", class_="bad"),
                class_="side right",
            ),
            class_="sides",
        ),
        open_=open_,
    )


def _split(left: str, right: str) -> tuple[str, str, str, str]:
    from autoparser.analysis.alignment import diff_split

    split = diff_split(left, right)
    return split.prefix, split.left, split.right, split.suffix
