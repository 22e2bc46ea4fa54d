"""Learn how a template writes content that is a list of parts: texts, images, videos, sounds.

A part is rendered between two words, and the same words without it: the text that is added between
them is the part's placeholder. If only the text before or after the words changes, the template has
moved the placeholder there. Two parts of one message show whether each has its own, and whether
they are counted. For example one image and two images add to the words

    <picture_1>    <picture_1><picture_2>                 in place, `fixtures/parts/numbered.jinja`
    <|photo|>      Photo 1: <|photo|>Photo 2: <|photo|>   before the words, `…/counted.jinja`

so a placeholder of the first is `<picture_NUMBER>`; one of the second is `Photo NUMBER: <|photo|>`,
and `<|photo|>` for a single image. The text that a second part adds is the placeholder: `<image>`
if one adds `</text><image><text>` and two add `</text><image><image><text>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import digits
from typing import NamedTuple, TypeAlias

from msgspec import Struct, structs
from msgspec.structs import replace

from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    MediaKind,
    Message,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.error_words import one_line
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.media_parts import MEDIA_FORMS, MediaForm
from autoparser.analysis.core.media_treatment import (
    ContentParts,
    MediaPlace,
    MediaSlot,
    MediaTreatment,
    PartsOutcome,
    PlaceholderPiece,
    best_outcome,
)
from autoparser.analysis.core.text_alignment import diff_split, prefix_length

from .prober import Prober
from .shape_negotiation import prints_parts


def learn_content_parts(prober: Prober, *, calls: bool) -> ContentParts:
    """Learn the treatment of a user's content as parts; with `calls`, of a tool's result, too."""
    before = prober.meter.renders
    scene = _PartsScene(prober)
    # Two texts without media show whether lists of parts are accepted at all.
    plain = scene.play(scene.words)
    if isinstance(plain, TemplateRenderError) or not scene.holds(plain):
        # Some templates render a user's message elsewhere if tools are passed, or require tools.
        offering = replace(scene, tools=True)
        other = offering.play(scene.words)
        if not isinstance(other, TemplateRenderError) and scene.holds(other):
            scene, plain = offering, other
    # Media are tried only if texts in parts are written as plain texts are.
    outcome, reason = _texts_outcome(scene, plain)
    media: tuple[MediaTreatment, ...] = ()
    if outcome is PartsOutcome.WRITTEN:
        media = tuple(_treatment(scene, kind, calls=calls) for kind in MediaKind)
    return ContentParts(outcome, reason, media, prober.meter.renders - before)


def _texts_outcome(
    scene: _PartsScene, plain: str | TemplateRenderError
) -> tuple[PartsOutcome, str]:
    if isinstance(plain, TemplateRenderError):
        return _outcome_of_error(plain)
    if not scene.holds(plain):
        return PartsOutcome.DROPPED, ""
    if prints_parts(plain, scene.words):
        return PartsOutcome.PRINTED, ""
    return PartsOutcome.WRITTEN, ""


def _outcome_of_error(error: TemplateRenderError) -> tuple[PartsOutcome, str]:
    outcome = PartsOutcome.REFUSED if error.refused else PartsOutcome.CRASHES
    return outcome, one_line(error.reason).rstrip(".")


class _PartsScene(Struct, frozen=True):
    """A conversation that ends with a message of parts."""

    prober: Prober
    """Renders the conversation, e.g. in the shape with content as a list of parts where the
    template requires it."""
    role: str = "user"
    """The role of the message under test, e.g. `tool`."""
    tools: bool = False
    """Whether tools are offered, as they are if the role is `tool`."""
    followed: bool = False
    """Whether an answer and another question follow the message, since a template may write
    `<image>` only in the last one."""

    @property
    def words(self) -> list[Json]:
        """Two texts, one before and one after the parts under test."""
        return [{"type": "text", "text": word} for word in self.edges]

    @property
    def edges(self) -> tuple[str, str]:
        """The words of these texts."""
        marks = self.prober.sentinels
        return marks.values[0], marks.values[1]

    def holds(self, text: str) -> bool:
        """Whether a text holds both words, in their order."""
        first, last = (text.find(word) for word in self.edges)
        return 0 <= first < last

    def play(self, content: Sequence[Json]) -> str | TemplateRenderError:
        """Render the conversation with this content in its message."""
        shape = self.prober.shape
        messages = shape.messages(self._dialogue(), self.prober.sentinels.system)
        # The shape may have a system message of its own, which this one replaces.
        if self.role == "system":
            messages = [
                {"role": "system", "content": [*content]},
                *(message for message in messages if message["role"] != "system"),
            ]
        else:
            at = next(n for n, message in enumerate(messages) if message["role"] == self.role)
            messages[at] = {**messages[at], "content": [*content]}
        try:
            return self.prober.render_messages(messages, tools=self.tools)
        except TemplateRenderError as error:
            return error

    def _dialogue(self) -> Dialogue:
        marks, user = self.prober.sentinels, self.prober.user
        if self.role == "tool":
            call = self.prober.sentinels.call()
            return (user, Message(calls=(call,)), ToolResult(marks.answer, call.name, call.id))
        if self.role == "assistant":
            return (user, Message(marks.content))
        if self.followed:
            return (user, Message(marks.content), UserMessage(marks.next_user))
        return (user,)


class _AroundParts(NamedTuple):
    """A render, cut at the words of its message."""

    before: str
    r"""Up to the first word, e.g. `"<|user|>\n"`."""
    between: str
    """E.g. `"<image>"`, or empty without parts."""
    after: str
    r"""From the second word on, e.g. `"<|end|>\n"`."""

    @classmethod
    def of(cls, text: str, words: tuple[str, str]) -> _AroundParts:
        start = text.find(words[0])
        end = text.find(words[1], start)
        return cls(text[:start], text[start + len(words[0]) : end], text[end + len(words[1]) :])

    def joins(self, added: str) -> bool:
        """Whether a text only closes and reopens the wrapper of texts, or is whitespace."""
        return not added.strip() or any(
            self.after.startswith(added[:at]) and self.before.endswith(added[at:])
            for at in range(len(added) + 1)
        )


class _Added(NamedTuple):
    """The text that parts added to a render."""

    outcome: PartsOutcome
    """Whether the parts are written, e.g. `PartsOutcome.WRITTEN`, or `DROPPED` if they change
    nothing."""
    reason: str = ""
    """The template's error, e.g. `"images are not supported"`."""
    added: str = ""
    """The text, e.g. `"<image>"`."""
    place: MediaPlace | None = None
    """Where it is, e.g. `MediaPlace.INLINE`, or before or after all texts; None if nothing is
    added."""
    loses_text: bool = False
    """Whether the texts around the parts are lost, as by a template that writes `<film>` in place
    of a whole message."""


def _text_of_parts(scene: _PartsScene, parts: Sequence[Json]) -> _Added:
    """Render the words with parts between them and without, and return the added text."""
    first, last = scene.words
    plain, text = scene.play([first, last]), scene.play([first, *parts, last])
    if isinstance(text, TemplateRenderError):
        return _Added(*_outcome_of_error(text))
    if isinstance(plain, TemplateRenderError):
        return _Added(*_outcome_of_error(plain))
    if text == plain:
        return _Added(PartsOutcome.DROPPED)
    if not scene.holds(text) or not scene.holds(plain):
        # The words were moved apart or removed, so the place of the placeholder is unknown.
        return _Added(PartsOutcome.SPREAD, loses_text=scene.holds(plain))
    if prints_parts(text, parts):
        return _Added(PartsOutcome.PRINTED)
    return _addition_between(
        _AroundParts.of(plain, scene.edges), _AroundParts.of(text, scene.edges)
    )


def _addition_between(plain: _AroundParts, text: _AroundParts) -> _Added:
    """Return the text that a render has more than one without the parts, and its place."""
    between = diff_split(plain.between, text.between)
    if between.right:
        # The placeholder may replace the separator of the texts; then all of it was added.
        added = text.between if between.left else between.right
        outcome = PartsOutcome.DROPPED if plain.joins(added) else PartsOutcome.WRITTEN
        return _Added(outcome, added=added, place=MediaPlace.INLINE)
    for place, left, right in (
        (MediaPlace.BEFORE, plain.before, text.before),
        (MediaPlace.AFTER, plain.after, text.after),
    ):
        split = diff_split(left, right)
        if split.right.strip() and not split.left:
            return _Added(PartsOutcome.WRITTEN, added=split.right, place=place)
    return _Added(PartsOutcome.SPREAD)


def _treatment(scene: _PartsScene, kind: MediaKind, *, calls: bool) -> MediaTreatment:
    """Try every form of one media kind; examine one that shows a placeholder further."""
    data = scene.prober.sentinels.values[2]
    # OpenAI and transformers have several forms for each kind; a template may support any of them.
    seen = {
        form: _text_of_parts(scene, [form.part(data)]) for form in MEDIA_FORMS if form.kind is kind
    }
    outcomes = {form.name: added.outcome for form, added in seen.items()}
    outcome = best_outcome(outcomes.values())
    chosen = [form for form, added in seen.items() if added.outcome is outcome]
    # Prefer a form whose data the template renders.
    form = next((form for form in chosen if data in seen[form].added), chosen[0])
    found = MediaTreatment(
        kind,
        outcome,
        outcomes,
        placeholder=(),
        alone=(),
        place=None,
        each=True,
        first_number=None,
        roles=(),
        earlier=True,
        loses_text=any(added.loses_text for added in seen.values()),
        reason=seen[form].reason,
    )
    if outcome is not PartsOutcome.WRITTEN:
        return found
    return _full_treatment(scene, form, seen[form], found, calls=calls)


def _full_treatment(
    scene: _PartsScene, form: MediaForm, single: _Added, treatment: MediaTreatment, *, calls: bool
) -> MediaTreatment:
    """Render two parts, other roles and an earlier message, to learn how placeholders repeat."""
    data = scene.prober.sentinels.values[2]
    part = form.part(data)
    # A second part shows whether placeholders are counted, or written once for all.
    pair = _text_of_parts(scene, [part, part])
    repeated = _repeated_placeholder(single.added, pair.added)
    followed = _text_of_parts(replace(scene, followed=True), [part])
    return structs.replace(
        treatment,
        placeholder=tuple(_placeholder_pieces(repeated.placeholder, data)),
        alone=tuple(_placeholder_pieces(repeated.alone, data)),
        place=single.place,
        each=len(pair.added) > len(single.added),
        first_number=repeated.number,
        roles=tuple(_roles_with_parts(scene, part, repeated.single, calls=calls)),
        earlier=followed.outcome is PartsOutcome.WRITTEN,
    )


_Texts: TypeAlias = tuple[str | MediaSlot, ...]


class _Repeated(Struct, frozen=True):
    """The placeholder of each of several parts."""

    placeholder: _Texts
    """E.g. `("<image_", NUMBER, ">")`."""
    number: int | None = None
    """The number of the first, e.g. 1, or None if they are not counted."""
    alone: _Texts = ()
    """The placeholder of a single part, e.g. `("<|photo|>",)`, if it differs from the placeholders
    of several."""

    @property
    def single(self) -> str:
        """The placeholder in a conversation with one part."""
        pieces = self.alone or self.placeholder
        return "".join(f"{self.number if piece is MediaSlot.NUMBER else piece}" for piece in pieces)


def _repeated_placeholder(one: str, pair: str) -> _Repeated:
    """Find the placeholder of each part from the text that one adds and that two add.

    For example `<image_«number»>` from `<image_1>` and `<image_1><image_2>`.
    """
    second = pair.removeprefix(one)
    if second == one:
        return _Repeated((one,))
    if second != pair:
        return _numbered_placeholder(one, second) or _Repeated((one,))
    split = diff_split(one, pair)
    if split.right.strip() and not split.left and split.right.strip() in one:
        return _Repeated((split.right,))
    # A single part may be rendered without a number: `<image>`, but `<image_1><image_2>`.
    for cut in range(1, len(pair)):
        found = _numbered_placeholder(pair[:cut], pair[cut:])
        if found is not None and one.strip() in pair[:cut]:
            return replace(found, alone=(one,))
    return _Repeated((one,))


def _numbered_placeholder(first: str, second: str) -> _Repeated | None:
    """Return the placeholder of two parts whose texts differ only in their number."""
    start = prefix_length(first, second)
    tail = first[start:].lstrip(digits)
    # The texts differ at a digit; other digits after it belong to the same number.
    number = first[start : len(first) - len(tail)]
    if not number or second != f"{first[:start]}{int(number) + 1}{tail}":
        return None
    return _Repeated((first[:start], MediaSlot.NUMBER, tail), int(number))


def _placeholder_pieces(texts: _Texts, data: str) -> Iterator[PlaceholderPiece]:
    for text in texts:
        if isinstance(text, MediaSlot):
            yield PlaceholderPiece(slot=text)
            continue
        before, found, after = text.partition(data)
        if before or not found:
            yield PlaceholderPiece(before)
        if found:
            yield PlaceholderPiece(slot=MediaSlot.DATA)
        if after:
            yield PlaceholderPiece(after)


def _roles_with_parts(scene: _PartsScene, part: Json, single: str, *, calls: bool) -> Iterator[str]:
    yield "user"
    for role in ("system", "assistant", "tool"):
        if role == "tool" and not calls:
            continue
        # A tool's message needs a call before it, and tools that can be called.
        there = replace(scene, role=role, tools=scene.tools or role == "tool")
        seen = _text_of_parts(there, [part])
        # A header may precede or follow the placeholder if parts are separate lines or messages.
        if seen.outcome is PartsOutcome.WRITTEN and single.strip() in seen.added:
            yield role
