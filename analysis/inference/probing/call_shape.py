"""Finding how calls are taken, and in which form their arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.message_shape import (
    CallForm,
    ContentForm,
    EmptyContent,
    StringArguments,
    ToolForm,
)

from .prober import Prober
from .suggestions import Suggestions
from .trials import ShapeTrial, answered, call_of, describe


def _call_variants() -> Iterator[dict[str, object]]:
    """Return changes of shape, fewest first."""
    single: list[dict[str, object]] = [
        {"arguments_as_string": True},
        {"empty_content": EmptyContent.ABSENT},
        {"calls": CallForm.BARE},
        {"answered": True},
        {"tools": ToolForm.BARE},
        {"tools": ToolForm.NONE},
        {"assistant_content": ContentForm.PARTS},
        {"empty_content": EmptyContent.NULL},
        {"system": True},
    ]
    yield {}
    yield from single
    for size in (2, 3):
        for chosen in combinations(single, size):
            keys = [key for change in chosen for key in change]
            if len(set(keys)) == len(keys):
                yield {key: value for change in chosen for key, value in change.items()}


_FEW = 4
"""Shapes that are tried on a template which never mentions calls."""


_WHOLE_CALL = 4


_ARGUMENTS_SHOWN = 3


_PART_OF_CALL = 1


def call_shape(
    prober: Prober, suggestions: Suggestions, trials: list[ShapeTrial]
) -> tuple[Prober, bool]:
    """Find how calls are taken: the shape that shows most of a call, the plainest one first."""
    best: tuple[int, Prober] = (0, prober)
    mentioned = "tool_calls" in suggestions.fields
    for count, change in enumerate(_call_variants()):
        if count >= _FEW and not mentioned:
            break
        if best[0] >= _ARGUMENTS_SHOWN and (count > _FEW or "answered" in change):
            continue
        shape = replace(prober.shape, **change)  # type: ignore[arg-type]
        candidate = prober.using(shape=shape)
        shown, outcome = _shown_of_call(candidate)
        if count == 0 or shown > best[0]:
            trials.append(ShapeTrial(f"a call: {describe(shape, prober.shape)}", outcome))
        if shown > best[0]:
            best = (shown, candidate)
        if shown == _WHOLE_CALL:
            break
    shown, chosen = best
    return chosen, shown >= _PART_OF_CALL


def _shown_of_call(prober: Prober) -> tuple[int, str]:
    """Rate how much of a call a shape shows, and say it in words."""
    marks = prober.sentinels
    call = call_of(prober)
    probe = prober.probe(answered(prober, Message(calls=(call,))))
    if not probe.rendered:
        return 0, f"raises: {probe.error}"
    text = probe.text[probe.text.rfind(marks.user) :]
    name, argument = marks.names[0] in text, marks.values[0] in text and marks.keys[0] in text
    if name and argument:
        literal = f"{marks.keys[0]}\\" in text
        return (3 if literal else 4), "shown, arguments encoded twice" if literal else "shown"
    if marks.ids[0] in text and argument:
        return 3, "shown by its id, without its name"
    plain = prober.probe((prober.user, Message(marks.content)))
    if name and text.count(marks.names[0]) > plain.text.count(marks.names[0]):
        return 1, "shown without its arguments"
    return 0, "not shown"


def string_arguments(prober: Prober) -> StringArguments:
    """See what becomes of arguments that are given as JSON text."""
    call = call_of(prober)
    dialogue = answered(prober, Message(calls=(call,)))
    given = prober.using(shape=replace(prober.shape, arguments_as_string=True)).probe(dialogue)
    usual = prober.using(shape=replace(prober.shape, arguments_as_string=False)).probe(dialogue)
    encoded = json.dumps(dict(call.arguments))
    if not given.rendered:
        return StringArguments.RAISES
    if given.text == usual.text:
        return StringArguments.SAME
    if json.dumps(encoded)[1:-1] in given.text:
        return StringArguments.ENCODED_TWICE
    return StringArguments.PASTED if encoded in given.text else StringArguments.DROPPED
