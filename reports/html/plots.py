"""What people would rather look at than read: where a prefix breaks, and what masks cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from autoparser.analysis.overview.portrait import MaskCost
from autoparser.analysis.overview.portrait_conversation import Conversation, Step
from autoparser.reports.visible import visible

from .bars import BarPiece, Column, bar, columns
from .element import Element, Node, fragment, h
from .page_parts import definitions, lead, opening, table
from .signs import inline

__all__ = ["conversation", "masks"]


def conversation(talk: Conversation) -> Element:
    """Draw the next prompt of each turn: what of it is in the cache, and what is computed."""
    if not talk.steps:
        return lead(f"No conversation can be had: {visible(talk.stopped)}")
    longest = max(max(step.rendered, step.bridged or 0) for step in talk.steps)
    return fragment(
        lead(f"The model takes {len(talk.steps)} turns. {_verdict(talk)}"),
        h(
            "p",
            _key("kept", "in the cache"),
            _key("fresh", "new"),
            _key("again", "computed from the break on"),
            class_="keys",
        ),
        h("ol", [_turn(step, longest, talk) for step in talk.steps], class_="talk"),
        h("p", f"It ends there: {visible(talk.stopped)}", class_="note") if talk.stopped else None,
        _places(talk),
        opening("The figures", _figures(talk)),
    )


def _verdict(talk: Conversation) -> str:
    if not talk.breaks:
        return (
            "Each prompt that is rendered from the messages begins with all that was computed"
            " before, so a prefix cache holds, and a bridge is as good."
        )
    return (
        f"After {talk.breaks} of them the prompt that is rendered from the messages does not begin"
        f" with what was computed: {talk.thrown_away:,} {unit(talk)} of it are thrown away. A"
        " bridge goes on from the tokens as they are, and keeps reasoning that the template would"
        " drop."
    )


def unit(talk: Conversation) -> str:
    """Name what is counted, in a word."""
    return talk.unit.partition(",")[0]


def _key(kind: str, words: str) -> Element:
    swatch = h(
        "svg",
        h("rect", width="12", height="12", class_=kind),
        width="12",
        height="12",
        aria_hidden="true",
    )
    return h("span", swatch, " ", words)


def _turn(step: Step, longest: int, talk: Conversation) -> Element:
    what = "calls" if step.calls else "answers"
    return h(
        "li",
        h("p", h("b", str(step.turn)), f" {what}", class_="who"),
        h("div", _rendered(step, longest, talk), _bridged(step, longest, talk), class_="both"),
    )


def _rendered(step: Step, longest: int, talk: Conversation) -> Element:
    rest = step.rendered - step.reused
    words = f"{step.reused:,} of {step.rendered:,} {unit(talk)} are in the cache" + (
        f", {step.cached - step.reused:,} are thrown away" if step.breaks else ""
    )
    pieces = [BarPiece(step.reused, "kept"), BarPiece(rest, "again" if step.breaks else "fresh")]
    broken = h("span", f" ✕ {rest:,} computed", class_="bad") if step.breaks else None
    return h(
        "div",
        bar(pieces, longest, f"Turn {step.turn}, rendered again: {words}"),
        h("small", "rendered again", broken),
        class_="way",
    )


def _bridged(step: Step, longest: int, talk: Conversation) -> Element:
    if step.bridged is None:
        said: Node = h("small", f"no bridge: {visible(step.refusal)}", class_="bad")
        return h("div", said, class_="way")
    words = f"{step.bridged:,} {unit(talk)}, none of what came before is computed again"
    added = BarPiece(max(0, step.bridged - _before(step, talk)), "fresh")
    return h(
        "div",
        bar(
            [BarPiece(_before(step, talk), "kept"), added],
            longest,
            f"Turn {step.turn}, by bridge: {words}",
        ),
        h("small", "by bridge", ", keeps reasoning" if step.note else ""),
        class_="way",
    )


def _before(step: Step, talk: Conversation) -> int:
    """Return what the bridge began with: its last prompt, and what the model wrote."""
    steps = talk.steps
    at = steps.index(step)
    last = steps[at - 1] if at else None
    if last is None or last.bridged is None:
        return step.cached
    return step.cached - last.rendered + last.bridged


def _places(talk: Conversation) -> Element | None:
    broken = [step for step in talk.steps if step.breaks]
    if not broken:
        return None
    rows: list[tuple[Node, Node]] = [
        (
            f"After turn {step.turn}",
            fragment(
                "after ",
                inline(step.before[-24:]),
                h("br"),
                "was ",
                h("del", inline(step.written)),
                h("br"),
                "is ",
                h("ins", inline(step.instead)),
            ),
        )
        for step in broken
    ]
    return opening("Where it breaks", definitions(rows))


def _figures(talk: Conversation) -> Element:
    heads = ("turn", "computed before", "next prompt", "in the cache", "thrown away", "by bridge")
    rows = [
        (
            f"{step.turn}, {'calls' if step.calls else 'answers'}",
            f"{step.cached:,}",
            f"{step.rendered:,}",
            f"{step.reused:,}",
            f"{step.cached - step.reused:,}",
            "none" if step.bridged is None else f"{step.bridged:,}",
        )
        for step in talk.steps
    ]
    return fragment(
        h("p", f"All figures are {talk.unit}."), table("Ten turns in figures", heads, rows)
    )


_STEPS = (1, 2, 5)
THOUSAND = 1000


def masks(cost: MaskCost | None) -> Element:
    """Draw how long a mask takes."""
    if cost is None:
        return lead("Masks are made for a tokenizer: --tokenizer PATH gives one.")
    if cost.refusal:
        return lead(f"No mask can be made: {visible(cost.refusal)}")
    drawn = list(_columns(cost.microseconds))
    words = (
        f"{len(cost.microseconds)} masks: median {cost.median:.0f} µs, 99th percentile"
        f" {cost.high:.0f} µs, slowest {cost.most:.0f} µs"
    )
    return fragment(
        lead(
            f"The grammar above with this tokenizer: {cost.answers} answers were written at random,"
            " and the mask before each token was timed, on the machine that made this page."
        ),
        h(
            "figure",
            columns(drawn, words),
            h(
                "figcaption",
                words,
                h("small", " Each column counts the masks from its µs to the next."),
            ),
        ),
    )


def _columns(times: Sequence[float]) -> Iterator[Column]:
    """Count times by the decades that they lie in, each cut in three."""
    bounds = [step * 10.0**power for power in range(-1, 7) for step in _STEPS]
    first = max((at for at, bound in enumerate(bounds) if bound <= times[0]), default=0)
    last = next((at for at, bound in enumerate(bounds) if bound > times[-1]), len(bounds) - 1)
    for low, high in pairwise(bounds[first : last + 1]):
        size = sum(low <= time < high for time in times)
        yield Column(f"{low / THOUSAND:g}k" if low >= THOUSAND else f"{low:g}", size)
