"""An edited template of round trips, and renders that never end."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT, Run

pytestmark = pytest.mark.slow

GOOD = "fixtures/templates/history-last-query.jinja"
CALLS = "{% for call in message.tool_calls or [] %}{{ call.function | tojson }}{% endfor %}"
# It ends for no more than three messages.
ENDLESS = (
    "{%- if messages | length > 3 %}{% for a in range(99999) %}{% for b in range(9999) %}"
    "{% set c = b %}{% endfor %}{% endfor %}{% endif %}"
    "{%- for message in messages %}"
    "{{ '<|' + message.role + '|>' + message.content }}CALLS{{ '<|end|>' }}"
    "{%- endfor %}{%- if add_generation_prompt %}<|assistant|>{% endif %}"
)


def test_an_edited_template_is_a_diff_or_a_file(tmp_path: Path, autoparser: Run) -> None:
    choice = ("--scenario", "reasoning + answer", "--to", "template")
    ran = autoparser("roundtrip", GOOD, *choice)
    assert ran.code == 0
    told = "1 edit: 1 more hold: reasoning + answer.\nRendered to the same text: "
    assert ran.err.startswith(told)
    edited = tmp_path / "edited.jinja"
    assert autoparser("roundtrip", GOOD, *choice, "--output", edited).out == ""
    (tmp_path / "fixtures/templates").mkdir(parents=True)
    shutil.copy(ROOT / GOOD, tmp_path / GOOD)
    patch = ["patch", "-p1", "--quiet"]
    subprocess.run(patch, cwd=tmp_path, input=ran.out, text=True, check=True)  # noqa: S603
    assert (tmp_path / GOOD).read_text("utf-8") == edited.read_text("utf-8")
    again = autoparser("roundtrip", edited, *choice)
    assert (again.code, again.out) == (0, "")
    assert again.err == "Nothing breaks, so nothing is edited.\n"


@pytest.mark.parametrize(("calls", "options"), [("", ()), (CALLS, ("--full",))])
def test_renders_that_never_end_are_missing_and_said_to_be(
    tmp_path: Path, calls: str, options: tuple[str, ...], process: Run
) -> None:
    (tmp_path / "endless.jinja").write_text(ENDLESS.replace("CALLS", calls), "utf-8")
    ran = process("roundtrip", "endless.jinja", "--timeout", "4", *options, cwd=tmp_path)
    assert ran.code == 2
    assert "ended by a limit: conversations such as these are not among the" in ran.out
    assert "ended by a limit: nothing is known of such conversations" in ran.err
    assert "the template raises" not in ran.out, "a limit is not the template's word"
    assert ("a limit ended the next request" in ran.out) is bool(options)
