"""The summary: a format in words for a reader who does not know the template.

Each row has a label and a sentence:

    >>> from autoparser import analyze
    >>> rows = dict(summary_rows(analyze("fixtures/templates/j1-json-in-tags.jinja")))
    >>> print(rows["Reasoning"])
    between `<think>` and `</think>` (TAG_BASED); message field reasoning_content; kept in history
    >>> print(rows["Arguments"])
    passed as an object; JSON strings are encoded twice
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.call_format import ArgumentForm, ArgumentFormat, CallFormat, CallLimit
from autoparser.analysis.core.conversation import Json, MediaKind, Presence
from autoparser.analysis.core.format_choice import (
    Formats,
    PromptFormat,
)
from autoparser.analysis.core.json_types import JsonType, json_type
from autoparser.analysis.core.media_treatment import ContentParts, MediaTreatment, PartsOutcome
from autoparser.analysis.core.message_shape import StringArguments, form_departures
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.turn_shape import PromptProgress, ReasoningRetention
from autoparser.analysis.formats.format_view import (
    ContentMode,
    MarkerRegistry,
    ReasoningMode,
    ToolFormat,
)
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.formats.saved_format import SavedFormat
from autoparser.analysis.overview.format_facts import placeholder_text

from .blocks import Blocks, Row, join_texts, rows, sentence
from .places import provenance_words
from .settings import stop_notes
from .verdict import (
    evidence_words,
    format_verdict,
    gate_words,
    sandbox_words,
    verdict_basis,
    wanted_words,
)
from .visible import doubt, quote_marker, setting_words, visible


def summary_section(analysis: LearnedFormat) -> Blocks:
    """Describe reasoning, content and calls, and how certain the format is."""
    return rows(list(summary_rows(analysis)), indent=0)


def summary_rows(analysis: LearnedFormat) -> Iterator[Row]:
    """Return the summary as labels and texts."""
    template, format_ = analysis.template, analysis.formats.united
    origin = Text(visible(template.origin or "a text"))
    if template.name not in (None, "default"):
        origin.append(f" (named {visible(str(template.name))})")
    yield "Template", origin
    provenance = provenance_words(template.source)
    if provenance is not None:
        yield "Source", Text(provenance)
    if isinstance(analysis, SavedFormat):
        saved = f"{visible(analysis.file)}, a saved format (the template was not rendered again)"
        yield "Read from", Text(saved)
    known = evidence_words(format_.evidence.items())
    yield "Evidence", Text(known or "none: no part is rendered")
    yield "Verdict", format_verdict(analysis)
    listed = "" if analysis.check.ok else " (listed at the end)"
    yield "Self-check", Text(f"{verdict_basis(analysis.check)}{listed}")
    forbidden = sandbox_words(analysis.check)
    if forbidden:
        yield "Sandbox", Text(forbidden, style="red")
    # The gate tests turns after a prompt, so it needs one.
    if analysis.formats.openings:
        yield "Turns", gate_words(analysis, " (listed at the end)")
    doubted = format_.unconfirmed
    yield "Reasoning", _add_doubt(_reasoning(analysis), TurnPart.REASONING in doubted)
    yield "Content", _add_doubt(_content(analysis), TurnPart.CONTENT in doubted)
    yield "Tool calls", _add_doubt(_calls(analysis), TurnPart.CALLS in doubted)
    if format_.calls is not None:
        yield "Arguments", _arguments(analysis, format_.calls)
        yield "Values", value_samples(format_.calls.arguments)
        yield "Call ids", _ids(analysis)
    if isinstance(analysis, Analysis):
        # A saved format does not record the treatment of media.
        yield "Parts", content_parts_words(analysis.content_parts)
    yield "Prompt", _prompt(analysis.formats.default)
    yield "Stop strings", stop_notes(analysis)
    wants = wants_words(analysis)
    if wants:
        yield "Expects", Text("; ".join(wants))
    if analysis.stand_ins:
        names = ", ".join(sorted(analysis.stand_ins))
        yield (
            "Unknown",
            Text(f"{names}: shown as {', '.join(sorted(analysis.stand_ins.values()))}"),
        )


def _add_doubt(words: Text, doubted: bool) -> Text:
    return sentence(words, doubt()) if doubted else words


def absent_words(learned: LearnedFormat, presence: Presence) -> str:
    """Describe a missing part: whether a message with only this part is rendered."""
    found = any(
        failure.message.presence == presence
        for check in learned.checks
        for failure in check.different
    )
    if found:
        return "rendered, but its format was not found (see the findings)"
    return "this template renders no tool calls" if presence.calls else NO_FIELD


NO_FIELD = "this template renders no reasoning field"
"""The words for reasoning that no message field brings into the text."""


def _reasoning(analysis: LearnedFormat) -> Text:
    """Describe the markers of reasoning, its field, and when later prompts keep it."""
    mode, markers, format_ = analysis.view.reasoning, analysis.markers, analysis.formats.united
    if mode is ReasoningMode.NONE:
        return sentence(absent_words(analysis, Presence(reasoning=True)), " ", _mode(mode))
    opening = (
        quote_marker(markers.reasoning_start) if markers.reasoning_start else Text("its beginning")
    )
    close = quote_marker(markers.reasoning_end) if markers.reasoning_end else Text("the next part")
    between = sentence("between ", opening, " and ", close)
    words: dict[ReasoningMode, Text] = {
        ReasoningMode.TAG_BASED: between,
        ReasoningMode.DELIMITER: sentence("from the beginning of the turn to ", close),
        ReasoningMode.FORCED_OPEN: sentence(between, "; the generation prompt opens it"),
        ReasoningMode.FORCED_CLOSED: sentence(between, f"; {_forced_reasoning(analysis.formats)}"),
        ReasoningMode.TOOLS_ONLY: sentence(between, ", only in turns with tool calls"),
    }
    mode_words = sentence(words[mode], " ", _mode(mode))
    field = analysis.shape.reasoning_field
    if format_.reasoning_cut and not any(
        "reasoning" in layout.parts for layout in format_.layouts.values()
    ):
        mode_words.append("; no field is rendered as reasoning, it is cut out of the content")
    elif field:
        mode_words.append(f"; message field {visible(field)}")
    if TurnPart.REASONING in analysis.format.elsewhere:
        mode_words.append(f"; only with {setting_words(analysis.formats.fullest.setting)}")
    return sentence(mode_words, kept_words(format_.retention))


def _forced_reasoning(formats: Formats) -> str:
    """Name the settings under which the prompt opens the reasoning, and closes it."""
    by_setting = sorted(formats.openings, key=lambda opening: len(opening.setting))
    # Reversed, so that the setting with the fewest switches wins for each kind.
    under = {opening.written: opening.setting for opening in reversed(by_setting)}
    opens, closes = (
        f"with {setting_words(under[written])}" if under.get(written) else "by default"
        for written in (PromptProgress.REASONING_OPEN, PromptProgress.REASONING_CLOSED)
    )
    return f"the generation prompt opens it {opens}, and closes it at once {closes}"


def kept_words(retention: ReasoningRetention) -> str:
    """Describe how long reasoning is kept, with and without tools if these differ."""
    kept, bare = retention.next_user, retention.next_user_without_tools
    # Some templates keep reasoning only for agents, which pass tools.
    if retention.differs:
        return f"; kept in history only if {'tools' if kept else 'no tools'} are passed"
    if kept is None and bare is None:
        return ""
    if retention.tool_loop is False:
        return (
            "; kept in history, but dropped after a call's result"
            if kept or bare
            else "; dropped as soon as a message follows"
        )
    return "; kept in history" if kept or bare else "; dropped after the next user message"


def _mode(mode: str) -> Text:
    return Text(f"({mode})", style="dim")


def _content(analysis: LearnedFormat) -> Text:
    mode, markers = analysis.view.content, analysis.markers
    if mode is ContentMode.PLAIN:
        return sentence("plain text, without markers ", _mode(mode))
    between = sentence("between ", quote_marker(markers.content_start))
    if markers.content_end:
        between = sentence(between, " and ", quote_marker(markers.content_end))
    else:
        between = sentence("after ", quote_marker(markers.content_start))
    when = " next to reasoning " if mode is ContentMode.WRAPPED_WITH_REASONING else " "
    return sentence(between, when, _mode(mode))


LIMIT_WORDS = {
    CallLimit.MANY: "several per turn",
    CallLimit.REFUSED: "one per turn (parallel calls raise)",
    CallLimit.FIRST: "only the first is rendered",
    CallLimit.LAST: "only the last is rendered",
}


def limit_words(calls: CallFormat) -> str:
    """Describe the maximum number of calls per turn, and whether it is enforced."""
    # A caller cannot compute the index of a call from its own turn then.
    counted = ", numbered across turns" if calls.index_goes_on else ""
    return f"{LIMIT_WORDS[calls.limit]}{counted}"


def _calls(analysis: LearnedFormat) -> Text:
    view, calls = analysis.view, analysis.formats.united.calls
    if calls is None:
        return sentence(absent_words(analysis, Presence(calls=True)), " ", _mode(view.tools))
    words = {
        ToolFormat.JSON_NATIVE: "a JSON object with name and arguments",
        ToolFormat.TAG_WITH_JSON: "the name, then the arguments as JSON",
        ToolFormat.TAG_WITH_TAGGED: "the name, then each argument between its own markers",
    }
    call_words = sentence(words.get(view.tools, ""), _around(view.markers), " ", _mode(view.tools))
    if view.flags.tools_array_wrapped:
        call_words.append("; all calls in one array")
    # Without a rendered call, it is unknown whether a turn may have several.
    if TurnPart.CALLS in analysis.formats.united.unconfirmed:
        return call_words
    return call_words.append(f"; {limit_words(calls)}")


def _around(markers: MarkerRegistry) -> Text:
    """Describe the markers around each call, or around all of them."""
    # Markers of each call are more specific than markers of all calls.
    for which, opening, close in (
        ("each", markers.per_call_start, markers.per_call_end),
        ("all", markers.tool_section_start, markers.tool_section_end),
    ):
        if opening and close:
            return sentence(
                f", {which} between ", quote_marker(opening), " and ", quote_marker(close)
            )
        # Calls at the end of a turn may have no closer of their own.
        if opening:
            return sentence(f", {which} after ", quote_marker(opening))
    return Text()


_STRING_ARGUMENTS = {
    StringArguments.SAME: " or a JSON string",
    StringArguments.PASTED: " or a JSON string, which is inserted verbatim",
    StringArguments.ENCODED_TWICE: "; JSON strings are encoded twice",
    StringArguments.DROPPED: "; JSON strings are dropped",
    StringArguments.RAISES: "; JSON strings raise",
}


def _arguments(analysis: LearnedFormat, calls: CallFormat) -> Text:
    form, texts = analysis.formats.united.argument_form, analysis.string_arguments
    wanted = "an object" if form is ArgumentForm.OBJECT else "a JSON string"
    form_words = Text(f"passed as {wanted}")
    if calls.arguments.verbatim:
        form_words.append(", which is inserted verbatim")
    elif texts is not None and form is ArgumentForm.OBJECT:
        form_words.append(_STRING_ARGUMENTS[texts])
    if calls.arguments.refused:
        kinds = ", ".join(sorted(kind.value for kind in calls.arguments.refused))
        form_words.append(f"; values of type {kinds} raise")
    return form_words


def _ids(analysis: LearnedFormat) -> Text:
    fields, calls = analysis.view.json_fields, analysis.formats.united.calls
    if fields is not None and fields.id_field:
        return sentence("in the field ", quote_marker(fields.id_field))
    if fields is not None and fields.gen_id_field:
        return sentence("numbered by the template in the field ", quote_marker(fields.gen_id_field))
    if calls is None or not any(piece == "id" for piece in calls.row):
        return Text("none")
    words = {
        "PRE_FUNC_NAME": "before the name",
        "BETWEEN_FUNC_AND_ARGS": "between name and arguments",
        "POST_ARGS": "after the arguments",
    }
    position = analysis.view.call_id
    return sentence(words.get(position.value, "in each call"), " ", _mode(position))


def _prompt(beginning: PromptFormat) -> Text:
    """Describe the default `add_generation_prompt` text, and its share of the turn."""
    opening = beginning.opening
    if opening is None or not opening.text:
        return Text("add_generation_prompt adds nothing")
    end_words = sentence(
        "ends with ", quote_marker(opening.text), f", which is {opening.written.value}"
    )
    later = [
        later_opening
        for later_opening in beginning.format.later_openings
        if later_opening.setting == opening.setting
    ]
    for later_opening in later:
        end_words = sentence(
            end_words, "; after earlier turns with ", quote_marker(later_opening.text)
        )
        words = f"is {later_opening.written.value}" if later_opening.turn_begun else "opens no turn"
        end_words.append(f", which {words}")
    return end_words


def wants_words(learned: LearnedFormat) -> list[str]:
    """Return the requirements on messages that differ from OpenAI's form.

    Formats saved by versions that did not compare the forms list all requirements.
    """
    usual_wants = {
        form.usual: wanted_words(form) for check in learned.checks for form in check.forms
    }
    wants = [usual_wants.get(form.usual, form.wanted) for form in form_departures(learned.shape)]
    return [words for words in wants if words] + [
        "a result for every call"
    ] * learned.shape.answered


_NAMES = {MediaKind.IMAGE: "images", MediaKind.VIDEO: "videos", MediaKind.AUDIO: "audio"}

_SAID = {
    PartsOutcome.WRITTEN: "written",
    PartsOutcome.DROPPED: "silently dropped",
    PartsOutcome.REFUSED: "rejected",
    PartsOutcome.CRASHES: "the template crashes",
    PartsOutcome.PRINTED: "printed as Python or JSON source",
    PartsOutcome.SPREAD: "rendered without one placeholder per part",
}


def content_parts_words(parts: ContentParts) -> Text:
    """Describe the placeholders for images, videos and audio in a user's message.

    >>> from autoparser import analyze
    >>> analysis = analyze("fixtures/templates/content-parts-required.jinja")
    >>> print(content_parts_words(analysis.content_parts))  # doctest: +NORMALIZE_WHITESPACE
    images: `<|image|>` for each part, in the place of the part, in tool results too (as image_url:
    silently dropped); videos, audio: silently dropped
    """
    if parts.texts is not PartsOutcome.WRITTEN:
        return sentence(f"content as a list of parts: {_SAID[parts.texts]}", _why(parts.reason))
    # Kinds that are treated alike, such as dropped ones, share a sentence.
    grouped: dict[str, tuple[list[str], Text]] = {}
    for media in parts.media:
        words = _media_words(media)
        grouped.setdefault(words.plain, ([], words))[0].append(_NAMES[media.kind])
    media_words = [sentence(f"{', '.join(names)}: ", words) for names, words in grouped.values()]
    return join_texts(media_words, "; ")


def _media_words(media: MediaTreatment) -> Text:
    if media.outcome is not PartsOutcome.WRITTEN:
        lost = ", and the text next to them is lost" if media.loses_text else ""
        return sentence(_SAID[media.outcome], lost, _why(media.reason))
    many = "for each part" if media.each else "once, however many there are"
    # Some templates number the parts only if there are several.
    alone = sentence(" (", quote_marker(placeholder_text(media.alone)), " for the only one)")
    only = alone if media.alone else ""
    written = quote_marker(placeholder_text(media.placeholder))
    place_words = sentence(written, f" {many}", only, f", {media.place}")
    if not media.earlier:
        place_words.append(", in the last message alone")
    if "tool" in media.roles:
        place_words.append(", in tool results too")
    for outcome in PartsOutcome:
        forms = [form for form, became in media.forms.items() if became is outcome]
        if forms and outcome is not PartsOutcome.WRITTEN:
            place_words.append(f" (as {', '.join(forms)}: {_SAID[outcome]})")
    return place_words


def _why(reason: str) -> str:
    return f" ({visible(reason)})" if reason else ""


SAMPLES: Mapping[JsonType, Json] = {
    JsonType.STRING: "text",
    JsonType.INTEGER: 3,
    JsonType.BOOLEAN: True,
    JsonType.NULL: None,
    JsonType.ARRAY: [1, "a"],
    JsonType.OBJECT: {"k": "v"},
}


def value_samples(arguments: ArgumentFormat) -> Text:
    """Show one value of each type in the template's writing."""
    # Arguments may be written unlike the values inside of arrays and objects.
    notation = arguments.members.values or arguments.values
    texts: list[Text] = []
    dropped: list[str] = []
    for kind, value in SAMPLES.items():
        # The row of arguments names the types that raise.
        if kind in arguments.refused:
            continue
        if arguments.members.row(json_type(value)) is None:
            dropped.append(kind.value)
        else:
            texts.append(quote_marker(notation.write(value, arguments.margin)))
    written = join_texts(texts, " ")
    if dropped:
        written.append(f" (dropped: {', '.join(dropped)})")
    return written
