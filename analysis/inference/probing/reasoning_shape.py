"""Finding the field, and if need be the switches, that bring reasoning into the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.message_shape import ReasoningForm, Setting
from autoparser.analysis.loading.template import REASONING_FIELDS

from .prober import Prober
from .suggestions import Suggestions
from .trials import ShapeTrial, answered, call_of, switch_candidates, under

STANDARD_FIELDS = frozenset(
    {
        "role",
        "content",
        "name",
        "tool_calls",
        "tool_call_id",
        "function",
        "arguments",
        "type",
        "id",
        "text",
        "parameters",
        "properties",
        "required",
        "description",
    }
)
"""Keys that messages, calls and tools have in every OpenAI-style request."""


def reasoning_shape(
    prober: Prober, suggestions: Suggestions, calls: bool, trials: list[ShapeTrial]
) -> tuple[Prober, bool]:
    """Find the field, and if need be the switches, that bring reasoning into the text.

    Gives a prober under these switches, and whether reasoning is shown at all.
    """
    fields = _reasoning_fields(suggestions)
    behind: set[str] = set()
    for setting in _settings_to_try(prober, suggestions):
        for with_calls in (False, True) if calls else (False,):
            before, after = _fields_shown(prober, fields, setting, with_calls)
            if not with_calls:
                behind |= after
            for found in before:
                if found in behind:
                    continue
                shape = replace(prober.shape, reasoning_field=found)
                chosen = prober.using(shape=shape, setting=setting)
                if found not in REASONING_FIELDS and not _marked(chosen, with_calls):
                    continue
                chosen = _smallest(chosen, with_calls, prober.setting)
                where = "beside calls" if with_calls else "beside content"
                setting_words = under(chosen.setting)
                trials.append(
                    ShapeTrial(f"reasoning as field {found}", f"shown {where}{setting_words}")
                )
                return chosen, True
    for kind in (field for field in REASONING_FIELDS if field in suggestions.fields):
        shape = replace(prober.shape, reasoning_form=ReasoningForm.PART, reasoning_field=kind)
        candidate = prober.using(shape=shape)
        word = prober.sentinels.reasoning
        lines = f"{word}\n{word}"
        message = replace(_reasoned(prober, with_calls=False), reasoning=lines)
        # A template that prints its parts as they are shows the word, but not the line break.
        if lines in candidate.probe((prober.user, message)).text:
            trials.append(ShapeTrial(f"reasoning as content part {kind}", "shown"))
            return candidate, True
    trials.append(ShapeTrial(f"reasoning as any of {len(fields)} fields", "not shown"))
    return prober, False


def _marked(prober: Prober, with_calls: bool) -> bool:
    """Whether a text before the content comes with markup of its own, as reasoning does."""
    message = _reasoned(prober, with_calls=with_calls)
    without = prober.probe(answered(prober, replace(message, reasoning="")))
    having = prober.probe(answered(prober, message))
    # Signs of its own are left over when the text itself is taken away.
    bare = having.text.replace(prober.sentinels.reasoning, "")
    return "".join(bare.split()) != "".join(without.text.split())


def _reasoning_fields(suggestions: Suggestions) -> list[str]:
    return [
        field
        for field in suggestions.fields
        if field.isidentifier() and field not in STANDARD_FIELDS
    ]


def _settings_to_try(prober: Prober, suggestions: Suggestions) -> list[Setting]:
    settings: list[Setting] = [prober.setting]
    flags = [flag for flag in switch_candidates(suggestions) if flag not in prober.setting]
    if flags:
        together = {**prober.setting, **dict.fromkeys(flags, True)}
        settings.append(together)
        plain = answered(prober, Message(prober.sentinels.content))
        if len(flags) > 1 and not prober.probe(plain, setting=together).rendered:
            # One of them makes the template raise, so each has to be tried alone.
            settings += [{**prober.setting, flag: True} for flag in flags]
    return settings


def _reasoned(prober: Prober, *, with_calls: bool) -> Message:
    marks = prober.sentinels
    if with_calls:
        return Message(reasoning=marks.reasoning, calls=(call_of(prober),))
    return Message(marks.content, marks.reasoning)


def _fields_shown(
    prober: Prober, fields: Sequence[str], setting: Setting, with_calls: bool
) -> tuple[list[str], set[str]]:
    """Give every field its own word in one render, and see where each word stands.

    The fields before the rest of the turn come first, the usual ones of reasoning leading,
    then those after it.
    """
    marks = prober.sentinels
    message = replace(_reasoned(prober, with_calls=with_calls), reasoning="")
    dialogue = answered(prober, message)
    shaped = prober.shape.messages(dialogue, marks.system)
    at = next(at for at, entry in enumerate(shaped) if entry["role"] == "assistant")
    words = {_numbered(marks.reasoning, at): field for at, field in enumerate(fields)}
    shaped[at] = {**{field: word for word, field in words.items()}, **shaped[at]}
    try:
        text = prober.render_messages(shaped, setting=setting)
    except TemplateRenderError:
        return _shown_alone(prober, fields, setting, with_calls), set()
    start = text.find(marks.user) + len(marks.user)
    follows = [text.find(word, start) for word in (marks.content, marks.names[0], marks.ids[0])]
    end = min((at for at in follows if at >= 0), default=len(text))
    shown = sorted((text.find(word, start), field) for word, field in words.items())
    before = [field for at, field in shown if 0 <= at < end]
    after = {field for at, field in shown if at >= end}
    return sorted(before, key=lambda field: field not in REASONING_FIELDS), after


def _numbered(word: str, number: int) -> str:
    """Return a word of its own to each number; none begins another."""
    letters = ""
    for _ in range(_LETTERS):
        number, letter = divmod(number, _ALPHABET)
        letters = chr(ord("a") + letter) + letters
    return word + letters


_LETTERS, _ALPHABET = 4, 26


def _shown_alone(
    prober: Prober, fields: Sequence[str], setting: Setting, with_calls: bool
) -> list[str]:
    """Try field by field, where a template raises on all of them at once."""
    shown: list[str] = []
    for field in sorted(fields, key=lambda field: field not in REASONING_FIELDS):
        shape = replace(prober.shape, reasoning_field=field)
        candidate = prober.using(shape=shape, setting=setting)
        probe = candidate.probe(answered(prober, _reasoned(prober, with_calls=with_calls)))
        if prober.sentinels.reasoning in probe.text:
            shown.append(field)
    return shown


def _smallest(prober: Prober, with_calls: bool, base: Setting) -> Prober:
    """Leave out the switches that the reasoning does not need."""
    needed = dict(prober.setting)
    dialogue = answered(prober, _reasoned(prober, with_calls=with_calls))
    for name in [name for name in needed if name not in base]:
        fewer = {key: value for key, value in needed.items() if key != name}
        if prober.sentinels.reasoning in prober.probe(dialogue, setting=fewer).text:
            needed = fewer
    return prober.using(setting=needed)
