"""The attacks of `fixtures/attacks`, and how each has to end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from autoparser import ChatTemplate

FOLDER = Path(__file__).parents[3] / "fixtures" / "attacks"

CHAT = """{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
"""What `with: chat` puts before the attack."""

HOLE = "@"
"""Where in a template its repeated part goes."""

ENDS = ("time", "memory", "output", "refused", "syntax", "analysed", "any")
"""`time`, `memory`, `output`: by this limit; `any`: in whichever of these ways it may. What grows
fast on one machine takes its time on another, hence `memory or time`."""


@dataclass(frozen=True)
class Attack:
    """A hostile template."""

    name: str
    text: str
    ends: str
    says: str = ""

    @property
    def template(self) -> ChatTemplate:
        return ChatTemplate(self.text, origin=self.name)


def attacks() -> list[Attack]:
    """Return all of them; a member of a file that has no meaning is an error."""
    found: list[Attack] = []
    for path in sorted(FOLDER.glob("*.yaml")):
        document: Mapping[str, Mapping[str, Any]] = yaml.safe_load(path.read_bytes())
        found += [_attack(name, **members) for name, members in document.items()]
    names = [each.name for each in found]
    assert len(names) == len(set(names)), "two attacks have one name"
    return found


def _attack(
    name: str,
    *,
    template: str,
    ends: str,
    says: str = "",
    about: str = "",
    repeat: Mapping[str, Any] | None = None,
    numbered: Mapping[str, Any] | None = None,
    **around: str,
) -> Attack:
    del about
    assert set(ends.split(" or ")) <= set(ENDS), ends
    assert around in ({}, {"with": "chat"}), around
    text = template
    if repeat is not None:
        before, after = repeat["before"] * repeat["times"], repeat.get("after", "")
        # The hole is between the two sides; a repeated text without a second side fills it.
        inner = "x" if after else ""
        text = text.replace(HOLE, before + inner + after * repeat["times"])
    if numbered is not None:
        parts = (numbered["text"].replace("#", f"{n:05}") for n in range(numbered["times"]))
        text = text.replace(HOLE, "".join(parts))
    return Attack(name, CHAT + text if around else text, ends, says)
