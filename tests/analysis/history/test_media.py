"""Placeholders of images among the tokens, other ids in their place, and bridges over them."""

from __future__ import annotations

from functools import cache
from typing import Any
from unittest.mock import Mock

import pytest

from autoparser import Analysis, ChatTemplate, Renderer, analyze
from autoparser.analysis.history.bridge_refusals import BridgeRefusal
from autoparser.analysis.history.rendered_tokens import MediaTokens
from autoparser.errors import RequestError
from autoparser.render import RenderedTokens
from tests.case_tables import load_cases
from tests.lanes import sampled

from .renderers import FIXTURES, TOKENS, small

TABLES = load_cases(__file__, "media.yaml")
PICTURE: dict[str, Any] = {"type": "image", "image": "cat.png"}


NUMBERED_BY_A_SWITCH = (
    "{%- if numbers %}{%- set seen.at = seen.at + 1 %}"
    "{{- 'Photo ' ~ seen.at ~ ': ' }}{% endif %}{{- '<|picture|>' }}"
)


@cache
def media_analysis(name: str) -> Analysis:
    if name == "switched":
        text = media_analysis("inline").template.text
        numbered = text.replace("{{- '<|picture|>' }}", NUMBERED_BY_A_SWITCH)
        return analyze(ChatTemplate("{%- set seen = namespace(at=0) %}" + numbered))
    text = (FIXTURES / "parts" / f"{name}.jinja").read_text(encoding="utf-8")
    return analyze(ChatTemplate(text, TOKENS))


def media_renderer(name: str, **options: Any) -> Renderer:
    return Renderer(media_analysis(name), small(), **options)


def user(*parts: str | dict[str, Any]) -> dict[str, Any]:
    texts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    return {"role": "user", "content": texts}


TWO = [
    {"role": "system", "content": "Be brief."},
    user("one ", PICTURE, " two ", PICTURE),
    {"role": "assistant", "content": "Cats."},
    user(PICTURE, PICTURE, "three"),
]
PLACEHOLDERS = TABLES["placeholders"]
ALONE = TABLES["alone"]


@pytest.mark.parametrize("name", sampled(PLACEHOLDERS, 7))
def test_each_image_part_has_the_tokens_of_its_placeholder(name: str) -> None:
    renderer = media_renderer(name)
    prompt = renderer.render(TWO, add_generation_prompt=True)
    places = [(medium.message, medium.part) for medium in prompt.media]
    assert sorted(places) == [(1, 1), (1, 3), (3, 0), (3, 1)]
    for medium, placeholder in zip(prompt.media, PLACEHOLDERS[name], strict=True):
        assert medium.kind == "image"
        assert prompt.token_ids[medium.start : medium.end] == medium.token_ids
        assert renderer.decode(medium.token_ids) == placeholder
        assert not any(prompt.sampled[medium.start : medium.end])
    for before, after in ((), ("one",)), (("one",), ()), (("one",), ("two",)):
        if name in ALONE:
            parts = user(*before, PICTURE, *after)
            (found,) = renderer.render([parts], add_generation_prompt=True).media
            assert (found.message, found.part) == (0, len(before))
            assert renderer.decode(found.token_ids) == ALONE[name]


@pytest.mark.slow
def test_typed_placeholder_is_text_and_missing_media_tokens_raise() -> None:
    renderer = media_renderer("moved")
    prompt = renderer.render([user("a (picture) of", PICTURE, " (picture)")])
    (found,) = prompt.media
    assert renderer.decode(prompt.token_ids[: found.end]) == "user: (picture)"
    renderer = media_renderer("inline")
    messages = [user("hear", {"type": "audio", "audio": "cat.wav"})]
    assert renderer.render(messages).media == ()
    with pytest.raises(RequestError, match=r"content\[1\]: the prompt has no tokens for this"):
        renderer.render(messages, expand=lambda _: None)


def outside(values: tuple[Any, ...], media: tuple[MediaTokens, ...]) -> list[Any]:
    inside = {at for tokens in media for at in range(tokens.start, tokens.end)}
    return [value for at, value in enumerate(values) if at not in inside]


def test_replaced_placeholder_ids_are_bridged() -> None:
    renderer = media_renderer("inline")
    plain = renderer.render(TWO, add_generation_prompt=True)
    (pad,) = renderer.encode("#")
    given: list[MediaTokens] = []

    def expand(media: MediaTokens) -> list[int] | None:
        given.append(media)
        return None if media.part == 3 else [pad] * (7 + media.part)

    prompt = renderer.render(TWO, add_generation_prompt=True, expand=expand)
    assert given == list(plain.media)
    for one, other in zip(plain.media, prompt.media, strict=True):
        wanted = one.token_ids if one.part == 3 else (pad,) * (7 + one.part)
        assert prompt.token_ids[other.start : other.end] == wanted
        assert set(prompt.message_indices[other.start : other.end]) == {one.message}
    # Outside of the placeholders nothing changes.
    for row in ("token_ids", "message_indices", "is_content", "sampled", "loss_mask"):
        kept = [outside(getattr(rendered, row), rendered.media) for rendered in (plain, prompt)]
        assert kept[0] == kept[1]
        assert len(getattr(prompt, row)) == len(prompt)
    new = [{"role": "user", "content": "And now?"}]
    bridge = renderer.bridge_to_next_turn(prompt.token_ids, renderer.encode("A cat.<|end|>"), new)
    assert isinstance(bridge, RenderedTokens), bridge
    assert bridge.token_ids[: len(prompt)] == prompt.token_ids


def test_text_conversation_costs_no_extra_renders(monkeypatch: pytest.MonkeyPatch) -> None:
    renderer = media_renderer("inline")
    messages = [user("one"), {"role": "assistant", "content": "two"}]
    renderer.attribute(messages)
    # The text between messages is cached by now.
    render = Mock(side_effect=renderer.analysis.template.render_prepared)
    monkeypatch.setattr(ChatTemplate, "render_prepared", lambda _, variables: render(variables))
    renderer.attribute(messages)
    attributed = render.call_count
    renderer.render(messages)
    assert render.call_count == 2 * attributed > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "switches"),
    [(name, {}) for name in ("apart", "counted", "inline", "moved", "numbered", "switched")]
    + [("switched", {"numbers": True})],
)
def test_bridge_renders_new_images_like_the_template_or_refuses(
    name: str, switches: dict[str, bool]
) -> None:
    renderer = media_renderer(name, switches=switches)
    prompt = renderer.render(TWO[:2], add_generation_prompt=True).token_ids
    new = [user("And ", PICTURE)]
    found = renderer.bridge_to_next_turn(prompt, renderer.encode("Cats."), new)
    if name in ("counted", "numbered") or switches:
        # The given tokens contain no image that could be counted: other ids may stand for one.
        assert isinstance(found, BridgeRefusal)
        assert found.reason.name == "DEPENDS"
        assert found.detail == "new_messages[0].content[1]: each image has a number"
        return
    assert isinstance(found, RenderedTokens), found
    messages = [*TWO[:2], {"role": "assistant", "content": "Cats."}, *new]
    whole = renderer.analysis.template.render(messages, add_generation_prompt=True)
    assert renderer.decode(found.token_ids) == whole
