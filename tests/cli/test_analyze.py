"""The command ``analyze``: its exit codes, its outputs, and what a terminal gets to see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

try:
    import pty
except ImportError:  # not on Windows
    pty = None  # type: ignore[assignment]

Run = Callable[..., Any]
GOOD = "fixtures/templates/j1-json-in-tags.jinja"

# Content that holds a tag comes out in capitals, which no format describes.
UNFAITHFUL = """
{%- for message in messages %}
{{- '<|' + message.role + '|>' }}
{{- message.content | upper if '<b>' in message.content else message.content }}
{{- '<|end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}
"""

# Numbers and all else that is not a string make it crash.
NUMBERS = """
{%- for message in messages %}{{- '<|' + message.role + '|>' + message.content }}
{%- for call in message.tool_calls or [] %}{{- '<call ' + call.function.name + '>' }}
{%- for key, value in call.function.arguments.items() %}
{{- '<' + key + '>' + value + '</' + key + '>' }}
{%- endfor %}{{- '</call>' }}{%- endfor %}{{- '<|end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}
"""


@pytest.fixture
def unfaithful(tmp_path: Path) -> Path:
    """A template that some messages of the self-check do not come out of."""
    source = tmp_path / "unfaithful.jinja"
    source.write_text(UNFAITHFUL, encoding="utf-8")
    return source


def test_an_analysis_that_holds_ends_with_0(autoparser: Run) -> None:
    ran = autoparser("analyze", GOOD)
    assert (ran.code, ran.err) == (0, "")
    assert "self-check 47/47" in ran.out


def test_failures_in_the_self_check_end_with_1_and_show_the_smallest(
    unfaithful: Path, autoparser: Run
) -> None:
    ran = autoparser("analyze", unfaithful, "--full")
    assert (ran.code, ran.err) == (1, "")
    assert "self-check 46/47" in ran.out
    tail = ran.out[ran.out.index("Self-check: 46 of 47 messages come out right") :]
    assert "content with markup: the assistant's message is not written as" in tail
    difference = tail[tail.index("  - what the template renders") :].splitlines()
    assert difference[1:6] == ["    <|assistant|>U", "  - SE <B", "  + se <b", "    > & [", "  - X"]


APPENDS = "fixtures/templates/list-changed.jinja"


def test_a_template_that_transformers_refuses_ends_with_1_and_names_the_line(
    autoparser: Run,
) -> None:
    ran = autoparser("analyze", APPENDS, "--full")
    said = " ".join(ran.out.split())
    assert (ran.code, ran.err) == (1, "")
    assert "self-check 8/47: 8 written as the template renders them, 39 crash it (line 10:" in said
    assert "transformers refuses this template (line 10: SecurityError" in said
    assert "each between `<call>` and `</call>`" in said


def test_the_document_of_such_a_template_says_so(process: Run) -> None:
    ran = process("analyze", APPENDS, "--json")
    assert ran.code == 1
    found = json.loads(ran.out)
    reason = "SecurityError: access to attribute 'append' of 'list' object is unsafe."
    assert found["sandbox"] == {"file": APPENDS, "line": 10, "reason": reason, "right": 39}
    check = found["check"]
    assert (check["passed"], check["equal"], check["crashed"]) == (8, 8, 39)
    assert [(crash["line"], crash["needed"]) for crash in check["crashes"]] == [(10, True)]


def test_a_crash_on_numbers_ends_with_1_and_names_the_line(tmp_path: Path, autoparser: Run) -> None:
    source = tmp_path / "numbers.jinja"
    source.write_text(NUMBERS, encoding="utf-8")
    screen = autoparser("analyze", source)
    assert f"{source}:5:1 " in "".join(screen.out.split("\n           "))
    assert screen.out.endswith(" --show faults\n")
    ran = autoparser("analyze", source, "--full")
    said = " ".join(ran.out.split())
    assert (ran.code, ran.err) == (1, "")
    assert "crash it (line 5: TypeError: can only concatenate str" in said
    assert "the template crashes on this message, as the analysis says" in said


def test_output_writes_plain_text_and_prints_nothing(tmp_path: Path, autoparser: Run) -> None:
    written = tmp_path / "report.txt"
    ran = autoparser("analyze", GOOD, "--output", written)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert written.read_text(encoding="utf-8") == autoparser("analyze", GOOD).out


def test_output_of_a_failed_check_says_so(
    unfaithful: Path, tmp_path: Path, autoparser: Run
) -> None:
    written = tmp_path / "report.json"
    ran = autoparser("analyze", unfaithful, "--json", "-o", written)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"{unfaithful}: self-check 46/47, see {written}\n"
    assert json.loads(written.read_bytes())["check"]["passed"] == 46


def test_json_is_the_same_in_every_process(process: Run) -> None:
    first, second = (
        process("analyze", GOOD, "--json", PYTHONHASHSEED=seed, TZ=zone)
        for seed, zone in (("1", "UTC"), ("4711", "Asia/Tokyo"))
    )
    assert first.code == 0
    assert first.out == second.out
    assert first.out.isascii()
    assert json.loads(first.out)["schema"] == "autoparser.analysis/2"


def test_a_template_comes_from_standard_input(process: Run) -> None:
    source = Path(__file__).parents[2] / GOOD
    ran = process("analyze", "-", stdin=source.read_bytes())
    assert ran.code == 0
    assert ran.out.startswith("Template   standard input\n")


def test_a_named_template_is_chosen(tmp_path: Path, autoparser: Run) -> None:
    texts = {"default": "{{ messages[0].content }}", "tool_use": Path(GOOD).read_text("utf-8")}
    config = {"chat_template": [{"name": n, "template": t} for n, t in texts.items()]}
    source = tmp_path / "tokenizer_config.json"
    source.write_text(json.dumps(config), encoding="utf-8")
    ran = autoparser("analyze", source, "--name", "tool_use")
    assert ran.code == 0
    assert "(named tool_use)" in ran.out.replace("\n              ", " ")


def test_phases_are_shown_in_their_order_whatever_the_case(autoparser: Run) -> None:
    ran = autoparser("analyze", GOOD, "--phase", "t3", "--phase", "R2")
    shown = [line for line in ran.out.splitlines() if line.startswith("Phase ")]
    assert shown == ["Phase R2 reasoning switch", "Phase T3 separators"]
    assert "Markers" not in ran.out


@pytest.mark.parametrize("name", ["summary", "markers", "switches", "call", "turn", "phases"])
def test_a_section_alone_is_the_one_of_the_whole_report(name: str, autoparser: Run) -> None:
    ran = autoparser("analyze", GOOD, "--show", name)
    assert ran.code == 0
    assert ran.out in autoparser("analyze", GOOD, "--full").out


def test_a_section_without_anything_says_so(autoparser: Run) -> None:
    assert (
        autoparser("analyze", GOOD, "--show", "faults").out == "faults: there is nothing to show\n"
    )


def test_an_unknown_section_is_suggested(autoparser: Run) -> None:
    ran = autoparser("analyze", GOOD, "--show", "marker")
    assert (ran.code, ran.out) == (2, "")
    assert "there is no 'marker' to show; did you mean markers?" in ran.err


def test_a_terminal_gets_links_to_places_and_a_pipe_gets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autoparser: Run
) -> None:
    source = tmp_path / "numbers.jinja"
    source.write_text(NUMBERS, encoding="utf-8")
    assert "\x1b" not in autoparser("analyze", source).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert f";{source.as_uri()}\x1b\\" in autoparser("analyze", source).out


def test_a_pipe_gets_no_escape_and_colour_can_be_refused(process: Run) -> None:
    for variables in ({}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}):
        ran = process("analyze", GOOD, **variables)
        assert ran.code == 0
        assert "\x1b[3" not in ran.out
    assert "\x1b" not in process("analyze", GOOD).out


def test_a_terminal_that_knows_no_sign_gets_escapes(process: Run) -> None:
    ran = process("analyze", GOOD, PYTHONIOENCODING="ascii")
    assert ran.code == 0
    assert "<|im_start|>assistant\\u21b5" in ran.out


@pytest.mark.skipif(pty is None, reason="no pseudo terminals here")
@pytest.mark.parametrize(("no_color", "coloured"), [(None, True), ("1", False)])
def test_a_terminal_gets_colour_unless_it_is_refused(
    no_color: str | None, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)
    shown = _in_terminal([sys.executable, "-m", "autoparser", "analyze", GOOD])
    assert b"self-check 47/47" in shown
    assert (b"\x1b[36m" in shown) is coloured


def _in_terminal(command: list[str]) -> bytes:
    pieces: list[bytes] = []

    def keep(descriptor: int) -> bytes:
        pieces.append(os.read(descriptor, 65536))
        return pieces[-1]

    code = pty.spawn(command, keep)
    assert os.waitstatus_to_exitcode(code) == 0
    return b"".join(pieces)


def test_a_reader_that_goes_away_leaves_no_traceback() -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen(  # noqa: S603 - the interpreter that runs the tests
        [sys.executable, "-m", "autoparser", "analyze", GOOD, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=root,
    ) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.read(10)
        writer.stdout.close()
        assert writer.stderr.read() == b""


def test_help_names_every_option(autoparser: Run) -> None:
    ran = autoparser("analyze", "--help")
    assert ran.code == 0
    for option in ("--name", "--phase", "--full", "--diffs", "--json", "--output"):
        assert option in ran.out
    assert "analyze" in autoparser().out
    assert "analyze" in autoparser("--help").out


def test_help_does_without_the_engine() -> None:
    code = (
        "import sys; from autoparser.cli.main import run; run(['--help']);"
        "print(*(name for name in ('jinja2', 'yaml', 'rich.console') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)  # noqa: S603
    assert done.stdout.decode().splitlines()[-1] == ""


OWN_TOOLS = ("--tools", "fixtures/mcp-tools.json")


def test_json_holds_what_of_the_tools_reaches_the_prompt(autoparser: Run) -> None:
    ran = autoparser("analyze", "fixtures/lint/AP534/fires.jinja", "--json", *OWN_TOOLS)
    found = json.loads(ran.out)["tools_in_prompt"]
    assert (ran.code, found["tools"]) == (1, 2)
    (crash,) = found["crashes"]
    assert (crash["cause"], crash["tools"]) == ("an object without properties", ["opening_hours"])
    assert crash["smallest"] == {"name": "opening_hours", "parameters": {"type": "object"}}
    lost = {each["keyword"]: each["places"] for each in found["lost"]}
    place = {"tool": "reserve_table", "pointer": "#/parameters/properties/seats/default"}
    assert lost["default"] == [place]


def test_tools_that_are_written_whole_are_told_so(autoparser: Run) -> None:
    ran = autoparser("analyze", "fixtures/lint/AP534/quiet.jinja", *OWN_TOOLS)
    assert ran.code == 0
    assert ran.out.endswith("together, and all reach the prompt.\n")


@pytest.mark.parametrize("other", [("--phase", "T3"), ("--show", "turn"), ("--format", "file")])
def test_tools_are_not_asked_where_nothing_shows_them(
    other: tuple[str, ...], autoparser: Run
) -> None:
    ran = autoparser("analyze", "fixtures/lint/AP534/quiet.jinja", *OWN_TOOLS, *other)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("--tools shows what of the tools reaches the prompt")
