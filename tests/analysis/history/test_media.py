"""Placeholders of images among the tokens, and other ids in their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autoparser import ChatTemplate, Renderer, RequestError, analyze
from autoparser.analysis.history.history_renders import BridgeRefusal, Reason
from autoparser.analysis.history.prompt_tokens import MediaTokens, RenderedTokens

from .made import FIXTURES, TOKENS
from .tokenizers_here import small

PICTURE: dict[str, Any] = {"type": "image", "image": "cat.png"}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def rendering(name: str) -> Renderer:
    file: Path = FIXTURES / "parts" / f"{name}.jinja"
    return Renderer(analyze(ChatTemplate(file.read_text(encoding="utf-8"), TOKENS)), small())


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


TWO = [
    {"role": "system", "content": "Be brief."},
    user(text("one "), PICTURE, text(" two "), PICTURE),
    {"role": "assistant", "content": "Cats."},
    user(PICTURE, PICTURE, text("three")),
]


@pytest.mark.parametrize(
    ("name", "placeholders"),
    [
        ("inline", ["<|picture|>"] * 4),
        ("numbered", [f"<picture_{at}>" for at in (1, 2, 3, 4)]),
        ("moved", ["(picture)"] * 4),
        ("address", ["<see cat.png/>"] * 4),
        ("split", ["<picture>"] * 4),
        ("counted", [f"Photo {at}: <|photo|>" for at in (1, 2, 3, 4)]),
        ("apart", ["<|photo|>"] * 4),
    ],
)
def test_each_part_has_the_tokens_of_its_placeholder(name: str, placeholders: list[str]) -> None:
    renderer = rendering(name)
    prompt = renderer.render(TWO, add_generation_prompt=True)
    found = [(each.message, each.part) for each in prompt.media]
    assert sorted(found) == [(1, 1), (1, 3), (3, 0), (3, 1)]
    for each, placeholder in zip(prompt.media, placeholders, strict=True):
        assert each.kind == "image"
        assert prompt.token_ids[each.start : each.end] == each.token_ids
        assert renderer.decode(each.token_ids) == placeholder
        assert not any(prompt.sampled[each.start : each.end])


@pytest.mark.parametrize("name", ["apart", "counted", "inline", "moved"])
def test_a_single_picture_has_the_tokens_of_its_placeholder_wherever_it_stands(name: str) -> None:
    renderer = rendering(name)
    one, two = text("one"), text("two")
    for parts in ([PICTURE, one], [one, PICTURE], [one, PICTURE, two]):
        prompt = renderer.render([user(*parts)], add_generation_prompt=True)
        (found,) = prompt.media
        assert (found.message, found.part) == (0, parts.index(PICTURE))
        assert renderer.decode(found.token_ids) in ("<|photo|>", "<|picture|>", "(picture)")


def test_what_a_user_types_is_no_placeholder() -> None:
    renderer = rendering("moved")
    messages = [user(text("a (picture) of"), PICTURE, text(" (picture)"))]
    prompt = renderer.render(messages)
    (found,) = prompt.media
    assert renderer.decode(prompt.token_ids[: found.end]) == "user: (picture)"


def test_other_ids_stand_in_the_place_of_placeholders() -> None:
    renderer = rendering("inline")
    plain = renderer.render(TWO, add_generation_prompt=True)
    pad = renderer.encode("#")[0]
    asked: list[MediaTokens] = []

    def expand(media: MediaTokens) -> list[int] | None:
        asked.append(media)
        return None if media.part == 3 else [pad] * (7 + media.part)

    prompt = renderer.render(TWO, add_generation_prompt=True, expand=expand)
    assert asked == list(plain.media)
    for one, other in zip(plain.media, prompt.media, strict=True):
        wanted = one.token_ids if one.part == 3 else (pad,) * (7 + one.part)
        assert prompt.token_ids[other.start : other.end] == wanted
        assert set(prompt.message_indices[other.start : other.end]) == {one.message}
    # Outside of the placeholders all is as it was.
    for row in ("token_ids", "message_indices", "is_content", "sampled", "loss_mask"):
        kept = [_outside(getattr(each, row), each.media) for each in (plain, prompt)]
        assert kept[0] == kept[1]
        assert len(getattr(prompt, row)) == len(prompt)


def _outside(values: tuple[Any, ...], media: tuple[MediaTokens, ...]) -> list[Any]:
    inside = {at for each in media for at in range(each.start, each.end)}
    return [value for at, value in enumerate(values) if at not in inside]


def test_a_part_without_tokens_is_an_error_that_names_it() -> None:
    renderer = rendering("inline")
    messages = [user(text("hear"), {"type": "audio", "audio": "cat.wav"})]
    assert renderer.render(messages).media == ()
    with pytest.raises(RequestError) as raised:
        renderer.render(messages, expand=lambda _: None)
    assert "messages[0].content[1]" in str(raised.value)
    assert "audio" in str(raised.value)


def test_a_conversation_of_texts_costs_no_more_renders(monkeypatch: pytest.MonkeyPatch) -> None:
    renderer = rendering("inline")
    rendered: list[object] = []
    asked = ChatTemplate.render_prepared

    def counted(self: ChatTemplate, variables: Any) -> str:
        rendered.append(variables)
        return asked(self, variables)

    monkeypatch.setattr(ChatTemplate, "render_prepared", counted)
    messages = [user(text("one")), {"role": "assistant", "content": "two"}]
    renderer.attribute(messages)
    rendered.clear()
    # What stands between messages is known by now.
    renderer.attribute(messages)
    attributed = len(rendered)
    renderer.render(messages)
    assert len(rendered) == 2 * attributed


def test_a_bridge_takes_a_prompt_whose_placeholders_were_replaced() -> None:
    renderer = rendering("inline")
    pad = renderer.encode("#")[0]
    prompt = renderer.render(TWO, add_generation_prompt=True, expand=lambda _: [pad] * 9)
    written = renderer.encode("A cat.<|end|>")
    following = renderer.bridge_to_next_turn(
        prompt.token_ids, written, [{"role": "user", "content": "And now?"}]
    )
    assert isinstance(following, RenderedTokens), following
    assert following.token_ids[: len(prompt)] == prompt.token_ids


def test_a_bridge_numbers_no_picture_where_a_switch_alone_numbers_them() -> None:
    text = (FIXTURES / "parts" / "inline.jinja").read_text(encoding="utf-8")
    counted = text.replace(
        "{{- '<|picture|>' }}",
        "{%- if numbers %}{%- set seen.at = seen.at + 1 %}"
        "{{- 'Photo ' ~ seen.at ~ ': ' }}{% endif %}"
        "{{- '<|picture|>' }}",
    )
    analysis = analyze(ChatTemplate("{%- set seen = namespace(at=0) %}" + counted, TOKENS))
    for switches, refused in (({}, False), ({"numbers": True}, True)):
        renderer = Renderer(analysis, small(), switches=switches)
        prompt = renderer.render(TWO[:2], add_generation_prompt=True)
        following = renderer.bridge_to_next_turn(
            prompt.token_ids, renderer.encode("Cats."), [user(PICTURE)]
        )
        assert isinstance(following, BridgeRefusal) is refused, following


@pytest.mark.parametrize("name", ["apart", "counted", "inline", "moved", "numbered"])
def test_a_bridge_writes_new_pictures_as_the_template_does_or_refuses(name: str) -> None:
    renderer = rendering(name)
    prompt = renderer.render(TWO[:2], add_generation_prompt=True)
    new = [user(text("And "), PICTURE)]
    following = renderer.bridge_to_next_turn(prompt.token_ids, renderer.encode("Cats."), new)
    if name in ("counted", "numbered"):
        # What was given holds none that could be counted: others may stand for them in the ids.
        assert isinstance(following, BridgeRefusal)
        assert (following.reason, following.detail) == (
            Reason.DEPENDS,
            "new_messages[0].content[1]: each image has a number",
        )
        return
    assert isinstance(following, RenderedTokens), following
    messages = [*TWO[:2], {"role": "assistant", "content": "Cats."}, *new]
    whole = renderer.analysis.template.render(messages, add_generation_prompt=True)
    assert renderer.decode(following.token_ids) == whole
