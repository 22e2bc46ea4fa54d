"""A template with `{% generation %}` markers, written around one that has none.

The markers are transformers' extension: they say which part of a conversation the model writes,
and change no text. The template itself is not touched. It becomes a macro; behind it stands what
renders it, finds in its text what each assistant message has added behind the generation prompt,
and writes the text again in pieces, those inside a generation block. So the text is the same by
construction; the proof renders both all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.check import battery, battery_tools
from autoparser.analysis.conversation import Answer, Dialogue, Message as Turn, User
from autoparser.analysis.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.probing import choose_sentinels, offered
from autoparser.analysis.template import ChatTemplate

from .attribution import attribute
from .generation import generation_ranges
from .leaves import fields_of
from .renders import Messages, Renders, prepared
from .shares import Joints


class TrainingTemplateError(AutoparserError):
    """A template with generation markers cannot be written, or is not the same template."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What was rendered by both templates."""

    conversations: int
    """Rendered to the same text by both, or refused by both."""
    refused: int
    masked: int
    """Conversations in which what is marked is also what the renderer says is sampled."""


@dataclass(frozen=True, slots=True)
class TrainingTemplate:
    """A template with generation markers, and the proof that it is the same template."""

    template: ChatTemplate
    proof: Proof
    patched: bool
    """False where the template had such markers itself."""


def training_template(analysis: Analysis) -> TrainingTemplate:
    """Give the template with generation markers. Raises TrainingTemplateError."""
    original = analysis.template
    if original.marks_generation:
        return TrainingTemplate(original, _proved(analysis, original), patched=False)
    patched = ChatTemplate(
        _wrapped(analysis), original.special_tokens, original.name, original.origin
    )
    try:
        patched.check_syntax()
    except AutoparserError as error:
        raise TrainingTemplateError(
            f"the template cannot stand in a macro: {error.message}", file=original.origin
        ) from error
    return TrainingTemplate(patched, _proved(analysis, patched), patched=True)


def _proved(analysis: Analysis, patched: ChatTemplate) -> Proof:
    tools = offered(battery_tools(), analysis.shape)
    renders = Renders.of(analysis.template, tools, {})
    # One clock for both, so that no second lies between them.
    others = Renders(patched, renders.tools, renders.switches, renders.clock)
    joints = Joints(analysis.format)
    fields = fields_of(analysis.shape)
    conversations = refused = masked = 0
    for dialogue, generation in product(_dialogues(), (False, True)):
        words = choose_sentinels(analysis.template.text)
        messages = prepared(analysis.shape.messages(dialogue, words.system))
        text = renders.attempt(messages, generation=generation)
        other = others.attempt(messages, generation=generation)
        if text != other:
            raise TrainingTemplateError(
                "with generation markers it does not render the same text",
                file=analysis.template.origin,
                hint="use the loss mask of autoparser's renderer instead",
            )
        conversations += 1
        refused += text is None
        masked += text is not None and _alike(
            renders, others, messages, joints, fields, generation=generation
        )
    return Proof(conversations, refused, masked)


def _alike(
    renders: Renders,
    others: Renders,
    messages: Messages,
    joints: Joints,
    fields: Sequence[str],
    *,
    generation: bool,
) -> bool:
    """Whether the markers say what the attribution does."""
    whole = attribute(renders, messages, joints, generation=generation, reasoning_fields=fields)
    try:
        marked = generation_ranges(others, messages, whole.text, generation=generation)
    except TemplateRenderError:
        return False
    sampled = _joined((each.start, each.end) for each in whole.segments if each.sampled)
    return marked is not None and _joined(marked) == sampled


def _joined(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Put stretches together that touch."""
    found: list[tuple[int, int]] = []
    for start, end in stretches:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _dialogues() -> Iterator[Dialogue]:
    """Give every message of the battery, alone and between others."""
    for case in battery():
        answers = tuple(Answer("done", call.name, call.id) for call in case.message.calls)
        yield (User("Please look into it."), case.message, *answers)
        yield (
            User("Please look into it."),
            case.message,
            *answers,
            Turn("All done.", "It is done."),
            User("Thanks. Anything else?"),
            Turn("Nothing else."),
        )


def _wrapped(analysis: Analysis) -> str:
    format_ = analysis.format
    openings = sorted({opening.text for opening in format_.openings}, key=len, reverse=True)
    literals = [layout.literals[0] for layout in format_.layouts.values() if not layout.refusal]
    eos = str(analysis.template.special_tokens.get("eos_token") or "")
    stops = [stop for stop in (*format_.stop_strings, eos) if stop]
    text = analysis.template.text.removesuffix("\n")
    values = {
        "@original@": text,
        "@header@": _literal(format_.header),
        "@openings@": _listed([opening for opening in openings if opening]),
        "@stops@": _listed(stops),
        "@fields@": _listed(fields_of(analysis.shape)),
        "@reach@": str(max(map(len, [*literals, *openings, format_.header]))),
    }
    # The template itself goes in last: nothing in it is to be replaced.
    wrapped = _AROUND
    for name, value in sorted(values.items(), reverse=True):
        wrapped = wrapped.replace(name, value)
    return wrapped


def _literal(text: str) -> str:
    """Write a text as Jinja reads it."""
    inner = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{inner}"'


def _listed(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_literal, texts))}]"


_AROUND = """\
{#- The template below, unchanged, and around it generation markers; written by autoparser. #}
{%- macro ap_conversation(messages, add_generation_prompt) %}
@original@{%+ endmacro %}
{#- How many characters two texts share at their beginnings, or at their ends. #}
{%- macro ap_shared(left, right, ends) %}
{%- set n = namespace(low=0, high=[left | length, right | length] | min) %}
{%- for _ in range(64) %}
{%- if n.low < n.high %}
{%- set half = (n.low + n.high + 1) // 2 %}
{%- if (ends and left[left | length - half:] == right[right | length - half:])
    or (not ends and left[:half] == right[:half]) %}
{%- set n.low = half %}
{%- else %}
{%- set n.high = half - 1 %}
{%- endif %}
{%- endif %}
{%- endfor %}
{{- n.low }}
{%- endmacro %}
{%- set ap_text = ap_conversation(messages, add_generation_prompt) %}
{%- set ap = namespace(at=0) %}
{%- for message in messages %}
{%- if message.role == "assistant" %}
{#- With another text in this message, the rest stays: what changes is its own. #}
{%- set other = namespace(message=dict(message, content="\ufdd2")) %}
{%- if message.content is defined and message.content is not string
    and message.content is iterable %}
{%- set other.message = dict(message, content=[{"type": "text", "text": "\ufdd2"}]) %}
{%- endif %}
{%- for field in @fields@ %}
{%- if message[field] is defined and message[field] %}
{%- set other.message = dict(other.message, **{field: "\ufdd2"}) %}
{%- endif %}
{%- endfor %}
{%- set changed = ap_conversation(
    messages[:loop.index0] + [other.message] + messages[loop.index0 + 1:],
    add_generation_prompt) %}
{%- set first = ap_shared(ap_text, changed, false) | int %}
{%- set last = ap_text | length - (ap_shared(ap_text, changed, true) | int) %}
{%- set last = [first, last] | max %}
{#- What the generation prompt writes of this turn is not the model's. #}
{%- set prompt = ap_conversation(messages[:loop.index0], true) if loop.index0 else "" %}
{%- set start = namespace(at=first, done=false) %}
{%- set header = ap_text.rfind(@header@, 0, first) if @header@ else -1 %}
{%- if header >= ap.at and first - header <= @reach@ %}
{%- set start.at = header %}
{%- for opening in @openings@ %}
{%- if not start.done and prompt.endswith(opening) %}
{%- set start.done = true %}
{%- set piece = ap_text[header:header + (ap_shared(opening, ap_text[header:], false) | int)] %}
{#- Where the two part in the middle of a tag, the tag is not the prompt's. #}
{%- set tag = piece.rfind("<") %}
{%- set parted = piece | length < opening | length and tag > piece.rfind(">") %}
{%- set start.at = header + (tag if parted else piece | length) %}
{%- endif %}
{%- endfor %}
{%- endif %}
{%- set end = namespace(at=-1) %}
{%- for stop in @stops@ %}
{%- set found = ap_text.find(stop, last) %}
{%- if found >= 0 and (end.at < 0 or found + stop | length < end.at) %}
{%- set end.at = found + stop | length %}
{%- endif %}
{%- endfor %}
{%- if end.at < 0 %}
{%- set end.at = ap_text | length %}
{%- endif %}
{%- if start.at >= ap.at and end.at > start.at %}
{{- ap_text[ap.at:start.at] }}
{%- generation %}{{- ap_text[start.at:end.at] }}{%- endgeneration %}
{%- set ap.at = end.at %}
{%- endif %}
{%- endif %}
{%- endfor %}
{{- ap_text[ap.at:] }}"""
"""The names of places stand between at signs. Blocks eat the whitespace before them."""
