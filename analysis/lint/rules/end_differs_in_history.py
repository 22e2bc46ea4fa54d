"""Turns that end otherwise as the last message than in the history.

One answer as the last message and before another one, and the finding:

    <|user|>What is the weather in Rio?<|end|><|assistant|>Let me look.<|stop|>
    …<|assistant|>Let me look.<|end|><|user|>And tomorrow, please!<|stop|>
    a turn ends with '<|stop|>' as the last message, but continues with '<|end|><|user|>' in the
    history
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from autoparser.analysis.core.text_alignment import TemplateLiteral, common_suffix
from autoparser.analysis.lint.conversation_matrix import Voice, WrittenText
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import Render, compare_renders
from autoparser.analysis.lint.marker_pairs import closes_marker, last_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import (
    render_answer,
    render_earlier,
    render_with,
)
from autoparser.analysis.lint.subject import Subject


@rule("AP203", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Compare the text after each kind of turn in the last and in an earlier message."""
    yield from chain(
        _compare_answers(subject),
        _in_loops(subject),
        _against_answers(subject),
        _unended_calls(subject),
    )


def _compare_answers(subject: Subject) -> Iterator[Hit]:
    """Compare an answer as the last message with one before another question."""
    content = subject.marks.content
    last, later = render_answer(subject), render_earlier(subject)
    # The end reaches up to the next question, so without that it is unknown.
    if subject.marks.next_user not in later.text:
        return
    behind = later.text.rpartition(content)[2].partition(subject.marks.next_user)[0]
    if content in last.text and content in later.text and not _always_prompts(subject, last):
        yield from _differing(subject, "a turn", (last, content), (later, content, behind))


def _always_prompts(subject: Subject, last: Render) -> bool:
    """Return whether an unconditional prompt follows the answer, which is the subject of AP204.

    A judge's instructions, for example, are not the end of the turn.
    """
    bare = render_with(subject, (subject.user,), {})
    prompt = render_with(subject, (subject.user,), {}, generation=True)
    return prompt.text == bare.text and bool(common_suffix(bare.text, last.text).strip())


TWINS = (
    ("a turn of calls", Voice.CALL, "a call", "a call and its result"),
    (
        "an answer after a result",
        Voice.ANSWER,
        "a call, its result and the answer",
        "an answered call, then another question",
    ),
)
"""Pairs of scenes in which a kind of turn is the last one, and is not."""


def _in_loops(subject: Subject) -> Iterator[Hit]:
    for kind, voice, last_scene, later_scene in TWINS:
        last, later = (_ends(subject, scene, voice) for scene in (last_scene, later_scene))
        for name in last.keys() & later.keys():
            (one, end), (other, _) = last[name], later[name]
            text = end.spoken.text
            behind = other.text.rpartition(text)[2]
            stops = _markers(end.after)
            # Other differences, such as a call's id, are not part of the end.
            if _markers(behind)[: len(stops)] != stops:
                yield from _differing(subject, kind, (one, text), (other, text, behind))


def _ends(
    subject: Subject, scene: str, voice: Voice
) -> dict[tuple[bool, bool], tuple[Render, WrittenText]]:
    """Return a speaker's last text in a scene, by whether a system message and tools are sent."""
    found: dict[tuple[bool, bool], tuple[Render, WrittenText]] = {}
    for played in subject.matrix:
        texts = played.written_by(voice)
        if played.usual and played.conversation.scene == scene and texts:
            found[played.beside] = played.render, texts[-1]
    return found


def _differing(
    subject: Subject, kind: str, last: tuple[Render, str], later: tuple[Render, str, str]
) -> Iterator[Hit]:
    """Report an end that an earlier turn lacks; each turn is a render and its text."""
    one, text = last
    other, _, behind = later
    end = one.text.rpartition(text)[2].strip()
    header = subject.format.header.strip()
    # A header in the end belongs to a generation prompt, which the history lacks.
    if behind.strip().startswith(end) or (header and header in end):
        return
    yield Hit(
        f"{kind} ends with {quote_text(end)} as the last message, but continues with"
        f" {quote_text(behind)} in the history",
        (compare_renders(one, "as the last message", other, "before another message"),),
        line=last_line(one),
    )


def _against_answers(subject: Subject) -> Iterator[Hit]:
    """Compare the end of an answer after a result with the end of other answers."""
    plain = _ends(subject, "an answer", Voice.ANSWER)
    kind, voice, scene, _ = TWINS[-1]
    for key, (render, written) in _ends(subject, scene, voice).items():
        usual = plain.get(key)
        stops = _markers(usual[1].after) if usual else ()
        if usual is not None and stops and stops[-1] not in written.after:
            yield Hit(
                f"{kind} ends with {quote_text(written.after)}, other answers with"
                f" {quote_text(stops[-1])}",
                (compare_renders(render, kind, usual[0], "an answer"),),
                line=last_line(render),
            )


def _unended_calls(subject: Subject) -> Iterator[Hit]:
    """Search after calls for the stop of answers, or any marker that does not close the calls."""
    plain = _ends(subject, "an answer", Voice.ANSWER)
    kind, voice, *scenes = TWINS[0]
    last, later = (_ends(subject, scene, voice) for scene in scenes)
    several = _ends(subject, "two calls in one message and their results", voice)
    for key in plain.keys() & last.keys() & later.keys():
        usual, (render, written) = plain[key], last[key]
        stops = _markers(usual[1].after)
        # AP522 reports markers that end two calls, AP216 those that also end questions, if results
        # begin like answers: else it cannot tell where the calling message ends.
        elsewhere = "".join(text.after for _, text in several.values())
        if {*_markers(usual[1].before)} & {*_markers(later[key][1].after)}:
            elsewhere += usual[1].before
        if (
            stops
            and stops[-1] not in written.after + later[key][1].after + elsewhere
            and all(map(closes_marker, _markers(written.after)))
        ):
            yield Hit(
                f"{kind} ends with {quote_text(written.after)}, which closes the calls, and"
                f" answers end with {quote_text(stops[-1])}: an engine that stops there lets"
                " the model generate the result itself",
                (compare_renders(render, kind, usual[0], "an answer"),),
                line=last_line(render),
            )


def _markers(text: str) -> tuple[str, ...]:
    return TemplateLiteral.of(text).markers
