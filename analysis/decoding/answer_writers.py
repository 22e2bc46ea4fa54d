"""Get answers from a model of transformers, or from a server, under a request's grammar.

A server with OpenAI's `/v1/completions` constrains them with its own engine. Each engine has its
own request field for a grammar (vLLM 0.11: `structured_outputs`, SGLang 0.5: `ebnf`, llama.cpp's
server: `grammar`). Markers must come back as text, so requests ask to keep special tokens.

For example, the fields of one grammar for SGLang, and for vLLM:

    {"ebnf": "root ::= …", "skip_special_tokens": False}

    {"structured_outputs": {"grammar": "root ::= …"}, "add_special_tokens": False,
     "skip_special_tokens": False, "spaces_between_special_tokens": False}
"""

from __future__ import annotations

import http.client
import importlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, build_opener

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument
from autoparser.analysis.core.error_words import one_line
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.grammar.request_grammar import Grammar

from .answer_judge import DecodedAnswer, DecodingReport, DecodingTrial
from .constraints import ConstraintError, RefusedTokenError
from .mask_sampling import DeviceError, ModelSampler, choose_device, measure_walks
from .matcher_grammar import FreeGrammar, GrammarObject

if TYPE_CHECKING:
    from tokenizers import Tokenizer


WARM_UP = 2
"""Tokens written before the measured ones, since the first tokens load the device's kernels."""


class ModelError(AutoparserError):
    """A model cannot be loaded."""


@dataclass(frozen=True)
class LoadedModel:
    """A model on its device."""

    network: Any
    """A `PreTrainedModel`."""
    device: str
    """The device's own name if it has one, e.g. "cpu"."""

    @property
    def width(self) -> int:
        """The number of tokens that its logits cover."""
        # A multimodal model has a configuration for each modality.
        width: int = self.network.config.get_text_config().vocab_size
        return width


class ModelSpeed(JsonDocument, frozen=True):
    """The speed of a model's answers."""

    device: str
    """The device's name, e.g. `"cpu"`."""
    batch: Count
    """Answers written in one batch, e.g. `8`."""
    tokens_per_second: float
    """Of all answers of a batch together, under the mask, e.g. `31.7` for a tiny model on a CPU."""
    unmasked_tokens_per_second: float
    """The same without the mask; `0.0` if nothing was written."""


class ModelFigures(ModelSpeed, frozen=True):
    """The speed of a model's answers, and its answers without the mask."""

    unmasked: DecodingReport
    """The judgment on the answers written without the mask, e.g. 8 answers, none of them clean."""


def load_model(directory: Path, device: str) -> LoadedModel:
    """Load a model from its directory; nothing is downloaded.

    `device` is cpu, cuda, or auto. Raises DeviceError if torch, transformers or the device is
    missing, ModelError if there is no model.
    """
    chosen = choose_device(device)
    try:
        transformers: Any = importlib.import_module("transformers")
    except ImportError as error:
        raise DeviceError(
            "sampling from a model needs transformers, which is not installed",
            hint="install the extra: pip install '.[gpu]' in a checkout",
        ) from error
    if not (directory / "config.json").is_file():
        raise ModelError(
            "no model in this directory",
            file=str(directory),
            hint="name a directory with a config.json and the weights",
        )
    try:
        network = transformers.AutoModelForCausalLM.from_pretrained(
            # In the precision of the weights.
            str(directory),
            local_files_only=True,
            dtype="auto",
        )
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"cannot load the model: {error}", file=str(directory)) from error
    return LoadedModel(network.eval().to(chosen), _device_name(chosen))


def _device_name(device: Any) -> str:
    if device.type != "cuda":
        return str(device)
    torch: Any = importlib.import_module("torch")
    return str(torch.cuda.get_device_name(device))


@dataclass
class ModelWriter:
    """Writes a model's answers to one prompt, and measures the time."""

    trial: DecodingTrial
    """The request, and the judge of its answers, e.g. with `<Grammar of 'look'>`."""
    model: LoadedModel
    """The model that writes, e.g. on "cpu"."""
    prompt: str
    r"""The rendered prompt, with its generation prompt, e.g. `"…<|im_start|>assistant\n"`."""
    _: KW_ONLY
    batch: int
    """The number of answers that are written side by side, e.g. 8."""
    seed: int
    """The seed of the first batch, e.g. 0."""
    limit: int
    """Most tokens of an answer, e.g. 100."""
    masked: bool = True
    """Whether the grammar holds; else the model writes unconstrained, for the figures of
    `ModelFigures.unmasked`."""
    _tokens: int = field(default=0, init=False)
    """Tokens of the answers so far, e.g. 800."""
    _seconds: float = field(default=0.0, init=False)
    """The time in seconds that they took, e.g. 25.2."""

    def answers(self, count: int) -> Iterator[DecodedAnswer]:
        """Write `count` answers, a batch at a time; each batch has a seed of its own."""
        self._write_answers(1, self.seed, WARM_UP)
        for start in range(0, count, self.batch):
            size = min(self.batch, count - start)
            # Counted by answers, so that another batch size still gives each batch a new seed.
            answers, seconds = self._write_answers(size, self.seed + start, self.limit)
            self._tokens += sum(len(answer.tokens) for answer in answers)
            self._seconds += seconds
            for at, answer in enumerate(answers, start):
                yield replace(answer, name=f"answer {at}")

    @property
    def tokens_per_second(self) -> float:
        """Tokens of all answers of a batch together per second; 0 before any was written."""
        return self._tokens / self._seconds if self._seconds else 0.0

    def _write_answers(self, size: int, seed: int, limit: int) -> tuple[list[DecodedAnswer], float]:
        tokenizer = self.trial.tokenizer
        grammars: list[GrammarObject] = [
            self.trial.compiled.clone() if self.masked else FreeGrammar(tokenizer)
            for _ in range(size)
        ]
        # A model needs at least one token.
        prompt = tokenizer.encode(self.prompt) or [tokenizer.eos_id]
        sampler = ModelSampler(self.model.network, [prompt] * size, seed=seed, masked=self.masked)
        try:
            measured = measure_walks(grammars, tokenizer, sampler, limit)
        except (ConstraintError, RefusedTokenError) as error:
            return [DecodedAnswer("", "", broken=str(error))] * size, 0.0
        answers = [
            # Without the mask, no token is forced.
            DecodedAnswer("", walk.text, walk.tokens, walk.ended, walk.forced if self.masked else 0)
            for walk in measured.walks
        ]
        return answers, measured.seconds


PATH = "/v1/completions"
SHOWN = 200
"""Maximum number of characters shown of a server's own words."""


class ServerError(AutoparserError):
    """A server does not answer, or not as it should."""


def grammar_fields(
    engine: ServerEngine, grammar: Grammar, tokenizer: Tokenizer | None = None
) -> dict[str, Json]:
    """Return the request fields that constrain the answer to a grammar; raises as it is written.

    With the model's `tokenizer`, llama.cpp's grammar writes markers by their ids.
    """
    *outer, name = engine.record.grammar_field
    fields: dict[str, Json] = {name: grammar_text(engine, grammar, tokenizer)}
    # A path such as `structured_outputs.grammar` is nested from the inside out.
    for key in reversed(outer):
        fields = {key: fields}
    return fields | marker_fields(engine, grammar)


def grammar_form(engine: ServerEngine | None) -> Literal["gbnf", "ebnf"]:
    """Return the form of grammars that an engine compiles; GBNF without an engine."""
    return "gbnf" if engine is None else engine.record.grammar_form


def grammar_text(engine: ServerEngine | None, grammar: Grammar, tokenizer: Tokenizer | None) -> str:
    """Write a grammar in the engine's form; raises as `ebnf` and `gbnf` do."""
    return grammar.ebnf() if grammar_form(engine) == "ebnf" else grammar.gbnf(tokenizer)


def marker_fields(engine: ServerEngine, grammar: Grammar) -> dict[str, Json]:
    """Return the fields that take the prompt unchanged, and keep the markers in the answer."""
    fields = dict(engine.record.marker_fields)
    if engine.record.preserved_field:
        fields[engine.record.preserved_field] = list(grammar.preserved_tokens)
    return fields


@dataclass(frozen=True, slots=True)
class CompletionServer:
    """A completion server and the way to ask it."""

    url: str
    """With or without `/v1`."""
    engine: ServerEngine
    """The server's engine, e.g. `ServerEngine.VLLM`."""
    model: str = ""
    """The name of its model, e.g. "tiny"; empty if it serves only one and needs no name."""
    timeout: float = 120.0
    """Maximum wait in seconds for each response, e.g. 120."""

    def complete(self, body: Mapping[str, Json]) -> tuple[str, bool, int | None]:
        """Request one completion: its text, whether it ended by itself, and its tokens if reported.

        Raises ServerError.
        """
        named: dict[str, Json] = {"model": self.model} if self.model else {}
        request = Request(  # noqa: S310 - `address` lets no other scheme pass
            self.address,
            json.dumps({**named, **body}).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with build_opener().open(request, timeout=self.timeout) as response:
                content: bytes = response.read()
        except HTTPError as error:
            raise self._refusal_error(error) from error
        except TimeoutError as error:
            raise self._silent() from error
        except (URLError, OSError, http.client.HTTPException) as error:
            # urllib wraps the timeout of a connection, but not of a read.
            reason: object = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise self._silent() from error
            raise ServerError(
                f"cannot be reached: {reason}",
                file=self.url,
                hint="start the server, or correct --server",
            ) from error
        return self._read_completion(content)

    def check(self) -> None:
        """Raise ServerError for an invalid address."""
        _ = self.address

    @property
    def address(self) -> str:
        """The URL of completions. Raises ServerError for an invalid address."""
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise ServerError(
                "not the address of a server", file=self.url, hint="give http://HOST:PORT"
            )
        return f"{self.url.rstrip('/').removesuffix('/v1')}{PATH}"

    def _silent(self) -> ServerError:
        return ServerError(
            f"does not answer within {self.timeout:g} seconds",
            file=self.url,
            hint="check whether it hangs, or raise --server-timeout",
        )

    def _refusal_error(self, error: HTTPError) -> ServerError:
        try:
            error_text = error.read().decode(errors="replace")
        except OSError:
            error_text = ""
        return ServerError(
            f"responded with {error.code} {error.reason}: {one_line(error_text, SHOWN)}",
            file=self.url,
            hint=f"check that it is {self.engine}, and --served-model",
        )

    def _read_completion(self, content: bytes) -> tuple[str, bool, int | None]:
        usage: object = None
        try:
            answer: Any = json.loads(content)
            choice = answer["choices"][0]
            text, reason = choice["text"], choice.get("finish_reason")
            counts = answer.get("usage")
            # Not every server counts tokens, and an answer without counts is as good.
            usage = counts.get("completion_tokens") if counts else None
        except (ValueError, LookupError, TypeError, AttributeError):
            text = reason = None
        if not isinstance(text, str):
            content_text = one_line(content.decode(errors="replace"), SHOWN)
            raise ServerError(
                f"no completion in the response: {content_text}",
                file=self.url,
                hint=f"{PATH} must return choices with their text",
            )
        # Servers name a normal end differently, but a reached limit is always `length`.
        return text, reason != "length", usage if isinstance(usage, int) else None


def server_answers(
    trial: DecodingTrial,
    server: CompletionServer,
    prompt: str,
    *,
    count: int,
    seed: int,
    limit: int,
) -> Iterator[DecodedAnswer]:
    """Ask a server for answers to one prompt, one at a time. Raises ServerError.

    They are text, which does not distinguish a marker from text that looks like one: the trial's
    tokenizer has to be one of bytes alone.
    """
    fields = grammar_fields(server.engine, trial.grammar)
    for number in range(seed, seed + count):
        text, ended, usage = server.complete(
            # Sampled, so that answers differ by their seed.
            {"prompt": prompt, "max_tokens": limit, "seed": number, "temperature": 1.0, **fields}
        )
        # The server's own tokens are unknown, so the text is checked byte by byte.
        tokens = tuple(trial.tokenizer.encode(text))
        yield DecodedAnswer(f"answer {number}", text, tokens, ended, served=True, usage=usage)
