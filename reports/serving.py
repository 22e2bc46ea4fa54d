"""Engine flags for rendering this template and reading its model's output.

The flags are those of `docs/engines`: vLLM and SGLang read answers by this package's plugin,
llama.cpp by a parser that it derives from the template itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.provenance import Provenance, SourceKind
from autoparser.analysis.core.server_engines import ParserFlags, ServerEngine
from autoparser.analysis.core.switches import SwitchEffect
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.formats.saved_format import SavedFormat

from .blocks import Blocks, Excerpt, Heading, Row, blank, code, heading, lead, rows, sentence
from .visible import shell_word, template_word, visible

_MODEL = "path/to/model"
_ABOUT = sentence(
    "vLLM and SGLang parse answers by this template if autoparser is installed in their"
    " environment; check it with ",
    code("autoparser plugins"),
    ". llama.cpp derives its own parser from the template; test it with ",
    code("autoparser probe"),
    ", or replace it by ",
    code("autoparser serve"),
    ".",
)


def serving_section(learned: LearnedFormat) -> Blocks:
    """List a command line for each engine and for `serve`, and how a request sets a switch.

    Templates implemented by Python code have no section: no engine renders them.
    """
    source = learned.template.source
    if source is not None and source.kind is SourceKind.ENCODER:
        return []
    drawn: Blocks = [Heading(Text("Serve it"), "serve"), *lead(_ABOUT)]
    for engine, *lines in _commands(learned, source):
        # Each line but the last goes on, so that the command can be pasted whole.
        breaks = [" \\"] * (len(lines) - 1) + [""]
        shown = [Text(f"{line}{end}") for line, end in zip(lines, breaks, strict=True)]
        words = f"The command for {engine}"
        drawn += [*heading(engine), Excerpt(tuple(shown), 2, broken=False, label=words)]
    notes = rows(_notes(learned))
    return [*drawn, *blank(), *notes] if notes else drawn


def _commands(learned: LearnedFormat, source: Provenance | None) -> Iterator[list[str]]:
    """Return the name of each engine and the lines of its command."""
    format_ = learned.formats.united
    kind, name = (None, "") if source is None else (source.kind, shell_word(source.id))
    model = name if kind in (SourceKind.DIRECTORY, SourceKind.HUB) else _MODEL
    # The engines' flag takes a template's file, not a tokenizer_config.json that holds one.
    file = name if kind is SourceKind.FILE and not name.endswith(".json") else ""
    gguf = name if kind is SourceKind.GGUF else "model.gguf"
    saved = ""
    if isinstance(learned, SavedFormat):
        # A plugin learns the template's format at start, unless this names a saved one.
        saved = f"AUTOPARSER_FORMAT={shell_word(learned.file)} "
    flags = ParserFlags()
    calls = f"{flags.tools} autoparser" if format_.calls is not None else ""
    reasoning = f"{flags.reasoning} autoparser" if format_.reasoning is not None else ""
    # vLLM parses no calls without this flag, whatever parser it has.
    auto = " --enable-auto-tool-choice" if calls else ""
    parsers = [f"  {' '.join(filter(None, (calls, reasoning)))}"] if calls or reasoning else []
    vllm, sglang = ServerEngine.VLLM.record, ServerEngine.SGLANG.record
    llama = ServerEngine.LLAMA_SERVER.record
    # A model's own template needs no flag, as from a directory or the Hub.
    own = [f"  {vllm.template_flag} {file}"] if file else []
    yield [vllm.title, f"{saved}vllm serve {model}{auto}", *parsers, *own]
    yield [sglang.title, f"{saved}sglang serve --model-path {model}", *parsers, *own]
    own = [f"  {llama.template_flag} {file}"] if file else []
    yield [llama.title, f"llama-server -m {gguf} {llama.jinja_flag}", *own]
    place = shell_word(learned.file) if isinstance(learned, SavedFormat) else name or "TEMPLATE"
    # Port 8000 is vLLM's default, so that this command fits the first one.
    server = f"  --server http://127.0.0.1:8000 --engine {ServerEngine.VLLM}"
    title = f"autoparser, in front of any of these, e.g. {vllm.title}"
    yield [title, f"autoparser serve {place}", server]


def _notes(learned: LearnedFormat) -> Iterator[Row]:
    setting = _setting(learned)
    if setting:
        # Without its braces: a member to add to a request.
        words = json.dumps({"chat_template_kwargs": setting}, ensure_ascii=False)[1:-1]
        yield "In a request", code(visible(words))
    if learned.lacks_calls:
        # A text that was given directly has no name to repeat.
        source = template_word(learned.template, "TEMPLATE")
        yield (
            "Tool calls",
            sentence(
                "The template renders none. If the model writes them all the same, learn how from"
                " examples with ",
                code(f"autoparser learn {source} --examples FILE -o model.format.json"),
                ", and name that file to the plugin as AUTOPARSER_FORMAT.",
            ),
        )


def _setting(learned: LearnedFormat) -> dict[str, Json]:
    """Return the first setting that changes how prompts end, or an empty one."""
    found = (
        {switch.name: value}
        for switch in learned.switches
        for value, effects in zip(switch.values, switch.effects, strict=True)
        # A value under which some conversations raise would be a bad example.
        if SwitchEffect.GENERATION_PROMPT in effects and SwitchEffect.RAISES not in effects
    )
    empty: dict[str, Json] = {}
    return next(found, empty)
