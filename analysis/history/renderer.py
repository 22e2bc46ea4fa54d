"""Render, parse, stop and bridge with one template and one tokenizer.

    Renderer.render                messages -> token ids, each with its owner
    Renderer.parse_response        completion ids -> message
    Renderer.bridge_to_next_turn   prompt and completion ids, new messages -> next prompt ids

`AsyncRenderer` runs the same methods in a thread.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, update_wrapper
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar, Unpack

from tokenizers import Tokenizer

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import tool_function
from autoparser.analysis.core.error_words import is_list
from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.core.message_shape import StringArguments
from autoparser.analysis.parsing.parsed_message import ParsedMessage
from autoparser.analysis.parsing.turn_request import (
    ParserFields,
    ReadingChoices,
    RequestError,
    read_options,
)
from autoparser.analysis.sources.tokenizer import FastTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of

from .bridge_refusals import BridgeRefusal
from .history_renders import HistoryRenders
from .media_tokens import (
    Expand,
    check_placed,
    expand_placeholders,
    media_parts,
    media_spans,
    media_tokens,
)
from .message_attribution import Attributed, Joints, attribute_render
from .openai_messages import shaped_messages, unrendered_field
from .rendered_tokens import RenderedTokens, own_tokens
from .request_arguments import (
    checked_messages,
    checked_retention,
    checked_switches,
    checked_tools,
    token_list,
)
from .text_marks import reasoning_field_names
from .token_bridge import Bridge
from .turn_response import (
    CallTokens,
    ReadOutput,
    Responses,
    TrainingSample,
    TrajectoryStep,
    call_tokens,
    check_step,
)
from .turn_stops import TurnStops

Ids: TypeAlias = Sequence[int]
_SPOILING = (StringArguments.PASTED, StringArguments.ENCODED_TWICE, StringArguments.DROPPED)
"""Outcomes of arguments as JSON text that are wrong in the prompt, without an error."""


class Renderer:
    """Renders conversations to token ids with one template, and parses completions.

        renderer = Renderer(analysis, tokenizer)
        prompt = renderer.render([{"role": "user", "content": "Hi"}])
        renderer.parse_response(completion_ids, prompt.ids).message.content

    It has no per-model code: it uses the analysis and further renders.
    """

    def __init__(
        self,
        analysis: Analysis,
        tokenizer: Tokenizer | FastTokenizer,
        *,
        switches: Mapping[str, object] | None = None,
        thinking_retention: Literal["none", "tool_cycle", "all"] = "none",
        **choices: Unpack[ReadingChoices],
    ) -> None:
        """Make the renderer of an analyzed template.

        `tokenizer` is one of the tokenizers library, a fast one of transformers, or what
        `load_tokenizer` loads.
        `switches` are the template's variables, the same for all that is rendered.
        `thinking_retention` says which reasoning a bridge keeps although the template would drop
        it: none, that of the current tool cycle, or all. The `choices`, such as
        `forgive="exact"`, are the parser's for all outputs. Raises AutoparserError if the
        template reads a special token that the analysis had to put a stand-in for, and where one
        of these is not what it should be. A variable that the template never reads changes
        nothing, as in Jinja; a warning names it.
        """
        # The model never saw text with stand-ins, so neither ids nor a loss mask would be right.
        if analysis.stand_ins:
            names = ", ".join(analysis.stand_ins)
            raise AutoparserError(
                f"the template reads special tokens that are not known: {names}",
                file=analysis.template.origin,
                hint="put the template into its model's directory, with tokenizer_config.json; in"
                " Python: load_template(source, special_tokens={"
                + ", ".join(f'"{name}": "…"' for name in analysis.stand_ins)
                + "}), with an empty text for a token that the model does not have",
            )
        self.analysis = analysis
        self._made_of = partial(
            Renderer,
            analysis,
            tokenizer,
            switches=switches,
            thinking_retention=thinking_retention,
            **choices,
        )
        self.switches = checked_switches(switches)
        unread = analysis.unread(self.switches)
        for line in unread.values():
            warnings.warn(line, stacklevel=2)
        read_options(ParserFields, None, choices)
        self._text = tokenizer_of(tokenizer, segmenting=True).text
        given = analysis.string_arguments
        self._spoils_text = not analysis.shape.arguments_as_string and given in _SPOILING
        self._joints = Joints(analysis.formats.united)
        self._reasoning_fields = reasoning_field_names(analysis.shape)
        read = {name: value for name, value in self.switches.items() if name not in unread}
        self._responses = Responses(analysis, self._text, read, choices)
        self._bridge = Bridge(
            analysis,
            self._text,
            self._responses,
            self._joints,
            self.switches,
            checked_retention(thinking_retention),
        )

    def __reduce__(self) -> tuple[Callable[..., Renderer], tuple[object, ...]]:
        """Return the arguments, of which a copy is made anew."""
        return self._made_of, ()

    def __repr__(self) -> str:
        """Return which analysis it renders by, in one line."""
        return f"<{type(self).__name__} by {self.analysis!r}>"

    def render(
        self,
        messages: Sequence[object],
        tools: Sequence[object] | None = None,
        *,
        add_generation_prompt: bool = False,
        expand: Expand | None = None,
    ) -> RenderedTokens:
        """Return the ids of the conversation's prompt with the owner of each token.

        The text is that of `ChatTemplate.render`, or the text it would have if transformers'
        sandbox let the template change its lists (`Analysis.rendering`). `expand` returns the ids
        that replace those of the placeholder of an image, a video or a sound. Raises
        TemplateRenderError if the template refuses, RequestError for invalid messages or tools,
        and TokenizerError.
        """
        prepared = checked_messages(messages)
        if self._spoils_text and any(map(_has_text_arguments, prepared)):
            warnings.warn(
                "the template expects arguments as objects, and arguments as JSON text are"
                f" {self.analysis.string_arguments}: pass renderer.shaped(messages)",
                stacklevel=2,
            )
        try:
            found = self.attribute(messages, tools, add_generation_prompt=add_generation_prompt)
        except TemplateRenderError as error:
            if error.hint is None and self.shaped(messages) != prepared:
                renders, prompt = self._renders(tools), add_generation_prompt
                field = unrendered_field(
                    prepared, lambda messages: renders.text(messages, generation=prompt)
                )
                if field is not None or not error.refused:
                    words = "pass renderer.shaped(messages), the form that the template expects"
                    error.hint = words if field is None else f"{field}: {words}"
            raise
        tokens = self._text.encode(found.text)
        rendered = own_tokens(found, tokens)
        # Finding the parts costs two renders for each, so skip it for conversations of plain text.
        if not media_parts(prepared):
            return rendered
        spans = media_spans(
            self._renders(tools),
            prepared,
            found.text,
            self.analysis.content_parts_under(self.switches).media,
            generation=add_generation_prompt,
        )
        placed = media_tokens(spans, tokens)
        rendered = replace(rendered, media=placed)
        if expand is None:
            return rendered
        # Without this check, a part that the template drops would lose its ids without a word.
        check_placed(spans, placed)
        return expand_placeholders(rendered, expand)

    def shaped(self, messages: Sequence[object]) -> list[dict[str, Any]]:
        """Return OpenAI's messages in the shape that the template takes, as `serve` does.

            history.append(message.to_openai())
            renderer.render(renderer.shaped(history), tools)

        Arguments that are JSON text become objects where the template takes objects, null content
        an empty text, and reasoning gets the template's field. Other messages are unchanged.
        """
        shape, layouts = self.analysis.shape, self.analysis.format.layouts
        return [*map(dict, shaped_messages(checked_messages(messages), shape, layouts))]

    def _renders(self, tools: Sequence[object] | None) -> HistoryRenders:
        return HistoryRenders.of(self.analysis.rendering, checked_tools(tools), self.switches)

    def tokens(self, attributed: Attributed) -> tuple[RenderedTokens, tuple[str, ...]]:
        """Return the tokens of an attributed text, and the text of each.

        A character that several tokens share belongs to the first. Raises TokenizerError.
        """
        found = self._text.encode(attributed.text)
        return own_tokens(attributed, found), tuple(found.pieces(attributed.text))

    def attribute(
        self,
        messages: Sequence[object],
        tools: Sequence[object] | None = None,
        *,
        add_generation_prompt: bool = False,
    ) -> Attributed:
        """Return the conversation's text, attributed. Raises as `render` does."""
        return attribute_render(
            self._renders(tools),
            checked_messages(messages),
            self._joints,
            generation=add_generation_prompt,
            reasoning_fields=self._reasoning_fields,
        )

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without added tokens. Raises TokenizerError."""
        return self._text.encode(text).ids

    def decode(self, ids: Ids) -> str:
        """Return the text of ids, special tokens included. Raises TokenizerError."""
        self._text.check(ids, "ids")
        return self._text.decode(ids)

    def parse_response(
        self,
        token_ids: Ids,
        prompt_ids: Ids = (),
        *,
        tools: Sequence[object] | None = None,
        complete: bool = True,
    ) -> ParsedMessage:
        """Parse the completion of a prompt.

        `prompt_ids` is the prompt or its end, by default the template's default prompt. The text
        ends at the first stop token; an engine may have removed that, so its absence means nothing:
        pass `complete=False` for an output that was cut. Raises TokenizerError for ids that are not
        in the vocabulary, never because of the model's text.
        """
        return self._parse_output(token_ids, prompt_ids, tools, complete=complete).message

    def call_tokens(
        self,
        token_ids: Ids,
        prompt_ids: Ids = (),
        *,
        tools: Sequence[object] | None = None,
        complete: bool = True,
    ) -> tuple[CallTokens, ...]:
        """Return the tokens of each call in an output, and of each attempt that failed.

        The arguments are those of `parse_response`.
        """
        output = self._parse_output(token_ids, prompt_ids, tools, complete=complete)
        return call_tokens(
            output, token_list(token_ids), self._decoder_after(token_list(prompt_ids))
        )

    def _parse_output(
        self, ids: Ids, prompt: Ids, tools: Sequence[object] | None, *, complete: bool
    ) -> ReadOutput:
        read = self._responses.parse
        return read(token_list(ids), token_list(prompt), tools=tools, complete=complete)

    def training_sample(
        self, trajectory: Sequence[TrajectoryStep], tools: Sequence[object] | None = None
    ) -> TrainingSample:
        """Return the ids of a whole trajectory, the loss mask, and the places of calls.

        Raises RequestError if a prompt does not begin with the ids before it, as when the template
        rewrote the past, or if there are no steps; TokenizerError.
        """
        if not trajectory:
            raise RequestError("no steps", place="trajectory", hint="pass at least one")
        ids: list[int] = []
        mask: list[bool] = []
        calls: list[CallTokens] = []
        for at, step in enumerate(trajectory):
            prompt, written = token_list(step.prompt_ids), token_list(step.completion_ids)
            # A row is one token sequence, so it cannot contain ids that a template rewrote.
            check_step(at, prompt, ids)
            output = self._responses.parse(written, prompt, tools=tools, complete=step.complete)
            until = len(written) if output.stop is None else output.stop + 1
            calls += call_tokens(output, written, self._decoder_after(prompt), len(prompt))
            mask += [False] * (len(prompt) - len(ids)) + [True] * until
            # Ids that an engine sampled after the stop token belong to no turn, so no loss counts
            # them.
            mask += [False] * (len(written) - until)
            ids = [*prompt, *written]
        return TrainingSample(tuple(ids), tuple(mask), tuple(calls))

    def render_batch(
        self,
        conversations: Iterable[Sequence[object]],
        tools: Sequence[object] | None = None,
        *,
        add_generation_prompt: bool = False,
    ) -> list[RenderedTokens]:
        """Render many conversations with the same tools. Raises as `render` does."""
        prompt = add_generation_prompt
        return [
            self.render(conversation, tools, add_generation_prompt=prompt)
            for conversation in conversations
        ]

    def training_samples(
        self,
        trajectories: Iterable[Sequence[TrajectoryStep]],
        tools: Sequence[object] | None = None,
    ) -> list[TrainingSample]:
        """Return a sample of each of many trajectories. Raises as `training_sample` does."""
        return [self.training_sample(trajectory, tools) for trajectory in trajectories]

    def _decoder_after(self, prompt: Ids) -> Callable[[Ids], str]:
        return lambda ids: self._text.decode(ids, prompt)

    @property
    def stops(self) -> TurnStops:
        """The stops of an output after content and after calls, as texts and as ids.

        A stop with `inside` also occurs inside turns, such as between channels: an output does not
        end where it first occurs. `find_stop` finds where it ends.
        """
        return self._responses.stops

    def get_stop_token_ids(self) -> list[int]:
        """Return the ids that end an output wherever they occur, such as `[151645]`.

        For a stop of several tokens it is the last one. Stops that also occur inside turns are left
        out: see `stops` and `find_stop`.
        """
        return list(self.stops.ids)

    def find_stop(
        self, token_ids: Ids, prompt_ids: Ids = (), *, tools: Sequence[object] | None = None
    ) -> int | None:
        """Return the index of the token that ends an output, or None if none does yet.

        A stop that also occurs inside turns ends it only after content or a call; of a stop of
        several tokens, the last one counts. Raises TokenizerError for ids that are not in the
        vocabulary.
        """
        ids = token_list(token_ids)
        self._text.check(ids, "token_ids")
        return self._responses.stop(ids, token_list(prompt_ids), tools)

    def bridge_to_next_turn(
        self,
        prev_prompt_ids: Ids,
        prev_completion_ids: Ids,
        new_messages: Sequence[object],
        tools: Sequence[object] | None = None,
        *,
        force: bool = False,
    ) -> RenderedTokens | BridgeRefusal:
        """Return the next prompt: the previous ids, unchanged, and after them the new messages.

        A refusal is false in a condition and has the reason. With `force` the new messages are
        appended even if the template would rewrite the text before, and the notes report this. The
        message indices are those in `new_messages`. Raises TokenizerError for ids that are not in
        the vocabulary.
        """
        return self._bridge.to_next_turn(
            token_list(prev_prompt_ids),
            token_list(prev_completion_ids),
            new_messages,
            tools,
            force=force,
        )


def _has_text_arguments(message: Mapping[str, object]) -> bool:
    calls = message.get("tool_calls")
    called = map(tool_function, calls) if is_list(calls) else ()
    return any(call is not None and isinstance(call.get("arguments"), str) for call in called)


# A renderer for asyncio: the same work in a thread, one call at a time.
#
# A renderer caches its findings between calls, and templates and parsers run in Python, so two
# threads would not be faster than one; the benefit is that the event loop is not blocked.


_Result = TypeVar("_Result")
_Parameters = ParamSpec("_Parameters")


class AsyncRenderer:
    """Runs a renderer in threads, so that it does not block the event loop.

        prompt = await AsyncRenderer(renderer).render(messages)

    Its methods are those of `Renderer` of the same name, awaited, with `render_batch` and
    `training_samples` for many. They raise the same errors.
    """

    def __init__(self, renderer: Renderer) -> None:
        """Use a renderer, which no other code may use at the same time."""
        self._renderer = renderer
        self._free = asyncio.Lock()

    def __repr__(self) -> str:
        """Return the renderer that it runs, in one line."""
        return f"<{type(self).__name__} of {self._renderer!r}>"

    @staticmethod
    def _as_coroutine(
        work: Callable[Concatenate[Renderer, _Parameters], _Result],
    ) -> Callable[Concatenate[AsyncRenderer, _Parameters], Coroutine[Any, Any, _Result]]:
        """Return a coroutine that runs a method of `Renderer` in a thread."""

        async def awaited(
            self: AsyncRenderer, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs
        ) -> _Result:
            async with self._free:
                return await asyncio.to_thread(work, self._renderer, *args, **kwargs)

        update_wrapper(awaited, work)
        return awaited

    render = _as_coroutine(Renderer.render)
    render_batch = _as_coroutine(Renderer.render_batch)
    parse_response = _as_coroutine(Renderer.parse_response)
    call_tokens = _as_coroutine(Renderer.call_tokens)
    bridge_to_next_turn = _as_coroutine(Renderer.bridge_to_next_turn)
    training_sample = _as_coroutine(Renderer.training_sample)
    training_samples = _as_coroutine(Renderer.training_samples)
