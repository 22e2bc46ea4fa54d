"""Finding by trying in which shape a template takes its messages.

Templates disagree on arguments as object or JSON string, content as text or parts, what stands
for empty content, tools wrapped or bare, where reasoning goes. Each trial is one render; what
came out decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from autoparser.analysis.alignment import diff_split
from autoparser.analysis.conversation import Answer, Dialogue, Message, ToolCall, User
from autoparser.analysis.errors import TemplateRenderError
from autoparser.analysis.template import REASONING_FIELDS

from .prober import Probe, Prober
from .shape import CallForm, ContentForm, EmptyContent, ReasoningForm, Setting, Shape, ToolForm
from .suggestions import Suggestions

_STANDARD_FIELDS = frozenset(
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


@dataclass(frozen=True, slots=True)
class Trial:
    """One shape that was tried, and what came of it."""

    what: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Negotiated:
    """The shape that a template takes, and the trials that showed it."""

    prober: Prober
    """Probes in the shape and under the setting that were found."""
    calls: bool
    """Whether tool calls reach the text."""
    reasoning: bool
    """Whether reasoning reaches the text."""
    trials: tuple[Trial, ...]


class UnusableTemplateError(Exception):
    """No conversation at all could be rendered so that it shows its messages."""

    def __init__(self, reason: str, hint: str, cause: TemplateRenderError | None = None) -> None:
        """Say why and what to do; `cause` is the render's own failure."""
        super().__init__(reason)
        self.hint = hint
        self.cause = cause


def negotiate(prober: Prober, suggestions: Suggestions) -> Negotiated:
    """Find the shape. Raises UnusableTemplateError where nothing can be rendered."""
    trials: list[Trial] = []
    try:
        prober = _text_shape(prober, trials)
    except UnusableTemplateError as error:
        if error.cause is None or error.cause.refused:
            raise
        # A variable that the template takes for granted may be what it stumbles over.
        texts: Setting = dict.fromkeys(switch_candidates(suggestions), "")
        prober = _text_shape(prober.using(setting=texts), trials)
    prober, calls = _call_shape(prober, suggestions, trials)
    prober, reasoning = _reasoning_shape(prober, suggestions, calls, trials)
    return Negotiated(prober, calls, reasoning, tuple(trials))


def call_of(prober: Prober, position: int = 0) -> ToolCall:
    """Give a call made of sentinels: one string argument."""
    marks = prober.sentinels
    return ToolCall(
        marks.names[position],
        {marks.keys[0]: marks.values[position]},
        marks.ids[position],
    )


def answered(prober: Prober, message: Message) -> Dialogue:
    """Put a message into the shortest conversation that the shape allows."""
    dialogue: Dialogue = (prober.user, message)
    if message.calls and prober.shape.answered:
        answers = [Answer(prober.sentinels.answer, call.name, call.id) for call in message.calls]
        return (*dialogue, *answers)
    return dialogue


def _text_shape(prober: Prober, trials: list[Trial]) -> Prober:
    """Find how plain user and assistant messages are taken."""
    marks = prober.sentinels
    plain: Dialogue = (User(marks.user), Message(marks.content))
    failures: list[Probe] = []
    silent = False
    shapes = [Shape()]
    shapes += [
        Shape(system=system, user_content=user, assistant_content=assistant, tools=tools)
        for tools in (ToolForm.WRAPPED, ToolForm.NONE)
        for system in (False, True)
        for user in ContentForm
        for assistant in ContentForm
    ][1:]
    partial: Prober | None = None
    for shape in shapes:
        candidate = prober.using(shape=shape)
        probe = candidate.probe(plain, tools=shape.tools is not ToolForm.NONE)
        what = _describe(shape, Shape())
        if not probe.rendered:
            failures.append(probe)
            trials.append(Trial(what, f"raises: {probe.error}"))
            continue
        shown = [word in probe.text for word in (marks.user, marks.content)]
        if all(shown):
            trials.append(Trial(what, "shows the user's and the assistant's text"))
            return candidate
        silent = True
        trials.append(Trial(what, "drops the user's or the assistant's text"))
        if shown[0] and partial is None:
            partial = candidate
    if partial is not None:
        return partial
    if silent:
        empty = not any(trial.outcome.startswith("raises") for trial in trials) and not (
            prober.probe(plain).text.strip()
        )
        raise UnusableTemplateError(
            "renders nothing" if empty else "ignores the messages that it is given",
            "check that it reads the content of every message of the role user and assistant",
        )
    raise UnusableTemplateError(
        "raises on every conversation that was tried",
        "render a conversation by hand to see what it wants",
        failures[0].error,
    )


def _call_variants() -> Iterator[dict[str, object]]:
    """Give changes of shape, fewest first."""
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


def _call_shape(
    prober: Prober, suggestions: Suggestions, trials: list[Trial]
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
            trials.append(Trial(f"a call: {_describe(shape, prober.shape)}", outcome))
        if shown > best[0]:
            best = (shown, candidate)
        if shown == _WHOLE_CALL:
            break
    shown, chosen = best
    return chosen, shown >= _PART_OF_CALL


_WHOLE_CALL = 4
_ARGUMENTS_SHOWN = 3
_PART_OF_CALL = 1


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
        literal = f'\\"{marks.keys[0]}\\"' in text
        return (3 if literal else 4), "shown, arguments encoded twice" if literal else "shown"
    if marks.ids[0] in text and argument:
        return 3, "shown by its id, without its name"
    plain = prober.probe((prober.user, Message(marks.content)))
    if name and text.count(marks.names[0]) > plain.text.count(marks.names[0]):
        return 1, "shown without its arguments"
    return 0, "not shown"


def _reasoning_shape(
    prober: Prober, suggestions: Suggestions, calls: bool, trials: list[Trial]
) -> tuple[Prober, bool]:
    """Find the field, and if need be the switches, that bring reasoning into the text."""
    fields = _reasoning_fields(suggestions)
    behind: set[str] = set()
    for setting in _settings_to_try(suggestions):
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
                chosen = _smallest(chosen, with_calls)
                where = "beside calls" if with_calls else "beside content"
                under = _under(chosen.setting)
                trials.append(Trial(f"reasoning as field {found}", f"shown {where}{under}"))
                return chosen, True
    for kind in (field for field in REASONING_FIELDS if field in suggestions.fields):
        shape = replace(prober.shape, reasoning_form=ReasoningForm.PART, reasoning_field=kind)
        candidate = prober.using(shape=shape)
        word = prober.sentinels.reasoning
        lines = f"{word}\n{word}"
        message = replace(_reasoned(prober, with_calls=False), reasoning=lines)
        # A template that prints its parts as they are shows the word, but not the line break.
        if lines in candidate.probe((prober.user, message)).text:
            trials.append(Trial(f"reasoning as content part {kind}", "shown"))
            return candidate, True
    trials.append(Trial(f"reasoning as any of {len(fields)} fields", "not shown"))
    return prober, False


def _marked(prober: Prober, with_calls: bool) -> bool:
    """Whether a text before the content comes with markup of its own, as reasoning does."""
    message = _reasoned(prober, with_calls=with_calls)
    without = prober.probe(answered(prober, replace(message, reasoning="")))
    having = prober.probe(answered(prober, message))
    split = diff_split(without.text, having.text)
    return split.right.strip() != prober.sentinels.reasoning


def _reasoning_fields(suggestions: Suggestions) -> list[str]:
    return [
        field
        for field in suggestions.fields
        if field.isidentifier() and field not in _STANDARD_FIELDS
    ]


def _settings_to_try(suggestions: Suggestions) -> list[Setting]:
    settings: list[Setting] = [{}]
    flags = [name for name in suggestions.variables if _may_be_switch(name)]
    if flags:
        settings.append(dict.fromkeys(flags, True))
    return settings


def _may_be_switch(name: str) -> bool:
    return name not in _NOT_SWITCHES and not name.endswith("_token")


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
"""What transformers passes itself and what Jinja defines."""


def switch_candidates(suggestions: Suggestions) -> list[str]:
    """Name the variables that a caller may set."""
    return [name for name in suggestions.variables if _may_be_switch(name)]


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
    then those behind it.
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
    high, low = divmod(number, 26)
    return f"{word}{chr(ord('a') + high)}{chr(ord('a') + low)}"


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


def _smallest(prober: Prober, with_calls: bool) -> Prober:
    """Leave out the switches that the reasoning does not need."""
    needed = dict(prober.setting)
    dialogue = answered(prober, _reasoned(prober, with_calls=with_calls))
    for name in list(needed):
        fewer = {key: value for key, value in needed.items() if key != name}
        if prober.sentinels.reasoning in prober.probe(dialogue, setting=fewer).text:
            needed = fewer
    return prober.using(setting=needed)


def _under(setting: Setting) -> str:
    words = ", ".join(f"{key}={value}" for key, value in setting.items())
    return f" with {words}" if words else ""


def _describe(shape: Shape, plain: Shape) -> str:
    names = [name for name in Shape.__slots__ if getattr(shape, name) != getattr(plain, name)]
    return ", ".join(f"{name}={getattr(shape, name)}" for name in names) or "the plain shape"
