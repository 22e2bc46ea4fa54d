"""Read texts by an engine's parsers, as requested on standard input.

    python -c PROGRAM sglang

One JSON object a line is read, and each is answered with one or more. `{}` names the engine, its
version, its parsers, and how many tokens of a stream come together. `{"load": {"template",
"special_tokens", "vocabulary", "tools", "texts", "seconds"}}` gives what is to be read, and is
answered with what the engine's `auto` would choose for the template, and with the texts that it
cannot be asked about, by their places. `{"tool", "reasoning", "texts", "tokens"}` has a pair of
parsers read some of the texts, that many tokens at a time, or all at once where it is 0, with one
line for each text as soon as it is read: what was read, or the error, and whether it came of a time
limit; one line is all if the parsers cannot be made. A text that takes more seconds of processor
time is given up; what hangs beyond Python's reach is for the caller to end.

For example, after `{"load": …}` with a first text of `Hi`:

    {"tool": null, "reasoning": null, "texts": [0], "tokens": 0}
    ->  {"read": {"reasoning": "", "content": "Hi", "calls": []}}

The tokens of the texts are those of a tokenizer that is made up here:

    LookedUpTokens(["<t>"]).encode("<t>Hello world!")
    ->  [1, 1000000, 1000001, 1000002], for `<t>`, `Hello`, ` world` and `!`
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module, metadata
from types import SimpleNamespace
from typing import Any

from .asked_engine import USER, AskedEngine, JoinedMessage, Reading, message
from .llama_reader import LlamaCpp

_WORD = re.compile(r"\s?\w{1,5}|\s+|[^\w\s]{1,3}")


class Vocabulary(dict[str, int]):
    """A vocabulary in which every marker that is looked up is one token."""

    def add(self, text: str) -> int:
        """Return the id of a text, a new one for a new text."""
        return self.setdefault(text, len(self) + 1)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the id of a text."""
        del default
        return self.add(key)

    def __getitem__(self, key: str) -> int:
        return self.add(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and bool(self.add(key))


class LookedUpTokens:
    """A tokenizer that has any token that a parser looks up, and cuts words small.

    A parser looks up the markers of its own format, and refuses a model whose tokenizer lacks them.
    Which of them the model has, its template does not say; so none is refused here.
    """

    bos_token = eos_token = pad_token = unk_token = "(the end)"  # noqa: S105 - no secret
    bos_token_id = eos_token_id = pad_token_id = unk_token_id = 0
    all_special_tokens: tuple[str, ...] = ()
    all_special_ids: tuple[int, ...] = ()
    is_fast = True
    name_or_path = ""

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        self.vocab = Vocabulary()
        for token in tokens:
            self.vocab.add(token)
        self._texts: dict[int, str] = {}
        self._ids: dict[str, int] = {}

    def get_vocab(self) -> dict[str, int]:
        """Return the vocabulary."""
        return self.vocab

    get_added_vocab = get_vocab

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Return the id of a token, or the ids of several."""
        if isinstance(tokens, str):
            return self.vocab.add(tokens)
        return [self.vocab.add(token) for token in tokens]

    def encode(self, text: str, *_: object, **__: object) -> list[int]:
        """Cut a text into tokens."""
        # The longest first, since an alternation takes the first that fits.
        markers = sorted((marker for marker in self.vocab if marker.strip()), key=len, reverse=True)
        if not markers:
            return [self._word(word) for word in _WORD.findall(text)]
        ids: list[int] = []
        cut = re.compile(f"({'|'.join(map(re.escape, markers))})")
        for at, part in enumerate(cut.split(text)):
            if at % 2:
                ids.append(self.vocab[part])
            else:
                ids += map(self._word, _WORD.findall(part))
        return ids

    def decode(self, token_ids: Any, *_: object, **__: object) -> str:
        """Return the text of tokens."""
        ids = [token_ids] if isinstance(token_ids, int) else token_ids
        markers = {number: marker for marker, number in self.vocab.items()}
        return "".join(self._texts.get(token_id) or markers.get(token_id, "") for token_id in ids)

    def _word(self, word: str) -> int:
        # Far from the numbers of the markers.
        number = self._ids.setdefault(word, 1_000_000 + len(self._ids))
        self._texts[number] = word
        return number


class KnownTokens:
    """The tokenizer that SGLang's `auto` inspects, as far as it is known."""

    def __init__(self, vocabulary: Sequence[str], template: str) -> None:
        self._vocabulary = {token: at for at, token in enumerate(vocabulary)}
        self.chat_template = template

    def get_vocab(self) -> dict[str, int]:
        """Return the tokens."""
        return self._vocabulary

    get_added_vocab = get_vocab


class Sglang(AskedEngine):
    """The engine."""

    name = "sglang"

    def __init__(self) -> None:
        parser = import_module("sglang.srt.function_call.function_call_parser")
        self.calling = parser.FunctionCallParser
        self.thinking = import_module("sglang.srt.parser.reasoning_parser").ReasoningParser
        self.protocol = import_module("sglang.srt.entrypoints.openai.protocol")
        self.tools: Sequence[Any] = ()
        self.markers: Sequence[str] = ()
        self._template: Any = None

    def parsers(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names that its command line accepts."""
        return list(self.calling.ToolCallParserEnum), list(self.thinking.DetectorMap)

    def load(self, loaded: Mapping[str, Any]) -> Reading | None:
        """Store the tools, and ask SGLang for the parsers that its `auto` chooses."""
        self.tools = [self.protocol.Tool.model_validate(tool) for tool in loaded["tools"]]
        # SGLang's parsers look up only some markers, and a model does not send a marker in pieces.
        self.markers = loaded["markers"]
        self._template = None
        try:
            detection = import_module("sglang.srt.parser.template_detection")
        except ImportError:
            # This import needs much more of the engine than its parsers do.
            return None
        template = loaded["template"]
        forced, config = detection.detect_reasoning_pattern(template)
        self._template = SimpleNamespace(force_reasoning=forced, reasoning_config=config)
        given = (template, KnownTokens(loaded["vocabulary"], template), config, forced)
        return {
            "tool": detection.detect_tool_call_parser(*given),
            "reasoning": detection.detect_reasoning_parser(*given),
        }

    def assumes_reasoning(self, reasoning: str, request: Any, detector: Any) -> bool | None:
        """Return whether SGLang assumes open reasoning, or None if it cannot be asked."""
        if self._template is None:
            return None
        with suppress(ImportError):
            serving = import_module("sglang.srt.entrypoints.openai.serving_chat").OpenAIServingChat
            server = SimpleNamespace(
                reasoning_parser=reasoning,
                template_manager=self._template,
                _reasoning_detector=detector,
            )
            asked: bool = serving._get_reasoning_from_request(server, request)  # noqa: SLF001
            return self._template.force_reasoning or asked
        return self._template.force_reasoning or None

    def reader(
        self, tool: str | None, reasoning: str | None
    ) -> Callable[[Mapping[str, Any], int], Reading]:
        """Return the reader of a pair of parsers."""
        return SglangPair(self, tool, reasoning).read


class SglangPair:
    """A reasoning parser and a tool parser, made for each answer, since they have a state."""

    def __init__(self, engine: Sglang, tool: str | None, reasoning: str | None) -> None:
        self._engine, self._tool, self._reasoning = engine, tool, reasoning
        self._tokenizer = LookedUpTokens(engine.markers)
        self._fresh_detector: Any = None
        if reasoning:
            self._fresh_detector = engine.thinking(reasoning, tokenizer=self._tokenizer).detector
        if tool:
            engine.calling(engine.tools, tool, tokenizer=self._tokenizer)

    def read(self, question: Mapping[str, Any], step: int) -> Reading:
        """Read a text, that many tokens at a time."""
        engine, tokenizer = self._engine, self._tokenizer
        tools: Sequence[Any] = engine.tools if question["tools"] else ()
        setting = dict(question["setting"])
        request = engine.protocol.ChatCompletionRequest(
            model="m", messages=[USER], tools=tools or None, chat_template_kwargs=setting
        )
        calls = thinks = None
        if self._tool and tools:
            calls = engine.calling(tools, self._tool, tokenizer=tokenizer, tool_choice="auto")
        if self._reasoning:
            thinks = engine.thinking(
                self._reasoning,
                bool(step),
                engine.assumes_reasoning(self._reasoning, request, self._fresh_detector),
                request,
                tokenizer=tokenizer,
                tool_call_parser_active=calls is not None,
            )
        text = question["text"]
        # A stop token that closes a call is left in the text, where its parser looks for it.
        if calls is not None and getattr(calls.detector, "eot_token", None) == question["end"]:
            text += question["end"]
        if not step:
            return read_whole(thinks, calls, text)
        ids = tokenizer.encode(text)
        deltas = [tokenizer.decode(ids[at : at + step]) for at in range(0, len(ids), step)]
        return read_streamed(thinks, calls, deltas)


def read_whole(thinks: Any, calls: Any, text: str) -> Reading:
    """Read a text by SGLang's parsers of reasoning and of calls; either may be None."""
    thought, content = ("", text) if thinks is None else thinks.parse_non_stream(text)
    found: list[Any] = []
    if calls is not None and calls.has_tool_call(content or ""):
        content, found = calls.parse_non_stream(content)
    return message(thought, content, [(call.name, call.parameters) for call in found])


def read_streamed(thinks: Any, calls: Any, deltas: Iterable[str]) -> Reading:
    """Read the deltas of a text as `read_whole` reads the text."""
    joined, called = JoinedMessage(), False
    for piece in (*deltas, ""):
        thought, rest = "", piece
        if thinks is not None:
            # The empty delta ends the stream.
            thought, rest = thinks.parse_stream_chunk(piece) if piece else thinks.parse_stream_end()
        joined.add(thought, "")
        for normal, items in _content_and_calls(calls, rest or "", ended=not piece):
            joined.add("", normal)
            for item in items:
                called = True
                joined.add_call(item.tool_index, item.name, item.parameters)
    if called:
        at, rest = _not_yet_sent(calls.detector)
        joined.add_call(at, "", rest)
    return joined.reading()


def _content_and_calls(calls: Any, text: str, *, ended: bool) -> list[tuple[str, Sequence[Any]]]:
    """Return content and calls of the text outside of reasoning."""
    if calls is None:
        return [(text, [])]
    found = [calls.parse_stream_chunk(text)] if text else []
    return [*found, calls.parse_stream_end()] if ended else found


def _not_yet_sent(detector: Any) -> tuple[int, str]:
    """Return the last call's unsent arguments, which SGLang sends at the end of a stream."""
    known: Sequence[Any] = getattr(detector, "prev_tool_call_arr", None) or ()
    sent: Sequence[str] = getattr(detector, "streamed_args_for_tool", None) or ()
    at = len(known) - 1
    if not 0 <= at < len(sent):
        return 0, ""
    arguments: Any = known[at].get("arguments", {})
    is_text = isinstance(arguments, str)
    whole: str = arguments if is_text else json.dumps(arguments, ensure_ascii=False)
    return at, whole[len(sent[at]) :] if whole.startswith(sent[at]) else ""


class Vllm(AskedEngine):
    """vLLM's parsers, put together by its own manager as its server does."""

    name = "vllm"

    def __init__(self) -> None:
        self._protocol = import_module("vllm.entrypoints.openai.chat_completion.protocol")
        self._manager = import_module("vllm.parser").ParserManager
        self._tools: Sequence[Any] = ()

    def parsers(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the registered names."""
        tools = import_module("vllm.tool_parsers").ToolParserManager
        reasoning = import_module("vllm.reasoning").ReasoningParserManager
        return tools.list_registered(), reasoning.list_registered()

    def load(self, loaded: Mapping[str, Any]) -> Reading | None:
        """Store the tools; vLLM has no `auto`."""
        self._tools = loaded["tools"]
        return None

    def reader(
        self, tool: str | None, reasoning: str | None
    ) -> Callable[[Mapping[str, Any], int], Reading]:
        """Return a reader that makes a parser for each answer, since parsers have a state."""
        tokenizer = LookedUpTokens()
        served = None
        if tool or reasoning:
            served = self._manager.get_parser(
                tool_parser_name=tool,
                reasoning_parser_name=reasoning,
                enable_auto_tools=True,
                tokenizer=tokenizer,
            )

        def read(question: Mapping[str, Any], step: int) -> Reading:
            text, setting = question["text"], dict(question["setting"])
            if served is None:
                return message(None, text, [])
            tools = list(self._tools) if question["tools"] else None
            request = self._protocol.ChatCompletionRequest(
                model="m", messages=[USER], tools=tools, chat_template_kwargs=setting
            )
            parser = served(tokenizer, request.tools, chat_template_kwargs=setting)
            request = parser.adjust_request(request) or request
            prompt = tokenizer.encode(question["prompt"])
            if step:
                return read_stream(parser, request, prompt, text, step)
            parser.set_prompt_token_ids(prompt)
            # Like a server: the id of the token that ended the answer is the last one.
            ids = [*tokenizer.encode(text), tokenizer.eos_token_id]
            thought, content, calls = parser.parse(text, request, True, ids)
            return message(thought, content, [(call.name, call.arguments) for call in calls or ()])

        def read_stream(parser: Any, request: Any, prompt: Any, text: str, step: int) -> Reading:
            ids = tokenizer.encode(text)
            deltas = [ids[at : at + step] for at in range(0, len(ids), step)]
            return joined_vllm_deltas(
                *(
                    parser.parse_delta(
                        tokenizer.decode(given), given, request, prompt, finished=False
                    )
                    for given in deltas
                ),
                parser.parse_delta("", [tokenizer.eos_token_id], request, prompt, finished=True),
            )

        return read


def joined_vllm_deltas(*deltas: Any) -> Reading:
    """Join vLLM's deltas to a message; None is an empty delta."""
    joined = JoinedMessage()
    for delta in filter(None, deltas):
        joined.add(delta.reasoning, delta.content)
        for call in delta.tool_calls or ():
            function = call.function
            joined.add_call(call.index, function and function.name, function and function.arguments)
    return joined.reading()


class TookTooLong(BaseException):
    """Raised if a text takes too long; not an Exception, since engines catch those."""


def _give_up(*_: object) -> None:
    raise TookTooLong


ENGINES: Mapping[str, Callable[[], AskedEngine]] = {
    "vllm": Vllm,
    "sglang": Sglang,
    "xllamacpp": LlamaCpp,
}


def pair_readings(
    engine: AskedEngine, loaded: Mapping[str, Any], request: Mapping[str, Any]
) -> Iterator[Reading]:
    """Yield the readings of a pair of parsers, one for each requested text."""
    read = engine.reader(request["tool"], request["reasoning"])
    for at in request["texts"]:
        given = partial(read, loaded["texts"][at], request["tokens"])
        yield read_limited(given, loaded["seconds"])


def read_limited(read: Callable[[], Reading], seconds: float) -> Reading:
    """Return the reading, or the error."""
    # Measure processor time, so that other processes cannot delay a text beyond its limit.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        return read()
    except TookTooLong:
        return {"error": f"it did not finish in {seconds:g} seconds", "late": True}
    except Exception as error:  # noqa: BLE001 - whatever an engine raises is its answer
        late = isinstance(error, TimeoutError)
        return {"error": f"{type(error).__name__}: {error}", "late": late}
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def version(name: str) -> str:
    """Return an engine's version, by its metadata or its module."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return str(getattr(import_module(name), "__version__", "of an unknown version"))


def main(name: str) -> None:
    """Answer requests until standard input ends."""
    logging.disable(logging.CRITICAL)
    # Keep everything that an engine prints, in Python or below it, away from the answers.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGVTALRM, _give_up)
    engine = ENGINES[name]()
    loaded: Mapping[str, Any] = {}

    def write(answer: Reading) -> None:
        output.write(json.dumps(answer) + "\n")
        output.flush()

    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            if "load" in request:
                loaded = request["load"]
                answer["auto"] = engine.load(loaded)
                answer["left_out"] = engine.left_out(loaded)
            elif "texts" in request:
                # Send answers one by one, so that they survive if a later text kills the process.
                for reading in pair_readings(engine, loaded, request):
                    write({"read": reading})
                continue
            else:
                tools, reasoning = engine.parsers()
                named = {"tools": [*tools], "reasoning": [*reasoning], "steps": [*engine.steps]}
                answer = {**named, "name": engine.name, "version": version(name)}
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is its answer
            answer["error"] = f"{type(error).__name__}: {error}"
        write(answer)


if __name__ == "__main__":
    main(sys.argv[1])
