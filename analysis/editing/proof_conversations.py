"""Build the conversations by which an edit of a template is proven.

They are those of the matrix of lint and of `compare`, and four more kinds: texts of one voice with
whitespace at their edges, a model's output as one text, long ones, and requests in other words. A
conversation in other words means the same as a plain one, so that a template that takes it renders
both to the same text: content of null or none, an empty list of calls, arguments as JSON text,
content as a list of parts, a developer's message for the system's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from msgspec import structs

from autoparser.analysis.core.conversation import Dialogue, Json, Message, ToolResult, UserMessage
from autoparser.analysis.core.message_battery import battery_tools
from autoparser.analysis.core.message_shape import EmptyContent, offered_tools
from autoparser.analysis.history.round_trips import settings_of
from autoparser.analysis.lint.conversation_matrix import Voice, WholeConversation, texts_for
from autoparser.analysis.lint.lint_renders import LintRenders, Render, RenderSetting
from autoparser.analysis.lint.rule_conversations import pad_word
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.overview.compared_requests import all_requests
from autoparser.analysis.templates.chat_template import REASONING_FIELDS, ChatTemplate

RESPELLED_ROLES: Mapping[str, str] = {"developer": "system"}
"""Roles of OpenAI's protocol that mean the same, the newer first."""


SAID_BY: Mapping[str, tuple[str, ...]] = {
    "system": (Voice.SYSTEM,),
    "user": (Voice.USER,),
    "assistant": (Voice.ANSWER, Voice.PREFACE),
    "tool": (Voice.RESULT,),
}
"""Whose texts those of a role are."""

LONG = 12
"""So many messages are a long conversation."""

LONG_TEXT = 4000
"""So many characters are a long text."""


@dataclass(frozen=True)
class ProofConversation:
    """A conversation as it is sent, and what must be read of it."""

    name: str
    messages: tuple[Mapping[str, Json], ...]
    texts: tuple[tuple[str, str], ...] = ()
    """What is said, by whom; in the order of the conversation."""
    calls: tuple[str, ...] = ()
    """The names of the functions that are called."""
    tools: tuple[Json, ...] | None = None
    generation: bool = False
    setting: Mapping[str, Json] = field(default_factory=dict[str, Json])
    explicit: bool = False
    """Whether a switch is set that need not be."""
    as_given: bool = False
    closer: str = ""
    """What closes a section of calls, where a template writes it after several alone."""
    block: tuple[str, str] | None = None
    """What opens and closes reasoning in the template's turns, or None if it writes none."""
    header: str = ""
    """What the model's turns begin with."""
    of_parts: bool = False
    """Whether a content of it is a list of parts that no plain conversation says."""
    reasoned: bool = False
    """Whether a message of it holds reasoning."""
    plainly: ProofConversation | None = None
    """The conversation that says the same in plain words."""
    words: str = ""
    """What is said in other words here."""

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """What is in it that templates treat apart, in words."""
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
        """The messages, whatever they are sent with."""
        return repr(self.messages)

    @property
    def request(self) -> str:
        """What is sent, whatever switches are set."""
        return repr((self.messages, self.tools, self.generation, self.as_given))


class ProofRenders:
    """Renders conversations of a proof through one template."""

    def __init__(self, subject: Subject, template: ChatTemplate) -> None:
        """Render through this template with the special tokens of the subject's."""
        self._renders = LintRenders(template, subject.tokens)

    def render(self, each: ProofConversation) -> Render:
        """Render a conversation."""
        return self._renders.render(each.messages, _setting_of(each))

    def variables(self, each: ProofConversation) -> Mapping[str, object]:
        """Return what the template is rendered with."""
        return self._renders.variables(each.messages, _setting_of(each))

    def text(self, each: ProofConversation) -> str | None:
        """Return the text of a conversation, or None if the template refuses it."""
        render = self.render(each)
        return render.text if render.rendered else None


def _setting_of(each: ProofConversation) -> RenderSetting:
    return RenderSetting(each.tools, each.generation, each.setting, as_given=each.as_given)


def proof_conversations(subject: Subject) -> tuple[ProofConversation, ...]:
    """Return all conversations by which edits of a template are proven, each once."""
    found = (
        *_matrix(subject),
        *_padded(subject),
        *_requests(subject),
        *_in_other_words(subject),
        *_long(subject),
        *_written_out(subject),
    )
    reasoning, block = subject.format.reasoning, None
    if reasoning is not None and reasoning.open.core and reasoning.close.core:
        block = (reasoning.open.core, reasoning.close.core)
    found = tuple(_with_markup(each, block, subject.format.header.strip()) for each in found)
    unique = {repr((it.request, it.setting, it.plainly is None)): it for it in found}
    return tuple(unique.values())


def _with_markup(
    each: ProofConversation, block: tuple[str, str] | None, header: str
) -> ProofConversation:
    """Return how turns are written, of a conversation and of the plain one."""
    plain = each.plainly and replace(each.plainly, block=block, header=header)
    return replace(each, block=block, header=header, plainly=plain)


def closer_of(subject: Subject) -> str:
    """Return what closes a section of calls, where it is written after several alone."""
    calls = subject.format.calls
    return "" if calls is None else calls.later_close.strip()


def _whole(
    subject: Subject, each: WholeConversation, name: str = "", *, generation: bool | None = None
) -> ProofConversation:
    usual = subject.usual_setting
    return ProofConversation(
        name or each.name,
        tuple(each.messages(subject.shape)),
        tuple((spoken.voice.value, spoken.text) for spoken in each.spoken),
        tuple(_called_names(each.dialogue)),
        subject.usual_tools if each.tools else None,
        each.generation if generation is None else generation,
        {**usual, **each.setting},
        any(usual.get(name, ...) != value for name, value in each.setting.items()),
        subject.shape.empty_content is EmptyContent.NULL,
        closer_of(subject),
        reasoned=any(isinstance(said, Message) and said.reasoning for said in each.dialogue),
    )


def _matrix(subject: Subject) -> Iterator[ProofConversation]:
    for played in subject.matrix:
        each = played.conversation
        for generation in dict.fromkeys((each.generation, False)):
            whole = _whole(subject, each, generation=generation)
            plain = _whole(subject, replace(each, other_form=False), generation=generation)
            if not each.other_form:
                yield whole
                continue
            # An empty list is none of the forms that callers send.
            empty = _CHANGES["empty content"]
            messages = tuple(empty(dict(message)) for message in whole.messages)
            words = "content in the other form"
            yield replace(whole, messages=messages, plainly=plain, words=words)
    largest = _largest(subject)
    for setting in _settings(subject):
        for each in largest:
            # Exactly these: what the analysis sets by itself may not be among them.
            whole = _whole(subject, replace(each, setting=setting))
            yield replace(whole, setting=setting)


def _settings(subject: Subject) -> list[Mapping[str, Json]]:
    """Return every setting to play, those too that are but the default said aloud."""
    found: list[Mapping[str, Json]] = [*settings_of(subject.analysis)]
    for switch in subject.analysis.switches:
        either = (True, False) if any(isinstance(value, bool) for value in switch.values) else ()
        found += [{**found[0], switch.name: value} for value in (*switch.values, *either)]
    return [*{repr(setting): setting for setting in found}.values()]


def _largest(subject: Subject) -> list[WholeConversation]:
    """Return the longest conversations in which each voice is heard."""
    plain = [played.conversation for played in subject.matrix if played.usual]
    found: dict[str, WholeConversation] = {}
    for each in plain:
        last = each.dialogue[-1]
        for spoken in each.spoken:
            found[f"{spoken.voice} {isinstance(last, Message)} {each.tools}"] = each
    return [*{each.name: each for each in found.values()}.values()]


def _padded(subject: Subject) -> Iterator[ProofConversation]:
    """Put whitespace around the texts of one voice, and leave the others."""
    for each in _largest(subject):
        for voice in dict.fromkeys(spoken.voice for spoken in each.spoken):
            if voice is not Voice.CALL:
                around = _around(each, voice)
                yield _whole(subject, around, f"whitespace around {voice.value}: {each.name}")


def _around(conversation: WholeConversation, voice: Voice) -> WholeConversation:
    voice_texts = {spoken.text for spoken in conversation.spoken if spoken.voice is voice}

    def text(value: str) -> str:
        return pad_word(value) if value in voice_texts else value

    def entry(message: Message | UserMessage | ToolResult) -> Message | UserMessage | ToolResult:
        if isinstance(message, Message):
            content, reasoning = text(message.content), text(message.reasoning)
            return structs.replace(message, content=content, reasoning=reasoning)
        return structs.replace(message, text=text(message.text))

    dialogue: Dialogue = tuple(entry(each) for each in conversation.dialogue)
    return replace(conversation, dialogue=dialogue, system=text(conversation.system))


def _requests(subject: Subject) -> Iterator[ProofConversation]:
    """Return what `compare` plays with nothing set."""
    shape = subject.shape
    tools = offered_tools(battery_tools(), shape)
    for request in all_requests():
        if request.first or request.arguments_as_string is not None:
            # These are among the conversations in other words.
            continue
        role = "" if request.content is None else request.content[0]
        texts = tuple(
            text for text in _texts(request.dialogue) if text[0] not in SAID_BY.get(role, ())
        )
        if request.content is not None:
            texts += tuple((SAID_BY[role][0], words) for words in _texts_of(request.content[1]))
        yield ProofConversation(
            request.conversation,
            tuple(request.messages(shape)),
            texts,
            tuple(_called_names(request.dialogue)),
            tuple(tools) if request.tools and tools is not None else None,
            request.generation,
            subject.usual_setting,
            as_given=shape.empty_content is EmptyContent.NULL,
            closer=closer_of(subject),
            reasoned=any(isinstance(it, Message) and it.reasoning for it in request.dialogue),
            of_parts=bool(role),
        )


def _texts_of(content: Json) -> Iterator[str]:
    """Return the texts among the parts of a content."""
    for part in content if isinstance(content, list) else ():
        words = part.get("text") if isinstance(part, dict) else None
        if isinstance(words, str):
            yield words


def _called_names(dialogue: Dialogue) -> Iterator[str]:
    for entry in dialogue:
        yield from (call.name for call in entry.calls) if isinstance(entry, Message) else ()


def _texts(dialogue: Dialogue) -> Iterator[tuple[str, str]]:
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
    """Return conversations that say the same as a plain one, in other words."""
    bare = not subject.shape.system
    alone = [replace(each, system="") for each in _largest(subject) if each.system and bare]
    for each in (*_largest(subject), *alone):
        for ends in (False, True):
            plain = _whole(subject, each, generation=ends)
            if ends and not each.generation:
                continue
            for words, messages, tools in _respell(plain):
                yield replace(
                    plain,
                    name=f"{words}: {each.name}",
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
            as_list = [_listed(other)(dict(each)) for each in sent]
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


def _content_of(value: Json) -> Callable[[dict[str, Json]], dict[str, Json]]:
    """Write messages without content with this value in its place."""
    return lambda message: message if message.get("content") else {**message, "content": value}


def _listed(*roles: str) -> Callable[[dict[str, Json]], dict[str, Json]]:
    def changed(message: dict[str, Json]) -> dict[str, Json]:
        content = message.get("content")
        if message["role"] not in roles or not (isinstance(content, str) and content):
            return message
        texts: Json = [{"type": "text", "text": content}]
        return {**message, "content": texts}

    return changed


def _reasoning_of(value: Json) -> Callable[[dict[str, Json]], dict[str, Json]]:
    def changed(message: dict[str, Json]) -> dict[str, Json]:
        given = any(message.get(name) for name in REASONING_FIELDS)
        if message["role"] != "assistant" or given:
            return message
        return {**message, **dict.fromkeys(REASONING_FIELDS, value)}

    return changed


def _calls_of(value: Json) -> Callable[[dict[str, Json]], dict[str, Json]]:
    """Write answers without calls with this value in their place."""

    def changed(message: dict[str, Json]) -> dict[str, Json]:
        plain = message["role"] == "assistant" and "tool_calls" not in message
        return {**message, "tool_calls": value} if plain else message

    return changed


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


_CHANGES = {
    "content of null": _content_of(None),
    "no content": _no_content,
    "empty content": _content_of(""),
    "content as a list of parts": _listed("system", "user", "assistant", "tool"),
    **{f"content of {role} as a list of parts": _listed(role) for role in ("system", "assistant")},
    "reasoning of null": _reasoning_of(None),
    "empty reasoning": _reasoning_of(""),
    "an empty list of calls": _calls_of([]),
    "calls of null": _calls_of(None),
    "arguments in their other form": _other_arguments,
}


def _long(subject: Subject) -> Iterator[ProofConversation]:
    """Return what is empty in a chat in other words, and a chat of many messages and long texts."""
    texts = texts_for(subject.template.text)
    first, second, _ = texts.users
    answer = Message(texts.answers[0])
    many = (first, answer, *(UserMessage("And?"), Message("So.")) * (LONG // 2), second)
    for dialogue in ((first, Message(""), second), (first, Message("")), (UserMessage(""),), many):
        whole = WholeConversation("many messages" if dialogue is many else "nothing said", dialogue)
        # A prompt after an assistant's last message is asked for by nobody.
        for generation in (False, True)[: 1 + isinstance(dialogue[-1], UserMessage)]:
            if subject.shape.system:
                whole = replace(whole, system=texts.system)
            plain = _whole(subject, whole, generation=generation)
            yield plain
            for words in ("content of null", "no content") if dialogue is not many else ():
                changed = tuple(_CHANGES[words](dict(message)) for message in plain.messages)
                sent = replace(plain, messages=changed, as_given=True)
                yield replace(sent, name=f"{words}: {plain.name}", plainly=plain, words=words)
            if dialogue is many:
                padding = "word " * (LONG_TEXT // 5) + "word"
                longer = tuple(_lengthen(message, padding) for message in plain.messages)
                yield replace(plain, messages=longer, name="long texts")


def _lengthen(message: Mapping[str, Json], padding: str) -> Mapping[str, Json]:
    content = message.get("content")
    return {**message, "content": f"{content} {padding}"} if isinstance(content, str) else message


def _written_out(subject: Subject) -> Iterator[ProofConversation]:
    """Return messages whose content holds all that was written, as servers without a parser do."""
    texts = texts_for(subject.template.text)
    system = texts.system if subject.shape.system else ""
    answer = Message(texts.answers[0], texts.reasonings[0])
    told: Dialogue = (texts.users[0], answer)
    short = WholeConversation("an answer with reasoning", told, system, generation=False)
    for each in (*_largest(subject), short):
        last = each.dialogue[-1]
        if not isinstance(last, Message) or last.calls or not last.reasoning:
            continue
        before = replace(each, dialogue=each.dialogue[:-1])
        whole = subject.play_whole(each).render.text
        for ends in (True, False):
            asked = subject.play_whole(replace(before, generation=ends)).render.text
            end = whole.rfind(last.content) + len(last.content)
            if asked and whole.startswith(asked) and end > len(asked):
                text = whole[len(asked) : end].removeprefix(subject.format.header)
                said = structs.replace(last, content=text, reasoning="")
                for rest in ((), (UserMessage("So?"),)):
                    dialogue: Dialogue = (*before.dialogue, said, *rest)
                    written = replace(each, dialogue=dialogue)
                    # What the template makes of this text is its affair: it is not looked for.
                    named = _whole(subject, written, f"all in the content: {each.name}")
                    yield replace(named, texts=_whole(subject, before).texts)
