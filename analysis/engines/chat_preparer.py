"""Prepare a chat request for a backend.

    ChatRequest -> ChatPreparer.prepare -> PreparedChat: prompt, grammar, parser

The grammar is the backend's to enforce; the parser reads the output either way.

For example, by a template that writes `<role>content</s>`, after a user's `Hi`:

    messages [user "Hi"]                                            ->  <user>Hi</s><assistant>
    messages [user "Hi", assistant "Well"], continue_final_message  ->  <user>Hi</s><assistant>Well
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Unpack

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json, MediaKind
from autoparser.analysis.core.error_words import escape_text, is_list, is_mapping
from autoparser.analysis.core.errors import (
    AutoparserError,
    TemplateLimitError,
    TemplateRenderError,
    TokenizerError,
)
from autoparser.analysis.core.media_parts import media_kind
from autoparser.analysis.core.schema_errors import SchemaError
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.core.turn_shape import PromptProgress
from autoparser.analysis.decoding.answer_writers import grammar_form, grammar_text
from autoparser.analysis.grammar.call_writer import END_OF_PROMPT, GrammarError
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.grammar.schema_loosening import log_loosening
from autoparser.analysis.grammar.turn_rules import deciding_parts
from autoparser.analysis.history.bridge_refusals import BridgeRefusal
from autoparser.analysis.history.history_renders import Message
from autoparser.analysis.history.openai_messages import (
    shaped_messages,
    shaped_tools,
    unreadable_arguments,
    unrendered_field,
)
from autoparser.analysis.history.renderer import Renderer
from autoparser.analysis.history.request_arguments import checked_messages
from autoparser.analysis.learning.shape_negotiation import prints_parts
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.turn_request import IdentityCache, ReadingChoices, RequestError
from autoparser.analysis.sources.token_bytes import library_complaint

from .chat_request import (
    ChatError,
    ChatRequest,
    as_chat_error,
    ignore_fields,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer


LONG_TEXT = 100_000
"""Characters of a prompt from which on encoding releases the interpreter."""
GRAMMARS = 64
"""Cached grammars, one for each set of tools."""
MESSAGES = 10_000
"""Remembered messages that were looked for in prompts."""
_RENDER_NAMES = frozenset({"self", "messages", "tools", "add_generation_prompt"})
"""Parameters of a render that are not switches of the template."""


@dataclass(frozen=True, slots=True)
class PreparedChat:
    """The values needed to ask a backend and to parse its output."""

    request: ChatRequest
    """The request as it was read, e.g. with the messages `({"role": "user", "content": "Hi"},)`."""
    prompt: str
    """The rendered prompt, e.g. `"<|im_start|>user\\nHi<|im_end|>\\n<|im_start|>assistant\\n"`."""
    prompt_ids: tuple[int, ...] | None
    """The ids of the prompt, e.g. `(151644, 872)`, or None without a tokenizer."""
    parser: OutputParser
    """Parses the output, given the prompt, e.g. `<OutputParser of 'look'>`."""
    grammar: Grammar
    """The grammar, e.g. `<Grammar of 'look'>`; its stop strings are used even if the answer is not
    constrained."""
    constrained: bool
    """Whether the backend constrains the answer to the grammar; not for free text, as with
    `"tool_choice": "none"`."""
    bridged: str | None = None
    """Why the prompt does not extend the earlier turn's ids, e.g.
    `"the request sets chat_template_kwargs"`; empty if it does, None if the request has no earlier
    turn."""
    marker_tokenizer: Tokenizer | None = None
    """Resolves markers to ids, e.g. `<|im_end|>` to 151645, for a backend whose grammars take ids;
    else None."""


_LOG = logging.getLogger("autoparser")


def _parameter_error(error: AutoparserError) -> ChatError:
    """Return the error for a client, with the member of the request that is to be changed."""
    found = as_chat_error(error)
    place = error.place or ""
    if isinstance(error, TemplateRenderError | TemplateLimitError):
        parameter = "messages"
    elif isinstance(error, RequestError):
        parameter = place or "tool_choice"
    elif isinstance(error, GrammarError | SchemaError):
        parameter = "response_format" if place.startswith("json_schema") else "tools"
        parameter = "messages" if place == END_OF_PROMPT else parameter
    else:
        return found
    if found.place not in (None, parameter):
        found.message = f"{found.place}: {found.message}"
    found.place = parameter
    return found


def _read_switches(analysis: Analysis, switches: Mapping[str, Json]) -> dict[str, Json]:
    """Return the switches that the template reads, and log the others, once each."""
    unread = analysis.unread(switches)
    for line in unread.values():
        _log_once(f"chat_template_kwargs: {line}")
    return {name: value for name, value in switches.items() if name not in unread}


@lru_cache(maxsize=256)
def _log_once(line: str) -> None:
    _LOG.warning("%s", line)


class ChatPreparer:
    """Prepares the chats of one template."""

    def __init__(
        self,
        analysis: Analysis,
        *,
        switches: Mapping[str, Json] | None = None,
        tokenizer: Tokenizer | None = None,
        loosen: bool = False,
        engine: ServerEngine | None = None,
        **choices: Unpack[ReadingChoices],
    ) -> None:
        """Use an analyzed template; with a `tokenizer`, prompts are ids and can be bridged.

        `engine` runs behind the server; llama.cpp takes the ids of markers in a grammar.
        `switches` stand where a request sets nothing else. With `loosen`, keywords that a grammar
        cannot be held to are left out of strict tools, too, and of the schema of content. The
        `choices` are the parser's for all answers.
        """
        self._analysis, self._choices = analysis, choices
        self._switches = _read_switches(analysis, switches or {})
        self._loosen = loosen
        self._dropped: set[str] = set()
        """Roles of messages that the template dropped, which the log has named."""
        self._media: set[MediaKind] = set()
        """Media in messages that were looked for in a prompt."""
        self._looked_at: set[int] = set()
        """Hashes of the messages, by role and text, that were looked for in a prompt."""
        self._renderer: Renderer | None = None
        self._tokenizer = tokenizer
        self._engine = engine
        self._marker_tokenizer = tokenizer if engine and engine.record.marker_ids else None
        self._bridging = threading.Lock()
        self._grammars: IdentityCache[Grammar] = IdentityCache(GRAMMARS)
        if tokenizer is not None:
            self._renderer = Renderer(analysis, tokenizer, switches=self._switches)

    def prepare(self, request: ChatRequest) -> PreparedChat:
        """Render the prompt, and make the grammar and the parser. Raises ChatError."""
        try:
            return self._prepare(request)
        except ChatError:
            raise
        except AutoparserError as error:
            place = unreadable_arguments(request.messages)
            if isinstance(error, TemplateRenderError) and place is not None:
                words = "must be a JSON object, which the template cannot render this without"
                raise ChatError(words, place=place) from error
            raise _parameter_error(error) from error

    def _prepare(self, request: ChatRequest) -> PreparedChat:
        """Render or bridge the prompt of a request, and make its grammar and parser."""
        shape = self._analysis.shape
        # Either the last message is unfinished, or a new prompt follows it.
        if request.continue_final_message and request.continues is not None:
            raise ChatError("cannot be combined with continue_final_message", place="continues")
        layouts = self._analysis.format.layouts
        messages = shaped_messages(_begun_messages(request), shape, layouts)
        tools = shaped_tools(request.tools, shape) if request.tools else None
        offered, choice = request.callable_tools
        switches: dict[str, Any] = {
            **self._switches,
            # The request's own variables are the most specific, so they come last.
            **effort_setting(self._analysis, request.reasoning_effort),
            **request.chat_template_kwargs,
        }
        bridged, reason = self._bridge_prompt(request, messages, tools)
        if bridged is not None:
            ids, prompt = bridged
        else:
            try:
                prompt = self._render(request, messages, tools, switches)
            except TemplateRenderError as error:
                medium = next(_media_places(messages), None)
                without = [{**message, "content": _texts(message)} for message in messages]
                shaped = shaped_messages(without, shape, layouts)
                # Only if the texts alone can be rendered, the other parts are the reason.
                if medium is not None and self._attempt(shaped, tools, switches) is not None:
                    raise _unrendered(*medium, error.reason) from error
                field = unrendered_field(
                    messages, lambda mended: self._render(request, mended, tools, switches)
                )
                if field is not None:
                    words, hint = as_chat_error(error).message, f"send {field.wanted}"
                    raise ChatError(f"{field}: {words}", place=field.place, hint=hint) from error
                raise
            self._warn_of_dropped(messages, tools, switches, prompt)
            ids = self.encode(prompt)
        for place, part in _media_places(messages):
            if prints_parts(prompt, [part]):
                raise _unrendered(place, part, "it writes the part as Python or JSON source")
        options: dict[str, Any] = {
            "prompt": prompt,
            "chat_template_kwargs": _read_switches(self._analysis, switches) or None,
            "tool_choice": choice,
            "parallel_tool_calls": request.parallel_tool_calls,
            "json_schema": request.schema,
        }
        grammar, constrained = self._grammar(request, offered, options)
        parser = self._analysis.parser(offered, **options, **self._choices)
        known = self._marker_tokenizer
        return PreparedChat(request, prompt, ids, parser, grammar, constrained, reason, known)

    def encode(self, text: str) -> tuple[int, ...] | None:
        """Return the token ids of a text, or None without a tokenizer."""
        if self._tokenizer is None or self._renderer is None:
            return None
        if len(text) < LONG_TEXT:
            return tuple(self._renderer.encode(text))
        # Encoding without token offsets takes less than half the time, and lets other threads run.
        try:
            (encoding,) = self._tokenizer.encode_batch_fast([text], add_special_tokens=False)
        except BaseException as error:  # noqa: BLE001 - Rust's panics, too
            words = f"the tokenizer cannot encode the prompt ({library_complaint(error)})"
            raise TokenizerError(words, hint="use the tokenizer of the template's model") from None
        return tuple(encoding.ids)

    def properties(self) -> dict[str, Json]:
        """Return the public properties of the template, as llama-server's `/props` has them."""
        template = self._analysis.rendering
        switches: Json = {switch.name: list(switch.values) for switch in self._analysis.switches}
        return {
            "chat_template": template.text,
            "bos_token": template.special_tokens.get("bos_token", ""),
            "eos_token": template.special_tokens.get("eos_token", ""),
            "chat_template_kwargs": switches,
        }

    def _render(
        self,
        request: ChatRequest,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[object] | None,
        switches: Mapping[str, Any],
    ) -> str:
        """Render the prompt. Raises ChatError for values that no render takes."""
        # Python would report a duplicate argument, in words that no client understands.
        taken = sorted(_RENDER_NAMES & request.chat_template_kwargs.keys())
        if taken:
            raise ChatError(
                f"{taken[0]} cannot be set as a template variable",
                place=f"chat_template_kwargs.{taken[0]}",
                hint="pass it outside chat_template_kwargs",
            )
        try:
            begun = request.continue_final_message
            prompt = self._analysis.rendering.render(
                messages, tools, add_generation_prompt=not begun, **switches
            )
            if begun:
                # The template ends the message after its text; the model goes on before that end.
                prompt = _before_mark(prompt)
            # JSON can name half a surrogate pair.
            prompt.encode()
        except UnicodeEncodeError as error:
            raise ChatError("a string has an unpaired surrogate", place="messages") from error
        except (TypeError, ValueError) as error:
            words = f"cannot render the request: {error}"
            raise ChatError(words, place="messages") from error
        return prompt

    def _warn_of_dropped(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[object] | None,
        switches: Mapping[str, Any],
        prompt: str,
    ) -> None:
        """Log each role and medium that the template drops, once: without it the prompt is equal.

        A prompt that lacks the text of a message may still have it in another spelling, such as
        JSON, which only another render tells. Chats send their earlier messages again, so each
        message is looked for once, and a request pays for at most one such render.
        """
        for index, message in enumerate(messages):
            role, content = str(message.get("role")), message.get("content")
            kinds = [*map(media_kind, content)] if is_list(content) else []
            medium = next((kind for kind in kinds if kind and kind not in self._media), None)
            if medium is not None and is_list(content):
                self._media.add(medium)
                kept = [
                    part for part, kind in zip(content, kinds, strict=True) if kind is not medium
                ]
                other = {**message, "content": kept}
                if prompt == self._attempt(
                    [*messages[:index], other, *messages[index + 1 :]], tools, switches
                ):
                    _LOG.warning(
                        "the template drops content of the type %r (messages[%d]): the model does"
                        " not see it; logged once per type",
                        str(medium),
                        index,
                    )
                return
            if not isinstance(content, str) or role in self._dropped:
                continue
            # A hash, since ten thousand messages may be large.
            known = hash((role, content))
            if known in self._looked_at:
                continue
            if len(self._looked_at) >= MESSAGES:
                self._looked_at.clear()
            self._looked_at.add(known)
            # Most templates write texts verbatim, so that most messages need no further render.
            if content.strip() in prompt:
                continue
            rest = [*messages[:index], *messages[index + 1 :]]
            if prompt == self._attempt(rest, tools, switches):
                self._dropped.add(role)
                _LOG.warning(
                    "the template drops a message of the role %r (messages[%d]): the model does not"
                    " see it; logged once per role",
                    role,
                    index,
                )
            return

    def _attempt(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[object] | None,
        switches: Mapping[str, Any],
    ) -> str | None:
        """Return a prompt, or None if no message is left, or if the template raises."""
        try:
            return self._analysis.rendering.render(
                messages, tools, add_generation_prompt=True, **switches
            )
        except (AutoparserError, ValueError):
            return None

    def _grammar(
        self, request: ChatRequest, offered: Sequence[Any], options: Mapping[str, Any]
    ) -> tuple[Grammar, bool]:
        """Make the grammar, and say whether the answer is held to it.

        What a grammar cannot hold of a schema is left out and logged, unless its tool is strict; an
        invalid schema is an error. Where the model may choose to say anything, nothing was
        promised: it need not reason, and a format of which no grammar can be written is logged.
        """
        free = options["tool_choice"] == "auto" and request.schema is None
        made = self._analysis.grammar(offered, **options, loosen=self._loosen or None)
        asked = (repr(offered), repr(request.schema), repr(options["tool_choice"]))
        # Writing the grammar or listing its markers takes most of the time to the first token, and
        # agents keep offering the same tools.
        grammar = self._grammars.of(
            deciding_parts(made.turn),
            (*asked, request.parallel_tool_calls),
            lambda: made,
        )
        # Free text needs no grammar, but its stop strings are used all the same.
        if request.schema is None and (not offered or options["tool_choice"] == "none"):
            return grammar, False
        try:
            # Written now, so that a grammar that cannot be written is an error of the request, not
            # of the backend.
            grammar_text(self._engine, grammar, self._marker_tokenizer)
        except GrammarError as error:
            if not free:
                raise
            # The names in it come from requests.
            _log_once(escape_text(f"answers are not constrained by a grammar: {error}"))
            return grammar, False
        log_loosening(grammar.loosened(grammar_form(self._engine)))
        return grammar, True

    def _bridge_prompt(
        self,
        request: ChatRequest,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[object] | None,
    ) -> tuple[tuple[tuple[int, ...] | None, str] | None, str | None]:
        """Return a prompt that extends the ids of the earlier turn, or the reason why it cannot."""
        earlier = request.continues
        if earlier is None:
            return None, None
        if self._renderer is None:
            raise ChatError(
                "the server has no tokenizer for this model",
                place="continues",
                hint="start it with --tokenizer, or remove this field",
            )
        if request.chat_template_kwargs:
            # The renderer bridges only with the server's switches.
            return None, "the request sets chat_template_kwargs"
        answer_places = [
            at for at, message in enumerate(messages) if message.get("role") == "assistant"
        ]
        # The earlier turn's ids contain the last answer, so only render the messages after it.
        new = messages[answer_places[-1] + 1 :] if answer_places else messages
        # Bridging changes the renderer's state, so only one thread at a time may use it.
        with self._bridging:
            try:
                found = self._renderer.bridge_to_next_turn(
                    earlier.prompt_token_ids, earlier.token_ids, new, tools
                )
            except TokenizerError as error:
                words = f"{error.place}: {error.message}" if error.place else error.message
                raise ChatError(words, place="continues", hint=error.hint) from error
            if isinstance(found, BridgeRefusal):
                return None, f"{found.reason}: {found.detail}"
            ids = tuple(found.token_ids)
            return (ids, self._renderer.decode(ids)), ""


def _media_places(
    messages: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield each part that is not text, such as an image, after its place in the messages."""
    for index, message in enumerate(messages):
        content = message.get("content")
        for at, part in enumerate(content if is_list(content) else ()):
            if is_mapping(part) and part.get("type") != "text":
                yield f"messages[{index}].content[{at}]", {**part}


def _texts(message: Mapping[str, Any]) -> object:
    """Return the content of a message without the parts that are not text."""
    content = message.get("content")
    if not is_list(content):
        return content
    return [part for part in content if is_mapping(part) and part.get("type") == "text"]


def _unrendered(place: str, part: Mapping[str, Json], reason: str) -> ChatError:
    kind = media_kind(part) or part.get("type")
    words = f"the chat template cannot render content of the type {str(kind)!r}: {reason}"
    return ChatError(escape_text(words), place=place, hint="send only text")


_MARK = "autoparserGoesOnHere"
"""A mark after the text that an answer continues, to find its end in the prompt."""


def _begun_messages(request: ChatRequest) -> list[Message]:
    """Return the messages, of which one that is continued has a mark at its end."""
    messages = checked_messages(request.messages)
    if not request.continue_final_message:
        return messages
    last = messages[-1]
    content = last.get("content")
    if last.get("role") != "assistant" or not isinstance(content, str) or not content:
        raise ChatError(
            "the last message must be an assistant message with text to continue",
            place="continue_final_message",
        )
    return [*messages[:-1], {**last, "content": content + _MARK}]


def _before_mark(rendered: str) -> str:
    before, *after = rendered.split(_MARK)
    if len(after) != 1:
        raise ChatError(
            "cannot continue the last message: the template alters its text",
            place="continue_final_message",
        )
    return before


EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
"""The values of `reasoning_effort`, the least first; beside them there is `none`."""


def effort_setting(analysis: Analysis, effort: str) -> dict[str, Json]:
    """Return the switch that an effort sets, as far as the template has one.

    That is a switch with at least two of the values: the nearest one it has. Without any, `none`
    sets what makes the prompt close the reasoning. An effort that changes nothing is logged.
    """
    if not effort:
        return {}
    for switch in analysis.switches:
        values = {value for group in switch.groups for value in group if isinstance(value, str)}
        known = [level for level in EFFORTS if level in values]
        if len(known) + ("none" in values) > 1:
            if effort in values:
                return {switch.name: effort}
            if effort in EFFORTS and known:
                # If two efforts are equally near, `min` takes the first, which is the lower one.
                place = EFFORTS.index(effort)
                nearest = min(known, key=lambda level: abs(EFFORTS.index(level) - place))
                return {switch.name: nearest}
    if effort == "none":
        for opening in analysis.formats.openings:
            if opening.written is PromptProgress.REASONING_CLOSED:
                return dict(opening.setting)
    ignore_fields({"reasoning_effort"})
    return {}
