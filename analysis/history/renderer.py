"""The renderer of one template and one tokenizer: render, parse, stop, bridge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import update_wrapper
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

from tokenizers import Tokenizer

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.parsing.parsed_message import ParsedMessage
from autoparser.analysis.parsing.turn_request import RequestError
from autoparser.analysis.sources.tokenizer import FastTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of

from .history_renders import BridgeRefusal, HistoryRenders
from .media_tokens import (
    Expand,
    MediaSpan,
    check_placed,
    expand_placeholders,
    media_parts,
    media_spans,
    media_tokens,
)
from .message_attribution import Attributed, Joints, attribute_render
from .prompt_tokens import (
    RenderedTokens,
    TurnStops,
    ids_of,
    messages_of,
    own_tokens,
    retention_of,
    switches_of,
    tools_of,
)
from .text_marks import fields_of
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

Ids: TypeAlias = Sequence[int]


class Renderer:
    """Renders conversations to token ids and reads them back, as one template has it.

    Nothing in it is written for a template: what it needs to know comes from the analysis and
    from renders.
    """

    def __init__(
        self,
        analysis: Analysis,
        tokenizer: Tokenizer | FastTokenizer,
        *,
        switches: Mapping[str, object] | None = None,
        thinking_retention: Literal["none", "tool_cycle", "all"] = "none",
    ) -> None:
        """Make the renderer of an analyzed template.

        `tokenizer` is one of the tokenizers library, a fast one of transformers, or what
        `load_tokenizer` loads.
        `switches` are the template's variables, the same for all that is rendered.
        `thinking_retention` says which reasoning a bridge keeps although the template would drop
        it: none, that of the current tool cycle, or all. Raises AutoparserError if the
        template reads a special token that the analysis had to put a stand-in for, and where one
        of these is not what it should be. A variable that the template does not read changes
        nothing, as in Jinja.
        """
        if analysis.stand_ins:
            names = ", ".join(analysis.stand_ins)
            raise AutoparserError(
                f"the template reads {names}, which is not known",
                file=analysis.template.origin,
                hint="give it among the template's special tokens, an empty text if it is not set",
            )
        self.analysis = analysis
        self.switches = switches_of(switches)
        self._text = tokenizer_of(tokenizer, segmenting=True).text
        self._joints = Joints(analysis.formats.united)
        self._reasoning_fields = fields_of(analysis.shape)
        self._responses = Responses(analysis, self._text, self.switches)
        self._bridge = Bridge(
            analysis,
            self._text,
            self._responses,
            self._joints,
            self.switches,
            retention_of(thinking_retention),
        )

    def render(
        self,
        messages: Sequence[object],
        tools: Sequence[object] | None = None,
        *,
        add_generation_prompt: bool = False,
        expand: Expand | None = None,
    ) -> RenderedTokens:
        """Return the ids of the conversation's prompt, and whose each token is.

        The text is what `ChatTemplate.render` gives, or would give if transformers' sandbox let
        the template change its lists (`Analysis.rendering`). `expand` says which ids stand for an
        image, a video or a sound in the place of its placeholder's. Raises TemplateRenderError
        where the template refuses, RequestError for messages or tools that are none,
        TokenizerError.
        """
        found = self.attribute(messages, tools, add_generation_prompt=add_generation_prompt)
        rendered = self.tokens(found)[0]
        spans = self._media(messages, tools, found.text, generation=add_generation_prompt)
        if not spans:
            return rendered
        placed = media_tokens(spans, self._text.encode(found.text))
        rendered = replace(rendered, media=placed)
        if expand is None:
            return rendered
        check_placed(spans, placed)
        return expand_placeholders(rendered, expand)

    def _media(
        self,
        messages: Sequence[object],
        tools: Sequence[object] | None,
        text: str,
        *,
        generation: bool,
    ) -> Sequence[MediaSpan]:
        given = messages_of(messages)
        if not media_parts(given):
            return ()
        renders = HistoryRenders.of(self.analysis.rendering, tools_of(tools), self.switches)
        treatments = self.analysis.content_parts_under(self.switches).media
        return media_spans(renders, given, text, treatments, generation=generation)

    def tokens(self, attributed: Attributed) -> tuple[RenderedTokens, tuple[str, ...]]:
        """Return the tokens of an attributed text, and the text of each.

        Of tokens that share a character the first has it. Raises TokenizerError.
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
        """Return the conversation's text, and whose each character is. Raises as `render` does."""
        return attribute_render(
            HistoryRenders.of(self.analysis.rendering, tools_of(tools), self.switches),
            messages_of(messages),
            self._joints,
            generation=add_generation_prompt,
            reasoning_fields=self._reasoning_fields,
        )

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, nothing added. Raises TokenizerError."""
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
        """Read what a model wrote after a prompt.

        `prompt_ids` is the prompt or its end; without it the template's default prompt stands.
        The text ends at the first stop token; an engine may have taken that away, so its absence
        says nothing: `complete=False` says that the output was cut. Raises TokenizerError for
        ids that are not in the vocabulary, never for what a model wrote.
        """
        return self._read(token_ids, prompt_ids, tools, complete=complete).message

    def call_tokens(
        self,
        token_ids: Ids,
        prompt_ids: Ids = (),
        *,
        tools: Sequence[object] | None = None,
        complete: bool = True,
    ) -> tuple[CallTokens, ...]:
        """Return the tokens of each call in an output, and of each attempt that failed.

        What it takes is as in `parse_response`.
        """
        output = self._read(token_ids, prompt_ids, tools, complete=complete)
        return call_tokens(output, ids_of(token_ids), self._after(ids_of(prompt_ids)))

    def _read(
        self, ids: Ids, prompt: Ids, tools: Sequence[object] | None, *, complete: bool
    ) -> ReadOutput:
        read = self._responses.parse
        return read(ids_of(ids), ids_of(prompt), tools=tools, complete=complete)

    def training_sample(
        self, trajectory: Sequence[TrajectoryStep], tools: Sequence[object] | None = None
    ) -> TrainingSample:
        """Return the ids of a whole trajectory, what a loss counts of them, and where calls stand.

        Raises RequestError if a prompt does not begin with what stands before it, as where the
        template rewrote the past, or where there is no step; TokenizerError.
        """
        if not trajectory:
            raise RequestError("there is no step", place="trajectory", hint="give one at least")
        ids: list[int] = []
        mask: list[bool] = []
        calls: list[CallTokens] = []
        for at, step in enumerate(trajectory):
            prompt, written = ids_of(step.prompt_ids), ids_of(step.completion_ids)
            check_step(at, prompt, ids)
            output = self._responses.parse(written, prompt, tools=tools, complete=step.complete)
            until = len(written) if output.stop is None else output.stop + 1
            calls += call_tokens(output, written, self._after(prompt), len(prompt))
            mask += [False] * (len(prompt) - len(ids)) + [True] * until
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
        return [self.render(each, tools, add_generation_prompt=prompt) for each in conversations]

    def training_samples(
        self,
        trajectories: Iterable[Sequence[TrajectoryStep]],
        tools: Sequence[object] | None = None,
    ) -> list[TrainingSample]:
        """Return a sample of each of many trajectories. Raises as `training_sample` does."""
        return [self.training_sample(each, tools) for each in trajectories]

    def _after(self, prompt: Ids) -> Callable[[Ids], str]:
        return lambda ids: self._text.decode(ids, prompt)

    @property
    def stops(self) -> TurnStops:
        """What ends an output after content and after calls, as texts and as ids.

        A stop that `inside` is said of also stands inside turns, as between its channels: an
        output does not end where that is first seen. `find_stop` knows where it does.
        """
        return self._responses.stops

    def get_stop_token_ids(self) -> list[int]:
        """Return the ids at which an output ends wherever they stand.

        Of a stop of several tokens it is the last one. A stop that also stands inside turns is not
        here: see `stops` and `find_stop`.
        """
        return list(self.stops.ids)

    def find_stop(
        self,
        token_ids: Ids,
        prompt_ids: Ids = (),
        *,
        tools: Sequence[object] | None = None,
    ) -> int | None:
        """Return the place of the token that ends an output, or None if none does yet.

        What also stands inside turns ends it once content or a call is there. Raises
        TokenizerError for ids that are not in the vocabulary.
        """
        ids = ids_of(token_ids)
        self._text.check(ids, "token_ids")
        return self._responses.stop(ids, ids_of(prompt_ids), tools)

    def bridge_to_next_turn(
        self,
        prev_prompt_ids: Ids,
        prev_completion_ids: Ids,
        new_messages: Sequence[object],
        tools: Sequence[object] | None = None,
        *,
        force: bool = False,
    ) -> RenderedTokens | BridgeRefusal:
        """Return the next prompt: the previous ids, untouched, and after them what is new.

        A refusal is false in a condition, and says why. With `force` what is new is appended also
        where the template would rewrite what stands before, and the notes say what that is. The
        numbers of messages are those in `new_messages`. Raises TokenizerError for ids that are not
        in the vocabulary.
        """
        return self._bridge.to_next_turn(
            ids_of(prev_prompt_ids), ids_of(prev_completion_ids), new_messages, tools, force=force
        )


# A renderer for asyncio: the same work in a thread, one piece of it at a time.
#
# A renderer remembers what it has learnt between calls, and templates and parsers are Python, so
# two threads would gain nothing over one; what is gained is that the loop goes on meanwhile.


_Result = TypeVar("_Result")
_Given = ParamSpec("_Given")


class AsyncRenderer:
    """Does what a renderer does, without holding up the event loop. Raises what that raises.

    `render`, `parse_response`, `call_tokens`, `bridge_to_next_turn`, `training_sample`, and for
    many `render_batch` and `training_samples`, are those of `Renderer`, and are awaited.
    """

    def __init__(self, renderer: Renderer) -> None:
        """Use a renderer, which nobody else may use meanwhile."""
        self._renderer = renderer
        self._free = asyncio.Lock()

    @staticmethod
    def _awaited(
        work: Callable[Concatenate[Renderer, _Given], _Result],
    ) -> Callable[Concatenate[AsyncRenderer, _Given], Coroutine[Any, Any, _Result]]:
        """Make the coroutine that does in a thread what a method of `Renderer` does."""

        async def awaited(
            self: AsyncRenderer, /, *args: _Given.args, **kwargs: _Given.kwargs
        ) -> _Result:
            async with self._free:
                return await asyncio.to_thread(work, self._renderer, *args, **kwargs)

        update_wrapper(awaited, work)
        return awaited

    render = _awaited(Renderer.render)
    render_batch = _awaited(Renderer.render_batch)
    parse_response = _awaited(Renderer.parse_response)
    call_tokens = _awaited(Renderer.call_tokens)
    bridge_to_next_turn = _awaited(Renderer.bridge_to_next_turn)
    training_sample = _awaited(Renderer.training_sample)
    training_samples = _awaited(Renderer.training_samples)
