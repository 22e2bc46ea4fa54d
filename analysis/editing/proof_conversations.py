"""The conversations by which an edit of a template is proven.

They are those of lint's matrix and of `compare`, and four more kinds: one speaker's texts with
whitespace at their edges, a model's output as content, long texts, and variants. A variant means
the same as a plain conversation, so a template that accepts it should render both alike: content of
null or absent for empty content, an empty list of calls, arguments as a JSON string, content parts,
a developer message for the system message.

Of an assistant's message `{content: "", tool_calls: [{function: {name: f, arguments: {k: 1}}}]}`,
some variants are

    null content          content: null
    no content            the key is missing
    the other type of arguments (string or object)
                          arguments: '{"k": 1}'
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from msgspec import structs

from autoparser.analysis.core.conversation import Dialogue, Json, Message, ToolResult, UserMessage
from autoparser.analysis.core.message_battery import battery_tools
from autoparser.analysis.core.message_shape import EmptyContent, offered_tools
from autoparser.analysis.history.round_trips import trip_settings
from autoparser.analysis.lint.conversation_matrix import Voice, WholeConversation, texts_for
from autoparser.analysis.lint.lint_renders import LintRenders, Render, RenderSetting
from autoparser.analysis.lint.rule_conversations import pad_word
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.overview.compared_requests import all_requests
from autoparser.analysis.templates.chat_template import REASONING_FIELDS, ChatTemplate

RESPELLED_ROLES: Mapping[str, str] = {"developer": "system"}
"""Synonymous roles of OpenAI's protocol, the newer one first."""


SAID_BY: Mapping[str, tuple[str, ...]] = {
    "system": (Voice.SYSTEM,),
    "user": (Voice.USER,),
    "assistant": (Voice.ANSWER, Voice.PREFACE),
    "tool": (Voice.RESULT,),
}
"""The speakers of each role's content."""

LONG = 12
"""The number of messages of a long conversation."""

LONG_TEXT = 4000
"""The number of characters of a long text."""


@dataclass(frozen=True)
class ProofConversation:
    """A conversation as it is sent, with the texts that must appear."""

    name: str
    """The name, e.g. ``whitespace around an answer: a second question``."""
    messages: tuple[Mapping[str, Json], ...]
    """The messages as they are sent, e.g. ``({"role": "user", "content": "Pkvrbnwj jwnbrvkp."},)``.
    """
    texts: tuple[tuple[str, str], ...] = ()
    """Pairs of speaker and text, in order, e.g. ``(("an answer", "Dogs bark."),)``."""
    calls: tuple[str, ...] = ()
    """The names of the called functions, e.g. ``("get_forecast", "update_record")``."""
    tools: tuple[Json, ...] | None = None
    """The tools as they are sent, e.g. ``({"type": "function", "function": {"name": "get_forecast",
    …}},)``, or None."""
    generation: bool = False
    """Whether a generation prompt is requested, e.g. True for ``a second question``."""
    setting: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The switches that are set, e.g. ``{"enable_thinking": None}``."""
    explicit: bool = False
    """Whether it sets a switch that is not set by default, e.g. True for ``a question with
    enable_thinking=None``."""
    as_given: bool = False
    """Whether to skip transformers' preparation of messages, e.g. True for ``a developer's
    message``."""
    closer: str = ""
    """The marker that closes a section of calls, e.g. ``!`` in ``(call f {}),(call g {})!``, if it
    is only written after the last call."""
    block: tuple[str, str] | None = None
    """The markers around reasoning, e.g. ``("<think>", "</think>")``, or None if the format has
    none."""
    header: str = ""
    """The text that begins the model's turns, e.g. ``<|assistant|>``."""
    of_parts: bool = False
    """Whether it has content parts that no plain conversation has, e.g. True for ``user content: a
    string``."""
    reasoned: bool = False
    """Whether a message has reasoning, e.g. True for ``an answer with reasoning``."""
    plainly: ProofConversation | None = None
    """The plain conversation of which it is a variant, e.g. ``a question with tools``."""
    words: str = ""
    """The kind of variant, e.g. ``null content``."""

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The properties that templates distinguish, e.g. ``("tools", "calls")``."""
        roles = [str(message["role"]) for message in self.messages]
        contents = [message.get("content") for message in self.messages]
        long = len(roles) >= LONG or any(len(str(content)) >= LONG_TEXT for content in contents)
        found = {
            "tools": bool(self.tools),
            "calls": any(message.get("tool_calls") for message in self.messages),
            "reasoning": self.reasoned,
            "several turns": roles.count("user") > 1,
            "no system message": not {"system", "developer"} & {*roles},
            "list contents": any(isinstance(content, list) for content in contents),
            "null or no content": any(content is None for content in contents),
            "many messages or long texts": long,
            "a switch": self.explicit,
        }
        return tuple(kind for kind, holds in found.items() if holds)

    @property
    def messages_key(self) -> str:
        """The messages, as a key."""
        return repr(self.messages)

    @property
    def request(self) -> str:
        """The whole request without the switches, as a key."""
        return repr((self.messages, self.tools, self.generation, self.as_given))


class ProofRenders:
    """Renders conversations of a proof with one template."""

    def __init__(self, subject: Subject, template: ChatTemplate) -> None:
        """Store the template, to render it with the subject's special tokens."""
        self._renders = LintRenders(template, subject.tokens)

    def render(self, conversation: ProofConversation) -> Render:
        """Render a conversation."""
        return self._renders.render(conversation.messages, _setting_of(conversation))

    def variables(self, conversation: ProofConversation) -> Mapping[str, object]:
        """Return the template's variables."""
        return self._renders.variables(conversation.messages, _setting_of(conversation))

    def text(self, conversation: ProofConversation) -> str | None:
        """Return the text of a conversation, or None if the template raises."""
        render = self.render(conversation)
        return render.text if render.rendered else None


def _setting_of(conversation: ProofConversation) -> RenderSetting:
    return RenderSetting(
        conversation.tools,
        conversation.generation,
        conversation.setting,
        as_given=conversation.as_given,
    )


def proof_conversations(subject: Subject) -> tuple[ProofConversation, ...]:
    """Return all distinct conversations by which edits of a template are proven."""
    found = (
        *_matrix(subject),
        *_padded_conversations(subject),
        *_requests(subject),
        *_in_other_words(subject),
        *_long(subject),
        *_written_out(subject),
    )
    reasoning, block = subject.format.reasoning, None
    if reasoning is not None and reasoning.open.core and reasoning.close.core:
        block = (reasoning.open.core, reasoning.close.core)
    found = tuple(
        _with_markup(conversation, block, subject.format.header.strip()) for conversation in found
    )
    unique = {
        repr(
            (conversation.request, conversation.setting, conversation.plainly is None)
        ): conversation
        for conversation in found
    }
    return tuple(unique.values())


def _with_markup(
    conversation: ProofConversation, block: tuple[str, str] | None, header: str
) -> ProofConversation:
    """Return a conversation, and its plain one, with the markup of turns."""
    plain = conversation.plainly and replace(conversation.plainly, block=block, header=header)
    return replace(conversation, block=block, header=header, plainly=plain)


def last_call_closer(subject: Subject) -> str:
    """Return the marker that closes a section of calls only after the last call."""
    calls = subject.format.calls
    return "" if calls is None else calls.later_close.strip()


def _proof_of_conversation(
    subject: Subject, whole: WholeConversation, name: str = "", *, generation: bool | None = None
) -> ProofConversation:
    usual = subject.usual_setting
    return ProofConversation(
        name or whole.name,
        tuple(whole.messages(subject.shape)),
        tuple((spoken.voice.value, spoken.text) for spoken in whole.spoken),
        tuple(_called_names(whole.dialogue)),
        subject.usual_tools if whole.tools else None,
        whole.generation if generation is None else generation,
        {**usual, **whole.setting},
        any(usual.get(name, ...) != value for name, value in whole.setting.items()),
        subject.shape.empty_content is EmptyContent.NULL,
        last_call_closer(subject),
        reasoned=any(isinstance(said, Message) and said.reasoning for said in whole.dialogue),
    )


def _matrix(subject: Subject) -> Iterator[ProofConversation]:
    for played in subject.matrix:
        conversation = played.conversation
        for generation in dict.fromkeys((conversation.generation, False)):
            whole = _proof_of_conversation(subject, conversation, generation=generation)
            plain = _proof_of_conversation(
                subject, replace(conversation, other_form=False), generation=generation
            )
            if not conversation.other_form:
                yield whole
                continue
            # An empty list is not a form that clients send.
            empty = _CHANGES["empty content"]
            messages = tuple(empty(dict(message)) for message in whole.messages)
            words = "content in the other form"
            yield replace(whole, messages=messages, plainly=plain, words=words)
    largest = _largest(subject)
    for setting in _settings(subject):
        for conversation in largest:
            # Set exactly these switches, which may replace those of the analysis.
            whole = _proof_of_conversation(subject, replace(conversation, setting=setting))
            yield replace(whole, setting=setting)


def _settings(subject: Subject) -> list[Mapping[str, Json]]:
    """Return every setting to render, including explicit defaults."""
    found: list[Mapping[str, Json]] = [*trip_settings(subject.analysis)]
    for switch in subject.analysis.switches:
        # Callers set booleans both ways, even to the default.
        either = (True, False) if any(isinstance(value, bool) for value in switch.values) else ()
        found += [{**found[0], switch.name: value} for value in (*switch.values, *either)]
    return [*{repr(setting): setting for setting in found}.values()]


def _largest(subject: Subject) -> list[WholeConversation]:
    """Return the longest conversations that cover every speaker."""
    plain = [played.conversation for played in subject.matrix if played.usual]
    found: dict[str, WholeConversation] = {}
    for conversation in plain:
        last = conversation.dialogue[-1]
        for spoken in conversation.spoken:
            found[f"{spoken.voice} {isinstance(last, Message)} {conversation.tools}"] = conversation
    return [*{conversation.name: conversation for conversation in found.values()}.values()]


def _padded_conversations(subject: Subject) -> Iterator[ProofConversation]:
    """Yield conversations with whitespace around one speaker's texts."""
    for conversation in _largest(subject):
        for voice in dict.fromkeys(spoken.voice for spoken in conversation.spoken):
            # The name of a function has no whitespace around it.
            if voice is not Voice.CALL:
                around = _pad_voice(conversation, voice)
                yield _proof_of_conversation(
                    subject, around, f"whitespace around {voice.value}: {conversation.name}"
                )


def _pad_voice(conversation: WholeConversation, voice: Voice) -> WholeConversation:
    voice_texts = {spoken.text for spoken in conversation.spoken if spoken.voice is voice}

    def text(value: str) -> str:
        return pad_word(value) if value in voice_texts else value

    def entry(message: Message | UserMessage | ToolResult) -> Message | UserMessage | ToolResult:
        if isinstance(message, Message):
            content, reasoning = text(message.content), text(message.reasoning)
            return structs.replace(message, content=content, reasoning=reasoning)
        return structs.replace(message, text=text(message.text))

    dialogue: Dialogue = tuple(entry(message) for message in conversation.dialogue)
    return replace(conversation, dialogue=dialogue, system=text(conversation.system))


def _requests(subject: Subject) -> Iterator[ProofConversation]:
    """Yield the requests of `compare` with the default switches."""
    shape = subject.shape
    tools = offered_tools(battery_tools(), shape)
    for request in all_requests():
        if request.first or request.arguments_as_string is not None:
            # Variants cover these.
            continue
        role = "" if request.content is None else request.content[0]
        texts = tuple(
            text for text in _spoken_texts(request.dialogue) if text[0] not in SAID_BY.get(role, ())
        )
        if request.content is not None:
            texts += tuple((SAID_BY[role][0], words) for words in _part_texts(request.content[1]))
        yield ProofConversation(
            request.conversation,
            tuple(request.messages(shape)),
            texts,
            tuple(_called_names(request.dialogue)),
            tuple(tools) if request.tools and tools is not None else None,
            request.generation,
            subject.usual_setting,
            as_given=shape.empty_content is EmptyContent.NULL,
            closer=last_call_closer(subject),
            reasoned=any(
                isinstance(message, Message) and message.reasoning for message in request.dialogue
            ),
            of_parts=bool(role),
        )


def _part_texts(content: Json) -> Iterator[str]:
    """Yield the texts among content parts."""
    for part in content if isinstance(content, list) else ():
        words = part.get("text") if isinstance(part, dict) else None
        if isinstance(words, str):
            yield words


def _called_names(dialogue: Dialogue) -> Iterator[str]:
    for entry in dialogue:
        yield from (call.name for call in entry.calls) if isinstance(entry, Message) else ()


def _spoken_texts(dialogue: Dialogue) -> Iterator[tuple[str, str]]:
    for entry in dialogue:
        match entry:
            case UserMessage():
                yield Voice.USER.value, entry.text
            case ToolResult():
                yield Voice.RESULT.value, entry.text
            case Message():
                yield Voice.REASONING.value, entry.reasoning
                yield Voice.ANSWER.value, entry.content


def _in_other_words(subject: Subject) -> Iterator[ProofConversation]:
    """Yield variants of plain conversations."""
    # If a template needs a system message, a conversation without one is refused.
    bare = not subject.shape.system
    alone = [replace(whole, system="") for whole in _largest(subject) if whole.system and bare]
    for conversation in (*_largest(subject), *alone):
        for ends in (False, True):
            plain = _proof_of_conversation(subject, conversation, generation=ends)
            # If the plain conversation has no generation prompt, neither do its variants.
            if ends and not conversation.generation:
                continue
            for words, messages, tools in _respell(plain):
                yield replace(
                    plain,
                    name=f"{words}: {conversation.name}",
                    messages=tuple(messages),
                    as_given=True,
                    setting={**plain.setting, **tools},
                    plainly=plain,
                    words=words,
                )


Respelled = tuple[str, Sequence[Mapping[str, Json]], Mapping[str, Json]]


def _respell(plain: ProofConversation) -> Iterator[Respelled]:
    for other, known in RESPELLED_ROLES.items():
        if any(message["role"] == known for message in plain.messages):
            sent = [
                {**message, "role": other} if message["role"] == known else message
                for message in plain.messages
            ]
            yield f"a {other}'s message", sent, {}
            as_list = [_list_content(dict(message), (other,)) for message in sent]
            yield f"a {other}'s message as a list of parts", as_list, {}
    if plain.tools is None:
        yield "an empty list of tools", plain.messages, {"tools": []}
    for words, change in _CHANGES.items():
        changed = [change(dict(message)) for message in plain.messages]
        if changed != [*plain.messages]:
            yield words, changed, {}


def _no_content(message: dict[str, Json]) -> dict[str, Json]:
    if not message.get("content"):
        message.pop("content", None)
    return message


def _set_content(message: dict[str, Json], value: Json) -> dict[str, Json]:
    """Set empty content to a value."""
    return message if message.get("content") else {**message, "content": value}


def _list_content(message: dict[str, Json], roles: Sequence[str]) -> dict[str, Json]:
    content = message.get("content")
    if message["role"] not in roles or not (isinstance(content, str) and content):
        return message
    return {**message, "content": [{"type": "text", "text": content}]}


def _set_reasoning(message: dict[str, Json], value: Json) -> dict[str, Json]:
    given = any(message.get(name) for name in REASONING_FIELDS)
    if message["role"] != "assistant" or given:
        return message
    return {**message, **dict.fromkeys(REASONING_FIELDS, value)}


def _set_calls(message: dict[str, Json], value: Json) -> dict[str, Json]:
    """Set the calls of an assistant message that has none."""
    plain = message["role"] == "assistant" and "tool_calls" not in message
    return {**message, "tool_calls": value} if plain else message


def _other_arguments(message: dict[str, Json]) -> dict[str, Json]:
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    return {**message, "tool_calls": [_other_call(call) for call in calls]}


def _other_call(call: Json) -> Json:
    if not isinstance(call, dict):
        return call
    if "function" in call:
        return {**call, "function": _other_call(call["function"])}
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        return {**call, "arguments": json.loads(arguments)}
    return {**call, "arguments": json.dumps(arguments, ensure_ascii=False)}


_CHANGES: Mapping[str, Callable[[dict[str, Json]], dict[str, Json]]] = {
    "null content": partial(_set_content, value=None),
    "no content": _no_content,
    "empty content": partial(_set_content, value=""),
    "content as a list of parts": partial(
        _list_content, roles=("system", "user", "assistant", "tool")
    ),
    **{
        f"content of {role} as a list of parts": partial(_list_content, roles=(role,))
        for role in ("system", "assistant")
    },
    "null reasoning": partial(_set_reasoning, value=None),
    "empty reasoning": partial(_set_reasoning, value=""),
    "an empty list of calls": partial(_set_calls, value=[]),
    "null tool_calls": partial(_set_calls, value=None),
    "the other type of arguments (string or object)": _other_arguments,
}


def _long(subject: Subject) -> Iterator[ProofConversation]:
    """Yield chats with an empty message, their variants, and chats of many or long messages."""
    texts = texts_for(subject.template.text)
    first, second, _ = texts.users
    answer = Message(texts.answers[0])
    many = (first, answer, *(UserMessage("And?"), Message("So.")) * (LONG // 2), second)
    for dialogue in ((first, Message(""), second), (first, Message("")), (UserMessage(""),), many):
        whole = WholeConversation("many messages" if dialogue is many else "nothing said", dialogue)
        # No client requests a prompt after a final assistant message.
        for generation in (False, True)[: 1 + isinstance(dialogue[-1], UserMessage)]:
            if subject.shape.system:
                whole = replace(whole, system=texts.system)
            plain = _proof_of_conversation(subject, whole, generation=generation)
            yield plain
            for words in ("null content", "no content") if dialogue is not many else ():
                changed = tuple(_CHANGES[words](dict(message)) for message in plain.messages)
                sent = replace(plain, messages=changed, as_given=True)
                yield replace(sent, name=f"{words}: {plain.name}", plainly=plain, words=words)
            if dialogue is many:
                padding = "word " * (LONG_TEXT // 5) + "word"
                longer = tuple(_lengthen(message, padding) for message in plain.messages)
                said = tuple((voice, f"{text} {padding}") for voice, text in plain.texts)
                yield replace(plain, messages=longer, texts=said, name="long texts")


def _lengthen(message: Mapping[str, Json], padding: str) -> Mapping[str, Json]:
    content = message.get("content")
    return {**message, "content": f"{content} {padding}"} if isinstance(content, str) else message


def _written_out(subject: Subject) -> Iterator[ProofConversation]:
    """Yield messages whose content is a whole output, as from servers without a parser."""
    texts = texts_for(subject.template.text)
    system = texts.system if subject.shape.system else ""
    answer = Message(texts.answers[0], texts.reasonings[0])
    told: Dialogue = (texts.users[0], answer)
    short = WholeConversation("an answer with reasoning", told, system, generation=False)
    for conversation in (*_largest(subject), short):
        last = conversation.dialogue[-1]
        if not isinstance(last, Message) or last.calls or not last.reasoning:
            continue
        before = replace(conversation, dialogue=conversation.dialogue[:-1])
        whole = subject.play_whole(conversation).render.text
        for ends in (True, False):
            asked = subject.play_whole(replace(before, generation=ends)).render.text
            end = whole.rfind(last.content) + len(last.content)
            if asked and whole.startswith(asked) and end > len(asked):
                text = whole[len(asked) : end].removeprefix(subject.format.header)
                said = structs.replace(last, content=text, reasoning="")
                for rest in ((), (UserMessage("So?"),)):
                    dialogue: Dialogue = (*before.dialogue, said, *rest)
                    written = replace(conversation, dialogue=dialogue)
                    # The template may do anything with this text, so it need not appear.
                    named = _proof_of_conversation(
                        subject, written, f"all in the content: {conversation.name}"
                    )
                    yield replace(named, texts=_proof_of_conversation(subject, before).texts)
