"""What a model's own files say its outputs mean: a `response_template`, or a `response_schema`.

Contract: it only suggests. What is learnt of such messages counts as far as the format that they
give writes the outputs back; and where somebody has said what an output means, that counts, and
what reads it otherwise is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autoparser.analysis.core.conversation import Json, Message, Tool
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.value_kind import is_mapping
from autoparser.analysis.describing.export import Parse, TemplateDialect, transformers_parser
from autoparser.analysis.inference.examples import Example, ExampleError, given_examples
from autoparser.analysis.inference.outputs import LoggedOutput
from autoparser.analysis.learnt import LearntFrom
from autoparser.analysis.loading.sources.files import read_json_object
from autoparser.analysis.response_schema import read_by_schema
from autoparser.analysis.taught_analysis import tools_called

__all__ = ["SuggestedReader", "suggested_reader"]

CONFIGURATION = "tokenizer_config.json"
TEMPLATE, SCHEMA = "response_template", "response_schema"
"""By the first transformers reads, where it is installed; the second is its older name."""


@dataclass(frozen=True, slots=True)
class SuggestedReader:
    """Reads outputs as a model's own files say."""

    file: str
    """Where the document stands."""
    key: str
    """What it is called there."""
    document: Mapping[str, Any]
    parse: Parse
    prompt: str
    """The default prompt, by which a document may find where the answer begins."""

    def labelled(
        self, outputs: Sequence[LoggedOutput], tools: Sequence[Tool] = ()
    ) -> tuple[Example, ...]:
        """Return what outputs mean; those that it cannot read are left out.

        A document that says nothing of types reads arguments by the schemas of `tools`, and as
        texts without them.
        """
        offered: list[Json] = [{"type": "function", "function": tool} for tool in tools]
        logged = (Example(each.text, Message(), each.prompt, each.place) for each in outputs)
        return tuple(example for each in logged for example in self._read(each, offered))

    def contradicted(self, examples: Sequence[Example]) -> tuple[Example, ...]:
        """Return the examples that it reads as something else than they mean, or not at all."""
        return tuple(
            each
            for each in examples
            if [*map(_said, self._read(each, tools_called([each.message]) or ()))] != [_said(each)]
        )

    def _read(self, example: Example, tools: Sequence[Json]) -> Iterator[Example]:
        text, prefix = example.output, example.prompt or self.prompt
        try:
            found = self.parse(text, self.document, prefix=prefix, tools=tools)
            reasoning = (found.get(each.reasoning) for each in TemplateDialect)
            message = {
                "content": found.get("content"),
                "reasoning": next(filter(None, reasoning), None),
                "tool_calls": found.get("tool_calls"),
            }
            (read,) = given_examples([{"output": text, "message": message}], self.file)
        except (ExampleError, ValueError, KeyError, TypeError, AttributeError, re.error):
            # The reader's errors, and what is none of a chat's messages.
            return
        yield replace(example, message=read.message)


def suggested_reader(template: LearntFrom, prompt: str) -> SuggestedReader | None:
    """Return what reads by the `response_template` beside a template, or its `response_schema`.

    None where there is neither, or a template alone and no transformers to read by it.
    """
    source = None if template.source is None else Path(template.source.id)
    if source is None or not source.exists():
        return None
    file = (source if source.is_dir() else source.parent) / CONFIGURATION
    try:
        held: Mapping[str, object] = read_json_object(file) if file.is_file() else {}
    except AutoparserError:
        # Whoever reads the special tokens of it says so.
        return None
    readers = ((TEMPLATE, transformers_parser()), (SCHEMA, _parse_by_schema))
    for key, parse in readers:
        document = held.get(key)
        if is_mapping(document) and parse is not None:
            return SuggestedReader(str(file), key, document, parse, prompt)
    return None


def _parse_by_schema(
    text: str, response_template: Mapping[str, Json], *, prefix: str, tools: Sequence[Json]
) -> Mapping[str, Any]:
    """Read an output alone; such a schema knows neither the prompt nor the tools."""
    del prefix, tools
    read = read_by_schema(text, response_template)
    if not is_mapping(read):
        raise ValueError(f"not a message: {read!r}")
    return read


def _said(example: Example) -> tuple[object, ...]:
    message = example.message
    calls = [(call.name, dict(call.arguments)) for call in message.calls]
    return message.content.strip(), message.reasoning.strip(), calls
