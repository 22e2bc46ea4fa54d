"""Generation prompts, held against the turns that they begin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autoparser.analysis.core.conversation import Dialogue, Message
from autoparser.analysis.core.format import Opening

from .chats import under
from .hit import Hit, Severity
from .lint_renders import Render, compared
from .quoting import quoted
from .subject import Subject


@dataclass(frozen=True, slots=True)
class Beginning:
    """A generation prompt, and whole turns that a model may have written after it."""

    opening: Opening
    prompt: Render
    plain: Render
    """The turn without reasoning."""
    reasoned: Render
    """The same turn with reasoning, whether the template writes it or not; where the one without
    goes on from the prompt, that one."""

    @property
    def begins_plain(self) -> bool:
        """Whether the turn without reasoning goes on from the prompt."""
        return _goes_on(self.prompt, self.plain, self.opening)

    @property
    def begins_reasoned(self) -> bool:
        """Whether the turn with reasoning goes on from the prompt."""
        return _goes_on(self.prompt, self.reasoned, self.opening)

    @property
    def known(self) -> bool:
        """Whether there is anything to compare."""
        return self.prompt.rendered and (self.plain.rendered or self.reasoned.rendered)

    def departing(self, subject: Subject, what: str) -> Hit:
        """Return the hit that the prompt does not begin `what`."""
        return Hit(
            f"the generation prompt does not begin {what}: {self.where()}",
            (compared(self.prompt, "the prompt", self.plain, "the turn in the history"),),
            line=self.line,
            severity=self._severity(subject),
            setting=self.opening.setting,
        )

    def _severity(self, subject: Subject) -> Severity:
        """Weigh a prompt that does not begin the turn.

        Where only reasoning is missing from the history, most are meant so; and where turns do
        not follow each other, the model's own never comes into the history.
        """
        alone = subject.play((subject.user,))
        if self.opening.setting or not self.plain.text.startswith(alone.text):
            return Severity.WARNING
        written = self.opening.text
        before = self.prompt.text[: len(self.prompt.text) - len(written)]
        head = before + subject.format.header.rstrip()
        differs = not self.plain.text.startswith(head) or not self.prompt.text.startswith(head)
        only_header = written.strip() == subject.format.header.strip()
        return Severity.ERROR if differs or only_header else Severity.WARNING

    @property
    def line(self) -> int | None:
        """The template's line that ends the prompt."""
        return last_line(self.prompt)

    def where(self, *, reasoned: bool = False) -> str:
        """Quote the prompt's end and the turn's beginning, from where they part."""
        turn = self.reasoned if reasoned or not self.plain.rendered else self.plain
        at = _parting(self.prompt.text, turn.text)
        start = min(at, len(self.prompt.text) - len(self.opening.text))
        return f"{quoted(self.prompt.text[start:])} against {quoted(turn.text[start:][:_SHOWN])}"


_SHOWN = 40


def last_line(render: Render) -> int | None:
    """Return the template's line that wrote the end of a render."""
    return render.line_at(len(render.text.rstrip()) - 1)


def beginnings(subject: Subject) -> Iterator[Beginning]:
    """Return each setting's generation prompt, and turns of content after it."""
    content = subject.marks.content
    yield from _beginnings(subject, Message(content), tools=False)


def beginnings_of_calls(subject: Subject) -> Iterator[Beginning]:
    """Return each setting's generation prompt, and turns of one call after it."""
    yield from _beginnings(subject, Message(calls=(subject.call(),)), tools=True)


def _beginnings(subject: Subject, message: Message, *, tools: bool) -> Iterator[Beginning]:
    asked: Dialogue = (subject.user,)
    reasoned = Message(message.content, subject.marks.reasoning, message.calls)
    # What holds with nothing set is not said to hold under a switch.
    for opening in sorted(subject.format.openings, key=lambda each: len(each.setting)):
        setting = opening.setting
        if opening.text:
            prompt = under(subject, asked, setting, tools=tools, generation=True)
            plain = under(subject, subject.turn(message), setting, tools=tools)
            other = plain
            if not _goes_on(prompt, plain, opening):
                other = under(subject, subject.turn(reasoned), setting, tools=tools)
            yield Beginning(opening, prompt, plain, other)


def _goes_on(prompt: Render, turn: Render, opening: Opening) -> bool:
    """Whether a turn begins with the prompt, or with its opening and all that differs is no turn's.

    A word to the model behind all messages, as that it must call a tool, stands behind the turn,
    too, once that is one of them: `<user>Hi<note>Call.<assistant>` before `<user>Hi<assistant>Yes
    <note>Call.` (AP609 tells that.)
    """
    if not turn.rendered:
        return False
    if turn.text.startswith(prompt.text):
        return True
    before = prompt.text.removesuffix(opening.text)
    common = _parting(before, turn.text)
    return common < len(before) < len(prompt.text) and any(
        turn.text.startswith(opening.text, at)
        and turn.text.endswith(before[at:])
        and not before[at:].isspace()
        for at in range(common + 1)
    )


def _parting(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next(
        (at for at, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other))
    )
