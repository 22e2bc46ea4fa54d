"""Negotiate the shape of messages with a template: find by trial which one it accepts.

Templates disagree on arguments as object or JSON string, content as text or parts, the value of
empty content, tools wrapped or bare, the field of reasoning. Each trial is one render; its text
decides. `negotiate_shape` finds one after the other, each on the shape found so far: plain texts,
tools, calls, reasoning. For example a template that writes `name + " " + arguments` for a call, and
the field `thought` before the content, has the trials

    the plain shape                     shows the user's and the assistant's text
    a call: the plain shape             raises: … can only concatenate str (not "dict") to str
    a call: arguments_as_string=True    shown, as <call>qkphffqx {"mcdsbpxt": "zhvwxqzm"}</call>
    reasoning as field thought          shown beside content

and the shape that is left has `arguments_as_string=True` and `reasoning_field="thought"`. The field
is found by setting each one that the template reads to a word of its own: the one whose word is in
the text before the content carries reasoning.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import IntEnum, auto
from itertools import combinations
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.message_shape import (
    CallForm,
    ContentForm,
    EmptyContent,
    MessageShape,
    ReasoningForm,
    Setting,
    StringArguments,
    ToolForm,
)
from autoparser.analysis.templates.chat_template import REASONING_FIELDS

from .prober import Probe, Prober
from .suggestions import Suggestions

# Shared by all negotiations: the record of trials, and conversations of sentinels.


class ShapeTrial(Struct, frozen=True):
    """One shape that was tried, and the result."""

    what: str
    """The shape, such as ``a call: arguments_as_string=True``."""
    outcome: str
    """The result, such as ``shown`` or ``raises: …``."""


class UnusableTemplateError(Exception):
    """No conversation could be rendered with its messages in the text."""

    def __init__(self, reason: str, hint: str, cause: TemplateRenderError | None = None) -> None:
        """Store the reason and the hint; `cause` is the render's own failure."""
        super().__init__(reason)
        self.hint = hint
        self.cause = cause


def prints_parts(text: str, parts: Sequence[Json]) -> bool:
    """Whether a text holds a part of a content as Python or JSON prints it."""
    return any(
        written in text
        for part in parts
        for written in (repr(part), json.dumps(part), json.dumps(part, separators=(",", ":")))
    )


def answered_conversation(prober: Prober, message: Message) -> Dialogue:
    """Put a message into the shortest conversation that the shape allows."""
    dialogue: Dialogue = (prober.user, message)
    if message.calls and prober.shape.answered:
        answers = [
            ToolResult(prober.sentinels.answer, call.name, call.id) for call in message.calls
        ]
        return (*dialogue, *answers)
    return dialogue


_NOT_SWITCHES = frozenset(
    {
        "messages",
        "tools",
        "documents",
        "add_generation_prompt",
        "raise_exception",
        "strftime_now",
        "namespace",
        "range",
        "dict",
        "lipsum",
        "cycler",
        "joiner",
        "loop",
        "caller",
        "varargs",
        "kwargs",
    }
)
"""Variables that transformers passes itself or Jinja defines."""


def switch_candidates(suggestions: Suggestions) -> list[str]:
    """Return the variables that a caller may set."""
    return [
        name
        for name in suggestions.variables
        if name not in _NOT_SWITCHES and not name.endswith("_token")
    ]


def words_of_setting(setting: Setting) -> str:
    """Describe a setting in words."""
    words = ", ".join(f"{key}={value}" for key, value in setting.items())
    return f" with {words}" if words else ""


def describe_shape(shape: MessageShape, plain: MessageShape) -> str:
    """Describe in words how a shape differs from a plainer one."""
    names = [
        name
        for name in MessageShape.__struct_fields__
        if getattr(shape, name) != getattr(plain, name)
    ]
    return ", ".join(f"{name}={getattr(shape, name)}" for name in names) or "the plain shape"


# The shape of tools, and of plain user and assistant messages.


def tool_shape(prober: Prober, suggestions: Suggestions, trials: list[ShapeTrial]) -> Prober:
    """Find the shape of tools: bare if the wrapper hides the members that the template reads."""
    if "tools" not in suggestions.names or prober.shape.tools is not ToolForm.WRAPPED:
        return prober
    names = [str(tool["name"]) for tool in prober.tools]
    # `tool.name` is empty for a wrapped tool, whose name is `tool.function.name`.
    bare = prober.using(shape=replace(prober.shape, tools=ToolForm.BARE))
    if _prompt_shows(prober, names) or not _prompt_shows(bare, names):
        return prober
    trials.append(ShapeTrial(describe_shape(bare.shape, prober.shape), "shows the tools' names"))
    return bare


def _prompt_shows(prober: Prober, words: Sequence[str]) -> bool:
    probe = prober.probe((prober.user,))
    return prober.sentinels.user in probe.text and all(word in probe.text for word in words)


def _prints_parts(prober: Prober, probe: Probe) -> bool:
    messages = prober.shape.messages(probe.dialogue, prober.sentinels.system)
    contents = (message.get("content") for message in messages)
    return any(
        isinstance(content, list) and prints_parts(probe.text, content) for content in contents
    )


def text_shape(prober: Prober, trials: list[ShapeTrial]) -> Prober:
    """Find the shape of plain user and assistant messages."""
    marks = prober.sentinels
    plain: Dialogue = (UserMessage(marks.user), Message(marks.content))
    failures: list[Probe] = []
    silent = recased = answers = False
    # Try the plain shape first, then combinations; the first one that shows both texts wins.
    shapes = [MessageShape()]
    shapes += [
        MessageShape(system=system, user_content=user, assistant_content=assistant, tools=tools)
        for tools in ToolForm
        for system in (False, True)
        for user in ContentForm
        for assistant in ContentForm
    ][1:]
    partial: Prober | None = None
    for shape in shapes:
        candidate = prober.using(shape=shape)
        probe = candidate.probe(plain, tools=shape.tools is not ToolForm.NONE)
        what = describe_shape(shape, MessageShape())
        if not probe.rendered:
            failures.append(probe)
            trials.append(ShapeTrial(what, f"raises: {probe.error}"))
            continue
        shown = [word in probe.text for word in (marks.user, marks.content)]
        # A printed list contains the words, but with Python's brackets around them.
        if _prints_parts(candidate, probe):
            trials.append(ShapeTrial(what, "prints the list of parts, brackets and all"))
            continue
        if all(shown):
            trials.append(ShapeTrial(what, "shows the user's and the assistant's text"))
            return candidate
        silent = True
        answers = answers or shown[1]
        low = probe.text.lower()
        # A template that changes case still shows the words, so do not report them as lost.
        recased = recased or all(word.lower() in low for word in (marks.user, marks.content))
        trials.append(ShapeTrial(what, "drops the user's or the assistant's text"))
        if shown[0] and partial is None:
            partial = candidate
    if partial is not None:
        return partial
    if recased:
        raise UnusableTemplateError(
            "changes the case of message texts",
            "render the content of messages unchanged",
        )
    if silent:
        empty = not any(trial.outcome.startswith("raises") for trial in trials) and not (
            prober.probe(plain).text.strip()
        )
        loss = "a user's message" if answers else "any message"
        raise UnusableTemplateError(
            "renders nothing" if empty else f"never renders {loss}",
            "check that it reads the content of user and assistant messages",
        )
    raise UnusableTemplateError(
        "raises on every conversation that was tried",
        "render a conversation by hand to see what it requires",
        failures[0].error,
    )


# The shape of calls, and the form of their arguments.


def _call_variants() -> Iterator[dict[str, object]]:
    """Yield changes of shape, fewest first."""
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
    # Most templates accept the plain shape, so one render settles it.
    yield {}
    yield from single
    for size in (2, 3):
        for chosen in combinations(single, size):
            keys = [key for change in chosen for key in change]
            # Two values of one property, as of `empty_content`, exclude each other.
            if len(set(keys)) == len(keys):
                yield {key: value for change in chosen for key, value in change.items()}


_FEW = 4
"""At most this many shapes are tried on a template that never mentions calls."""


class _CallShown(IntEnum):
    """How much of a call a render shows; more is better."""

    NOTHING = auto()
    NAME = auto()
    """The name without the arguments."""
    ARGUMENTS = auto()
    """Both, but the arguments encoded twice; or an id in place of the name."""
    ALL = auto()


def call_shape(
    prober: Prober, suggestions: Suggestions, trials: list[ShapeTrial]
) -> tuple[Prober, bool]:
    """Find the shape that shows most of a call, the plainest of equals."""
    # Shapes are rated, since some templates show only a part of a call.
    best: tuple[_CallShown, Prober] = (_CallShown.NOTHING, prober)
    mentioned = "tool_calls" in suggestions.fields
    for count, change in enumerate(_call_variants()):
        if count >= _FEW and not mentioned:
            break
        # Good enough: only simple changes may improve a call whose arguments show.
        if best[0] >= _CallShown.ARGUMENTS and (count > _FEW or "answered" in change):
            continue
        shape = replace(prober.shape, **change)
        candidate = prober.using(shape=shape)
        shown, outcome = _shown_of_call(candidate)
        if count == 0 or shown > best[0]:
            trials.append(ShapeTrial(f"a call: {describe_shape(shape, prober.shape)}", outcome))
        if shown > best[0]:
            best = (shown, candidate)
        if shown is _CallShown.ALL:
            break
    shown, chosen = best
    return chosen, shown > _CallShown.NOTHING


def _shown_of_call(prober: Prober) -> tuple[_CallShown, str]:
    """Rate how much of a call a shape shows, with a description in words."""
    marks = prober.sentinels
    call = prober.sentinels.call()
    probe = prober.probe(answered_conversation(prober, Message(calls=(call,))))
    if not probe.rendered:
        return _CallShown.NOTHING, f"raises: {probe.error}"
    # Before the user's words the tool list has the same name and keys.
    text = probe.text[probe.text.rfind(marks.user) :]
    name, argument = marks.names[0] in text, marks.values[0] in text and marks.keys[0] in text
    if name and argument:
        # `\"key\"` inside a JSON string: the template encoded text that was encoded.
        if f"{marks.keys[0]}\\" in text:
            return _CallShown.ARGUMENTS, "shown, arguments encoded twice"
        return _CallShown.ALL, "shown"
    if marks.ids[0] in text and argument:
        return _CallShown.ARGUMENTS, "shown by its id, without its name"
    plain = prober.probe((prober.user, Message(marks.content)))
    if name and text.count(marks.names[0]) > plain.text.count(marks.names[0]):
        return _CallShown.NAME, "shown without its arguments"
    return _CallShown.NOTHING, "not shown"


def string_arguments(prober: Prober) -> StringArguments:
    """Find how the template treats arguments that are given as JSON text."""
    call = prober.sentinels.call()
    dialogue = answered_conversation(prober, Message(calls=(call,)))
    given = prober.using(shape=replace(prober.shape, arguments_as_string=True)).probe(dialogue)
    usual = prober.using(shape=replace(prober.shape, arguments_as_string=False)).probe(dialogue)
    encoded = json.dumps(dict(call.arguments))
    if not given.rendered:
        return StringArguments.RAISES
    # The template parses the text, or tests whether it is a string.
    if given.text == usual.text:
        return StringArguments.SAME
    if json.dumps(encoded)[1:-1] in given.text:
        return StringArguments.ENCODED_TWICE
    return StringArguments.PASTED if encoded in given.text else StringArguments.DROPPED


# The field, and the switches if needed, that bring reasoning into the text.


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
"""Keys of messages, calls and tools in every OpenAI-style request."""


def reasoning_shape(
    prober: Prober, suggestions: Suggestions, calls: bool, trials: list[ShapeTrial]
) -> tuple[Prober, bool]:
    """Find the field, and the switches if needed, that bring reasoning into the text.

    Return a prober under these switches, and whether reasoning is shown at all.
    """
    fields = _reasoning_fields(suggestions)
    behind: set[str] = set()
    # Nothing set first, then all flags at once, then each flag if these raise together.
    for setting in _settings_to_try(prober, suggestions):
        for with_calls in (False, True) if calls else (False,):
            before, after = _fields_shown(prober, fields, setting, with_calls)
            if not with_calls:
                behind |= after
            # A field after the content is not reasoning, but perhaps a name or an annotation.
            for found in before:
                if found in behind:
                    continue
                shape = replace(prober.shape, reasoning_field=found)
                chosen = prober.using(shape=shape, setting=setting)
                # An unusual field without markup around it may be something else, such as a name.
                if found not in REASONING_FIELDS and not _has_own_markup(chosen, with_calls):
                    continue
                chosen = _without_needless_switches(chosen, with_calls, prober.setting)
                where = "beside calls" if with_calls else "beside content"
                setting_words = words_of_setting(chosen.setting)
                trials.append(
                    ShapeTrial(f"reasoning as field {found}", f"shown {where}{setting_words}")
                )
                return chosen, True
    for kind in (field for field in REASONING_FIELDS if field in suggestions.fields):
        shape = replace(prober.shape, reasoning_form=ReasoningForm.PART, reasoning_field=kind)
        candidate = prober.using(shape=shape)
        word = prober.sentinels.reasoning
        lines = f"{word}\n{word}"
        message = replace(_reasoned_message(prober, with_calls=False), reasoning=lines)
        # A template that prints its parts by `repr` shows the word, but not the line break.
        if lines in candidate.probe((prober.user, message)).text:
            trials.append(ShapeTrial(f"reasoning as content part {kind}", "shown"))
            return candidate, True
    trials.append(ShapeTrial(f"reasoning as any of {len(fields)} fields", "not shown"))
    return prober, False


def _has_own_markup(prober: Prober, with_calls: bool) -> bool:
    """Whether the text before the content has markup of its own, as reasoning does."""
    message = _reasoned_message(prober, with_calls=with_calls)
    without = prober.probe(answered_conversation(prober, replace(message, reasoning="")))
    having = prober.probe(answered_conversation(prober, message))
    # Markup for reasoning remains when the reasoning text itself is removed.
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
        plain = answered_conversation(prober, Message(prober.sentinels.content))
        if len(flags) > 1 and not prober.probe(plain, setting=together).rendered:
            # One of the flags makes the template raise, so try each alone.
            settings += [{**prober.setting, flag: True} for flag in flags]
    return settings


def _reasoned_message(prober: Prober, *, with_calls: bool) -> Message:
    marks = prober.sentinels
    if with_calls:
        return Message(reasoning=marks.reasoning, calls=(prober.sentinels.call(),))
    return Message(marks.content, marks.reasoning)


def _fields_shown(
    prober: Prober, fields: Sequence[str], setting: Setting, with_calls: bool
) -> tuple[list[str], set[str]]:
    """Set every field to its own word in one render, and find each word.

    Fields before the rest of the turn come first, the usual ones of reasoning leading, then
    those after it.
    """
    marks = prober.sentinels
    message = replace(_reasoned_message(prober, with_calls=with_calls), reasoning="")
    dialogue = answered_conversation(prober, message)
    shaped = prober.shape.messages(dialogue, marks.system)
    at = next(at for at, entry in enumerate(shaped) if entry["role"] == "assistant")
    # There are many fields, so try all of them in one render.
    words = {_numbered_word(marks.reasoning, at): field for at, field in enumerate(fields)}
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


def _numbered_word(word: str, number: int) -> str:
    """Return a distinct word for each number; none is a prefix of another."""
    letters = ""
    for _ in range(_LETTERS):
        number, letter = divmod(number, _ALPHABET)
        letters = chr(ord("a") + letter) + letters
    return word + letters


_LETTERS, _ALPHABET = 4, 26


def _shown_alone(
    prober: Prober, fields: Sequence[str], setting: Setting, with_calls: bool
) -> list[str]:
    """Try the fields one by one, for a template that raises on all of them at once."""
    shown: list[str] = []
    for field in sorted(fields, key=lambda field: field not in REASONING_FIELDS):
        shape = replace(prober.shape, reasoning_field=field)
        candidate = prober.using(shape=shape, setting=setting)
        probe = candidate.probe(
            answered_conversation(prober, _reasoned_message(prober, with_calls=with_calls))
        )
        if prober.sentinels.reasoning in probe.text:
            shown.append(field)
    return shown


def _without_needless_switches(prober: Prober, with_calls: bool, base: Setting) -> Prober:
    """Remove the switches that the reasoning does not need."""
    needed = dict(prober.setting)
    dialogue = answered_conversation(prober, _reasoned_message(prober, with_calls=with_calls))
    for name in [name for name in needed if name not in base]:
        # All flags were set at once; a switch stays only if reasoning is lost without it.
        fewer = {key: value for key, value in needed.items() if key != name}
        if prober.sentinels.reasoning in prober.probe(dialogue, setting=fewer).text:
            needed = fewer
    return prober.using(setting=needed)


class Negotiated(NamedTuple):
    """The shape that a template accepts, and the trials that showed it."""

    prober: Prober
    """A prober in the shape that was found, e.g. with `arguments_as_string=True`; it sets only
    what a render needs."""
    showing: Setting
    """The setting that brings reasoning into the text, e.g. `{"enable_thinking": True}`; the
    prober's own if none is needed or none does."""
    calls: bool
    """Whether tool calls reach the text, `"shown"` in the trials."""
    reasoning: bool
    """Whether reasoning reaches the text, e.g. from the field `reasoning_content`."""
    trials: tuple[ShapeTrial, ...]
    """The shapes that were tried, with their outcomes, in order, e.g. `"a call: the plain shape"`,
    which is `"shown"`."""
    string_arguments: StringArguments | None
    """How JSON text as arguments is treated, e.g. pasted, or None if calls do not reach the text.
    """


def negotiate_shape(prober: Prober, suggestions: Suggestions) -> Negotiated:
    """Find the shape. Raises UnusableTemplateError if nothing can be rendered."""
    trials: list[ShapeTrial] = []
    try:
        prober = text_shape(prober, trials)
    except UnusableTemplateError as error:
        # A refusal is intended, while a crash may come from an unset variable.
        if error.cause is None or error.cause.refused:
            raise
        # The template may raise because it expects a variable to be set.
        empty: Setting = dict.fromkeys(switch_candidates(suggestions), "")
        prober = text_shape(prober.using(setting=empty), trials)
    prober, calls = call_shape(prober, suggestions, trials)
    prober = tool_shape(prober, suggestions, trials)
    # `reasoning_shape` returns a prober under the switches that reasoning needs; learning begins
    # with a prober that does not set them.
    base = prober.setting
    prober, reasoning = reasoning_shape(prober, suggestions, calls, trials)
    showing, prober = prober.setting, prober.using(setting=base)
    texts = string_arguments(prober) if calls else None
    if texts is not None:
        trials.append(ShapeTrial("arguments as a JSON string", str(texts)))
    return Negotiated(prober, showing, calls, reasoning, tuple(trials), texts)
