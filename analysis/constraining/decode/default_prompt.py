"""A prompt to decode after, where none is given: one question, the tools offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from autoparser.analysis.core.conversation import Tool, User
from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.inference.probing.shape import Shape, offered
from autoparser.analysis.loading.template import ChatTemplate

QUESTION = "Please look into it, and use the tools where they are of use."


def rendered_prompt(
    template: ChatTemplate,
    shape: Shape,
    tools: Sequence[object],
    special_tokens: Mapping[str, str],
    switches: Mapping[str, object] | None = None,
) -> str:
    """Render a prompt in the shape that the template takes, under these switches.

    `special_tokens` are those beside the template's own. Raises AutoparserError where the
    template refuses.
    """
    functions = [cast("Tool", cast("Tool", tool).get("function", tool)) for tool in tools]
    try:
        return template.render(
            shape.messages((User(QUESTION),), "Be brief."),
            tools=offered(functions, shape) if functions else None,
            add_generation_prompt=True,
            **{**special_tokens, **(switches or {})},  # type: ignore[arg-type]
        )
    except (TemplateRenderError, TypeError, ValueError) as error:
        raise AutoparserError(
            f"no prompt can be rendered: {error}", hint="give one with --prompt FILE"
        ) from error
