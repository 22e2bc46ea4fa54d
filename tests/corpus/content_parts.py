"""What templates make of content that is a list of parts, judged by transformers' own renders.

The analysis gives words before and after a part and says what stands between them; here another
conversation is rendered by transformers, as `apply_chat_template` does, and has to hold just that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers.utils.chat_template_utils import render_jinja_template

from autoparser import AutoparserError
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import MEDIA_FORMS, MediaKind
from autoparser.analysis.core.text_format import (
    ContentParts,
    MediaPlace,
    MediaSlot,
    MediaTreatment,
    PartsOutcome,
)

from .corpus_templates import Board, analysis_at

DATA = "https://example.org/seen.bin"
FIRST, LAST = "Look at this:", "What do you see?"


@dataclass(frozen=True, slots=True)
class JudgedParts:
    """What one template makes of parts, and what transformers says against it."""

    name: str
    parts: ContentParts
    asked: int
    """Forms whose outcome was held against transformers' render."""
    faults: tuple[str, ...]


def judged_parts(path: Path) -> JudgedParts | None:
    """Ask of one template; None where there is no analysis."""
    try:
        analysis = analysis_at(path)
    except AutoparserError:
        return None
    judge = _PartsJudge(analysis)
    parts, asked = analysis.content_parts, 1
    faults = [*judge.fault(parts.texts, judge.play([]), "a list of texts")]
    for media in parts.media:
        for form in (each for each in MEDIA_FORMS if each.kind is media.kind):
            text = judge.play([form.part(DATA)])
            asked += 1
            faults += judge.fault(media.forms[form.name], text, form.name, media)
    return JudgedParts(path.stem, parts, asked, tuple(faults))


class _PartsJudge:
    """Renders by transformers what one analysis has said something about."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._given: dict[str, Any] = {
            **analysis.template.special_tokens,
            **analysis.stand_ins,
            **analysis.formats.base,
        }
        if self.play([]) is None:
            # Some templates take a user's text only beside tools.
            self._given["tools"] = [analysis.shape.tool(each) for each in analysis.prober().tools]

    def play(self, parts: Sequence[Any]) -> str | None:
        """Render parts between two texts; None where that fails."""
        first, last = ({"type": "text", "text": text} for text in (FIRST, LAST))
        messages: list[dict[str, Any]] = [{"role": "user", "content": [first, *parts, last]}]
        if self._analysis.shape.system:
            system = self._analysis.shape.user_text("Be brief.")
            messages.insert(0, {"role": "system", "content": system})
        try:
            (text,), _ = render_jinja_template(
                [messages], chat_template=self._analysis.template.text, **self._given
            )
        except Exception:  # noqa: BLE001 - whatever a template of the corpus raises
            return None
        return str(text)

    def fault(
        self,
        outcome: PartsOutcome,
        text: str | None,
        what: str,
        media: MediaTreatment | None = None,
    ) -> Iterator[str]:
        """Say what is wrong with an outcome."""
        raised = outcome in (PartsOutcome.REFUSED, PartsOutcome.CRASHES)
        if text is None or raised:
            if raised != (text is None):
                yield f"{what}: {outcome}, but {'raises' if text is None else 'renders'}"
            return
        holds = 0 <= text.find(FIRST) < text.find(LAST)
        right = {
            PartsOutcome.PRINTED: "'type': '" in text or '"type":' in text,
            PartsOutcome.DROPPED: holds if media else not holds,
            PartsOutcome.WRITTEN: holds and (media is None or self._stands(text, media)),
        }
        if not right.get(outcome, True):
            yield f"{what}: {outcome}, but the render is {text[-200:]!r}"
        elif outcome is PartsOutcome.DROPPED and media is not None:
            yield from self._unwritten(text, what)

    def _unwritten(self, text: str, what: str) -> Iterator[str]:
        """Say what of a dropped part is in the render and does not stand around texts anyway."""
        plain = self.play([]) or ""
        before, _, rest = plain.partition(FIRST)
        between, _, after = rest.partition(LAST)
        added = text[len(before) + len(FIRST) : len(text) - len(LAST) - len(after)]
        added = added.removeprefix(between)
        joins = any(
            after.startswith(added[:at]) and before.endswith(added[at:])
            for at in range(len(added) + 1)
        )
        if added.strip() and not joins:
            yield f"{what}: dropped, but the render has {added[:60]!r}"

    @staticmethod
    def _stands(text: str, media: MediaTreatment) -> bool:
        """Whether the placeholder stands where it is said to, in a form that says its data."""
        slots = {MediaSlot.DATA: DATA, MediaSlot.NUMBER: str(media.first_number)}
        pieces = media.alone or media.placeholder
        said = "".join(slots[each] if isinstance(each, MediaSlot) else each for each in pieces)
        around = {
            MediaPlace.INLINE: text[text.find(FIRST) + len(FIRST) : text.find(LAST)],
            MediaPlace.BEFORE: text[: text.find(FIRST)],
            MediaPlace.AFTER: text[text.find(LAST) + len(LAST) :],
        }
        return media.place is not None and said in around[media.place]


def _lines(found: Sequence[JudgedParts]) -> Iterator[str]:
    yield f"{len(found):>6}  templates analyzed"
    texts = Counter(each.parts.texts for each in found)
    for outcome in PartsOutcome:
        if texts[outcome]:
            yield f"{texts[outcome]:>6}    a list of texts: {outcome}"
    for kind in MediaKind:
        yield from _kind_lines(kind, [each.parts.of(kind) for each in found])
    yield f"{sum(each.asked for each in found):>6}  outcomes held against transformers' renders"
    wrong = [each for each in found if each.faults]
    yield f"{len(wrong):>6}  templates of which it says otherwise"
    yield from (f"{'':8}{each.name}: {fault}" for each in wrong for fault in each.faults)


def _kind_lines(kind: MediaKind, asked: Sequence[MediaTreatment | None]) -> Iterator[str]:
    media = [each for each in asked if each is not None]
    outcomes = Counter(each.outcome for each in media)
    said = ", ".join(f"{outcomes[each]} {each}" for each in PartsOutcome if outcomes[each])
    yield f"{len(media):>6}  {kind}: {said}"
    written = [each for each in media if each.outcome is PartsOutcome.WRITTEN]
    for words, count in (
        ("for each part", sum(each.each for each in written)),
        ("once for a message", sum(not each.each for each in written)),
        *((str(place), sum(each.place is place for each in written)) for place in MediaPlace),
        ("numbered", sum(each.first_number is not None for each in written)),
        ("holds its data", sum(MediaSlot.DATA in each.placeholder for each in written)),
        ("in tool results too", sum("tool" in each.roles for each in written)),
    ):
        if count:
            yield f"{count:>6}    {words}"


PARTS = Board(judged_parts, _lines, lambda each: not each.faults)
