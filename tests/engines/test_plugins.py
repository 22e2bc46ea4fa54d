"""The plugins in their engines' own code, offline: skipped where an engine is not installed.

The package has to be installed beside the engine, so that its entry points are found.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from tests.analysis.engines.served_model import (
    NAMES,
    TOOLS,
    USER,
    answers,
    tokenizer_for,
    values,
)

pytestmark = [pytest.mark.slow, pytest.mark.engine, pytest.mark.filterwarnings("ignore")]


def transformers_tokenizer(name: str) -> Any:
    fast: Any = import_module("transformers").PreTrainedTokenizerFast
    held = tokenizer_for(name)
    tokenizer = fast(tokenizer_object=held.backend_tokenizer, eos_token="<|im_end|>")
    tokenizer.chat_template = held.chat_template
    return tokenizer


@pytest.mark.parametrize("name", NAMES)
def test_vllm_gives_what_the_template_wrote(name: str) -> None:
    pytest.importorskip("vllm")
    import_module("vllm.plugins").load_general_plugins()
    manager: Any = import_module("vllm.parser").ParserManager
    protocol: Any = import_module("vllm.entrypoints.openai.chat_completion.protocol")
    tokenizer = transformers_tokenizer(name)
    made = manager.get_parser(
        tool_parser_name="autoparser",
        reasoning_parser_name="autoparser",
        enable_auto_tools=True,
        tokenizer=tokenizer,
    )
    request = protocol.ChatCompletionRequest(model="m", messages=[USER], tools=TOOLS)
    for answer in answers(name):
        prompt = tokenizer.encode(answer.prompt, add_special_tokens=False)
        ids = tokenizer.encode(answer.text, add_special_tokens=False)
        parser = made(tokenizer, request.tools, chat_template_kwargs={})
        parser.set_prompt_token_ids(prompt)
        _, content, calls = parser.parse(answer.text, request, True, ids)
        assert content == answer.content
        assert [(call.name, values(call.arguments)) for call in calls] == answer.calls
        parser = made(tokenizer, request.tools, chat_template_kwargs={})
        content, arguments = "", dict[int, str]()
        for at, id_ in enumerate(ids):
            delta = parser.parse_delta(
                tokenizer.decode([id_]), [id_], request, prompt, finished=at == len(ids) - 1
            )
            content += (delta and delta.content) or ""
            for each in delta.tool_calls if delta else ():
                text = arguments.get(each.index, "")
                arguments[each.index] = text + (each.function.arguments or "")
        assert content == (answer.content or "")
        assert [values(text) for text in arguments.values()] == [call[1] for call in answer.calls]
    forced = protocol.ChatCompletionRequest(
        model="m", messages=[USER], tools=TOOLS, tool_choice="required"
    )
    held = made(tokenizer, forced.tools, chat_template_kwargs={}).adjust_request(forced)
    tag: Any = import_module("xgrammar").StructuralTag
    assert tag.model_validate_json(held.structured_outputs.structural_tag)


@pytest.mark.parametrize("name", NAMES)
def test_sglang_gives_what_the_template_wrote(name: str) -> None:
    pytest.importorskip("sglang")
    import_module("sglang.srt.plugins").load_plugins()
    calling: Any = import_module("sglang.srt.function_call.function_call_parser").FunctionCallParser
    thinking: Any = import_module("sglang.srt.parser.reasoning_parser").ReasoningParser
    protocol: Any = import_module("sglang.srt.entrypoints.openai.protocol")
    tools = [protocol.Tool(**tool) for tool in TOOLS]
    tokenizer = transformers_tokenizer(name)
    for answer in answers(name):
        thoughts = thinking("autoparser", tokenizer=tokenizer)
        _, rest = thoughts.parse_non_stream(answer.text)
        content, calls = calling(tools, "autoparser", tokenizer=tokenizer).parse_non_stream(rest)
        if answer.calls:
            # Without a call, SGLang gives the text as it came.
            assert content == (answer.content or "")
        assert [(call.name, values(call.parameters)) for call in calls] == answer.calls
        thoughts = thinking("autoparser", tokenizer=tokenizer)
        parser = calling(tools, "autoparser", tokenizer=tokenizer)
        content, arguments = "", dict[int, str]()
        rests = [thoughts.parse_stream_chunk(piece)[1] for piece in answer.text]
        rests.append(thoughts.parse_stream_end()[1])
        given = [*(parser.parse_stream_chunk(rest) for rest in rests), parser.parse_stream_end()]
        for text, found in given:
            content += text
            for each in found:
                arguments[each.tool_index] = arguments.get(each.tool_index, "") + each.parameters
        assert content == (answer.content or "")
        assert [values(text) for text in arguments.values()] == [call[1] for call in answer.calls]
    kind, tag = calling(tools, "autoparser", tokenizer=tokenizer).get_structure_constraint(
        "required"
    )
    assert kind == "structural_tag"
    assert tag.model_dump()["type"] == "structural_tag"
