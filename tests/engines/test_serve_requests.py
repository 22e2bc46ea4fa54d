"""Effects of chat parameters on the template, the backend and the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest import mock

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.engines.chat_preparer import ChatPreparer
from autoparser.analysis.engines.chat_request import ChatError, ChatRequest, chat_request
from autoparser.analysis.engines.output_watch import OutputWatch
from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.grammar.gbnf_writer import write_gbnf
from tests.analysis.tiny import CONTENT, calls, turn
from tests.case_tables import case_tables, load_cases
from tests.fixture_analyses import analyzed

from .asked_serve import BODY, TEMPLATE, answered, chunks, spelling, whole, writing

pytestmark = pytest.mark.engine

table = case_tables(__file__, "serve_requests.yaml")
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("look", "book")
]
ALLOWED = {"mode": "required", "tools": [{"type": "function", "function": {"name": "book"}}]}


def asked_of(
    fields: dict[str, Any], engine: str = "llama-server", template: str = TEMPLATE
) -> dict[str, Any]:
    """Return the backend's requests for a chat with these fields."""
    asked: list[dict[str, Any]] = []
    kind = ServerEngine(engine)
    answered(whole, {**BODY, **fields}, asked=asked, engine=kind, template=template)
    return asked[0]


@table("sent")
def test_parameter_reaches_the_backend_by_its_name(case: dict[str, Any]) -> None:
    found, without = asked_of(case["fields"], case["engine"]), asked_of({}, case["engine"])
    told = {name: value for name, value in found.items() if without.get(name) != value}
    assert told == case["sent"]


@table("efforts")
def test_reasoning_effort_sets_the_matching_switch(case: dict[str, str]) -> None:
    fields = {"reasoning_effort": case["effort"]}
    assert case["written"] in asked_of(fields, template=case["template"])["prompt"]
    assert case["written"] not in asked_of({}, template=case["template"])["prompt"]


def test_grammar_is_written_once_for_chats_with_the_same_tools() -> None:
    name = "autoparser.analysis.grammar.request_grammar.write_gbnf"
    counted = mock.patch(name, wraps=write_gbnf)
    bodies = [
        {**BODY, "messages": [{"role": "user", "content": text}], "tools": tools}
        for tools in (TOOLS, TOOLS[:1])
        for text in ("A", "B", "C")
    ]
    with counted as written:
        answers = answered(whole, *bodies)
    assert {answer.status_code for answer in answers} == {200}
    assert written.call_count == 2


def test_null_field_equals_a_missing_field() -> None:
    nulls: dict[str, Any] = dict.fromkeys({*ChatRequest.__struct_fields__} - {"messages"})
    function: Any = TOOLS[0]["function"]
    tool = {"type": "function", "function": {**function, "description": None, "strict": None}}
    user = {**BODY["messages"][0], "name": None}
    fields = {
        "messages": [user],
        "tools": [tool],
        "tool_choice": None,
        "stream_options": {"include_usage": None},
        "response_format": {"type": "text", "json_schema": None},
    }
    assert asked_of(nulls) == asked_of({})
    assert asked_of({**nulls, **fields}) == asked_of({"tools": TOOLS[:1]})


def test_schema_errors_and_foreign_calls_are_counted() -> None:
    city = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "look", "parameters": city}}]
    call = '<tool_call>\n{"name": "look", "arguments": {"city": 5}}\n</tool_call>'
    asked = {**BODY, "tools": tools}
    for text, name in ((call, "schema_errors"), ("```\nlook(city=5)\n```", "foreign")):
        with mock.patch.object(
            OutputWatch, "note", autospec=True, side_effect=OutputWatch.note
        ) as noted:
            answered(spelling(text), asked, {**asked, "stream": True})
        watch = noted.call_args.args[0]
        assert getattr(watch, name) == 2


def test_reasoning_effort_without_a_switch_is_ignored_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fields = {"reasoning_effort": "high"}
    assert asked_of(fields)["prompt"] == asked_of({})["prompt"]
    assert "ignored unsupported fields of a request: reasoning_effort" in caplog.text


def test_message_dropped_by_the_template_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    text = (
        "{% for m in messages if m.role != 'system' %}[{{ m.role }}]{{ m.content }}\n{% endfor %}"
    )
    preparer = ChatPreparer(analyze(text + "{% if add_generation_prompt %}[assistant]{% endif %}"))
    rule = {"role": "system", "content": "Be brief."}
    messages = [rule, {"role": "user", "content": "Hello."}]
    for _ in range(2):
        assert preparer.prepare(chat_request({"messages": messages})).prompt.count("[") == 2
    assert caplog.text.count("drops a message of the role 'system' (messages[0])") == 1


def test_unknown_switch_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    preparer = ChatPreparer(analyzed("j1-json-in-tags"))
    body = {**BODY, "chat_template_kwargs": {"enable_thinkng": False}}
    prompts = {preparer.prepare(chat_request(asked)).prompt for asked in (body, body, BODY)}
    assert len(prompts) == 1
    assert caplog.text.count("'enable_thinkng'; did you mean enable_thinking?") == 1


def test_image_dropped_by_the_template_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    begin = """
        {%- for message in messages %}[{{ message.role }}]
            {%- if message.content is string %}{{ message.content }}
            {%- else %}{% for part in message.content %}{{ part.text }}"""
    end = "{% endfor %}{% endif %}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
    image = {"type": "image_url", "image_url": {"url": "data:,x"}}
    messages = [{"role": "user", "content": [image, {"type": "text", "text": "Hello."}]}]
    for shown, lines in (("{{ '<image>' if part.type == 'image_url' }}", 0), ("", 1)):
        preparer = ChatPreparer(analyze(begin + shown + end))
        for _ in range(2):
            prompt = preparer.prepare(chat_request({"messages": messages})).prompt
            assert prompt.count("Hello.") == 1
        assert caplog.text.count("drops content of the type 'image' (messages[0])") == lines


@table("images")
def test_image_that_the_template_cannot_render_is_refused_with_its_place(
    written: str, words: str
) -> None:
    preparer = ChatPreparer(
        analyze(
            f"{{% for m in messages %}}[{{{{ m.role }}}}]{written}{{% endfor %}}"
            "{% if add_generation_prompt %}[assistant]{% endif %}"
        )
    )
    text, image = {"type": "text", "text": "Hello."}, {"type": "image_url", "image_url": {}}
    texts = chat_request({"messages": [{"role": "user", "content": [text, text]}]})
    assert preparer.prepare(texts).prompt == "[user]Hello.\nHello.[assistant]"
    messages = [*BODY["messages"], {"role": "user", "content": [text, image]}]
    with pytest.raises(ChatError, match="cannot render content of the type 'image'") as raised:
        preparer.prepare(chat_request({"messages": messages}))
    assert words in str(raised.value)
    assert raised.value.place == "messages[1].content[1]"


def test_null_content_that_the_template_cannot_render_is_named() -> None:
    preparer = ChatPreparer(
        analyze(
            "{% for m in messages %}[{{ m.role }}]{{ m.content + '' }}{% endfor %}"
            "{% if add_generation_prompt %}[assistant]{% endif %}"
        )
    )
    messages = [*BODY["messages"], {"role": "user", "content": None}, *BODY["messages"]]
    with pytest.raises(ChatError, match=r"messages\[1\]\.content is null or missing") as raised:
        preparer.prepare(chat_request({"messages": messages}))
    assert (raised.value.place, raised.value.hint) == ("messages[1].content", "send an empty text")


CUT = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"city": "Zür'}}


def test_truncated_arguments_are_rendered_or_refused_with_their_place() -> None:
    messages = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": None, "tool_calls": [CUT]},
        {"role": "user", "content": "Go on."},
    ]
    request = chat_request({"messages": messages})
    pasted = "{{ f.arguments if f.arguments is string else f.arguments|tojson }}"
    preparer = ChatPreparer(analyze(turn("{{ m.content + '' }}", calls(f"<{pasted}>"))))
    assert 'A:<{"city": "Zür>' in preparer.prepare(request).prompt
    listed = "{% for key, value in f.arguments.items() %}{{ key }}={{ value }};{% endfor %}"
    with pytest.raises(ChatError) as raised:
        ChatPreparer(analyze(turn(CONTENT, calls(f"<{{{{ f.name }}}} {listed}>")))).prepare(request)
    assert raised.value.place == "messages[1].tool_calls[0].function.arguments"


def test_prompt_that_no_grammar_continues_is_an_error() -> None:
    begun = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": '<tool_call>\n{"name": "get_weather"'},
    ]
    body = {"messages": begun, "continue_final_message": True, "tools": TOOLS}
    request = chat_request({**body, "tool_choice": "required"})
    with pytest.raises(ChatError) as raised:
        ChatPreparer(analyzed("j1-json-in-tags")).prepare(request)
    assert raised.value.place == "messages"


def test_growing_chat_renders_each_request_at_most_twice() -> None:
    # The prompt does not contain a result as it was sent, so each result may have been dropped.
    text = """
        {%- for message in messages %}[{{ message.role }}]
            {%- if message.role == 'tool' %}{{ message.content | tojson }}
            {%- else %}{{ message.content }}{% endif %}
        {%- endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"""
    preparer = ChatPreparer(analyze(text))
    messages = [{"role": "user", "content": "Hello."}]
    render = mock.patch.object(
        ChatTemplate, "render", autospec=True, side_effect=ChatTemplate.render
    )
    renders: list[int] = []
    with render as rendered:
        for turn in range(17):
            if turn < 8:
                results = [{"role": "tool", "content": f'"{turn}" of {at}'} for at in range(2)]
                messages += [{"role": "assistant", "content": "Let me see."}, *results]
            rendered.reset_mock()
            preparer.prepare(chat_request({"messages": messages}))
            renders.append(rendered.call_count)
    assert renders == [2] * 16 + [1]


def test_last_message_is_continued() -> None:
    begun = [*BODY["messages"], {"role": "assistant", "content": "It is "}]
    asked: list[dict[str, Any]] = []
    fields = {"messages": begun, "continue_final_message": True}
    (answer,) = answered(whole, {**BODY, **fields}, asked=asked)
    assert asked[0]["prompt"].endswith("assistant\nIt is ")
    assert answer.json()["choices"][0]["message"]["content"] == "Hi"


@table("continued_answers")
def test_final_answer_of_anthropics_messages_is_continued_if_it_is_text(
    content: object, end: str
) -> None:
    asked: list[dict[str, Any]] = []
    messages = [*BODY["messages"], {"role": "assistant", "content": content}]
    body = {"messages": messages, "max_tokens": 9}
    (answer,) = answered(whole, body, asked=asked, path="/v1/messages")
    assert asked[0]["prompt"].endswith(end)
    assert answer.json()["content"] == [{"type": "text", "text": "Hi"}]


_REFUSING = """
        {%- if message.content and message.reasoning_content and message.tool_calls %}
            {{- raise_exception('Content or reasoning, not both!') }}
        {%- endif %}"""


def test_content_is_dropped_if_the_template_refuses_it_beside_calls(
    caplog: pytest.LogCaptureFixture,
) -> None:
    template = analyzed(TEMPLATE).template
    start = "{{- '<|im_start|>assistant\\n' }}"
    text = template.text.replace(start, f"{_REFUSING}{start}", 1)
    preparer = ChatPreparer(analyze(replace(template, text=text)))
    call = {
        "function": {"name": "look", "arguments": '{"at": "Oslo"}'},
        "id": "a",
        "type": "function",
    }
    answer = {"role": "assistant", "content": "Let me see.", "reasoning": "Hm."}
    result = {"role": "tool", "tool_call_id": "a", "content": "Rain."}
    messages = [*BODY["messages"], {**answer, "tool_calls": [call]}, result, answer]
    prompt = preparer.prepare(chat_request({"messages": messages, "tools": TOOLS})).prompt
    # Next to calls alone, reasoning takes the content's place; without calls both are rendered.
    assert "Hm.\n</think>\n\n<tool_call>" in prompt
    assert "Hm.\n</think>\n\nLet me see.<|im_end|>" in prompt
    assert "without their content" in caplog.text
    assert "Content or reasoning, not both!" in caplog.text


def test_disallowed_tools_are_in_the_prompt_but_not_in_the_grammar() -> None:
    for choice in ({"allowed_tools": ALLOWED}, ALLOWED):
        found = asked_of({"tools": TOOLS, "tool_choice": {"type": "allowed_tools", **choice}})
        assert "look" in found["prompt"]
        assert "book" in found["grammar"]
        assert "look" not in found["grammar"]
    none = {"type": "allowed_tools", "mode": "auto", "tools": []}
    assert "grammar" not in asked_of({"tools": TOOLS, "tool_choice": none})


def test_grammar_that_cannot_be_written_is_named_once_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # The prompt ends inside a call, which no grammar continues, but the model may be left free.
    answer = {"role": "assistant", "content": "<tool_call>\n{"}
    messages = [*BODY["messages"], answer]
    fields = {"messages": messages, "tools": TOOLS, "continue_final_message": True}
    assert [("grammar" in asked_of(fields)) for _ in range(2)] == [False, False]
    lines = [line for line in caplog.messages if "not constrained by a grammar" in line]
    assert len(lines) == 1
    assert "the prompt" in lines[0]


LIKELY = load_cases(__file__, "serve_requests.yaml")["likely"]
likely = writing(
    {"content": "Hi", "tokens": [1], "completion_probabilities": [LIKELY]},
    {"content": "", "stop": True, "tokens_predicted": 1, "tokens_evaluated": 7},
)


def test_logprobs_have_openai_form_whole_and_streamed() -> None:
    asked = {**BODY, "logprobs": True, "top_logprobs": 2}
    answer, stream, alone = answered(
        likely, asked, {**asked, "stream": True}, {**BODY, "logprobs": True}
    )
    (found,) = answer.json()["choices"][0]["logprobs"]["content"]
    assert (found["token"], found["logprob"], found["bytes"]) == ("Hi", -0.5, [72, 105])
    assert found["top_logprobs"][1] == {"token": "é", "logprob": -9999.0, "bytes": [195, 169]}
    choices = [chunk["choices"][0] for chunk in chunks(stream)]
    assert [choice["logprobs"]["content"] for choice in choices if "logprobs" in choice] == [
        [found]
    ]
    assert alone.json()["choices"][0]["logprobs"]["content"] == [{**found, "top_logprobs": []}]


def test_choices_are_sampled_in_parallel_with_their_own_seeds() -> None:
    asked: list[dict[str, Any]] = []
    body = {**BODY, "n": 3, "seed": 5}
    answer, stream = answered(likely, body, {**body, "stream": True}, asked=asked)
    assert sorted(entry["seed"] for entry in asked) == [5, 5, 6, 6, 7, 7]
    found = answer.json()
    assert [choice["index"] for choice in found["choices"]] == [0, 1, 2]
    assert {choice["message"]["content"] for choice in found["choices"]} == {"Hi"}
    assert (found["usage"]["prompt_tokens"], found["usage"]["completion_tokens"]) == (7, 3)
    choices = [chunk["choices"][0] for chunk in chunks(stream)]
    for index in range(3):
        texts = [
            choice["delta"].get("content", "") for choice in choices if choice["index"] == index
        ]
        assert "".join(texts) == "Hi"


def test_stream_reports_usage_at_the_end_or_in_each_chunk() -> None:
    asked = [
        {**BODY, "stream": True, "stream_options": {name: True, "include_obfuscation": False}}
        for name in ("include_usage", "continuous_usage_stats")
    ]
    at_end, along = [
        [chunk["usage"] for chunk in chunks(stream)] for stream in answered(likely, *asked)
    ]
    assert [usage and usage["total_tokens"] for usage in at_end] == [None, None, None, 8]
    assert [usage["completion_tokens"] for usage in along] == [0, 1, 1]


@table("ends")
def test_truncated_call_is_equal_whole_and_streamed(case: dict[str, Any]) -> None:
    body = {**BODY, "tools": TOOLS, "stop": ["lo"]}
    text = f'<tool_call>\n{{"name": "look", "arguments": {{"city": {case["text"]}'
    answer, stream = answered(spelling(text, **case["end"]), body, {**body, "stream": True})
    choice = answer.json()["choices"][0]
    (call,) = choice["message"]["tool_calls"]
    assert (call["function"]["name"], choice["finish_reason"]) == ("look", case["reason"])
    choices = [chunk["choices"][0] for chunk in chunks(stream)]
    calls = [
        choice["delta"]["tool_calls"][0] for choice in choices if "tool_calls" in choice["delta"]
    ]
    arguments = "".join(call["function"]["arguments"] for call in calls)
    assert arguments == call["function"]["arguments"] == case["arguments"]
    assert choices[-1]["finish_reason"] == case["reason"]


def test_client_stop_string_outside_a_call_finishes_with_stop() -> None:
    talk = spelling("Hi", stopping_word="!")
    (answer,) = answered(talk, {**BODY, "stop": "!"})
    assert answer.json()["choices"][0]["finish_reason"] == "stop"
    body = {**BODY, "max_tokens": 9, "stop_sequences": ["!"]}
    (message,) = answered(talk, body, path="/v1/messages")
    reason = {name: message.json()[name] for name in ("stop_reason", "stop_sequence")}
    assert reason == {"stop_reason": "stop_sequence", "stop_sequence": "!"}


@table("reasoned")
def test_json_follows_reasoning_opened_by_prompt_or_model(case: dict[str, str]) -> None:
    template, json_answer = case["template"], '{"city": "Malmö"}'
    text = case["before"] + json_answer
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    form = {"type": "json_schema", "json_schema": {"schema": schema}}
    body = {**BODY, "response_format": form}
    prepared = ChatPreparer(analyzed(template)).prepare(chat_request(body))
    assert prepared.constrained
    accepted = prepared.grammar.accepts(text, dialect=GrammarDialect.GBNF)
    assert accepted.accepted, accepted
    answer, stream = answered(spelling(text), body, {**body, "stream": True}, template=template)
    message = answer.json()["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == ("Hm.", json_answer)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks(stream)]
    for name in ("reasoning_content", "content"):
        assert "".join(delta.get(name, "") for delta in deltas) == message[name]
