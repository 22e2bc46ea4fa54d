"""The command roundtrip: its table, its JSON, its choices, its exit codes, and wrong uses."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.analysis.history.vocabularies import tiny

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]
GOOD = "fixtures/templates/history-last-query.jinja"
TABLE = """\
fixtures/templates/history-last-query.jinja: self-check 47/47
2 hold, 2 break.
The verdicts hold with no switch set; 3 more settings tried, those that differ
are named.
No tokenizer: --tokenizer PATH judges the tokens, too.

The template writes the message otherwise: 2
scenario                       next      string  tokens   why it breaks
reasoning + answer             user      breaks  -        reasoning dropped
tool call + reasoning          later     breaks  -        reasoning dropped

What comes back as it was sampled: 2
scenario                       next      string  tokens   why it breaks
tool call + reasoning          tool      holds   -
argument order                 tool      holds   -

Under other settings
  holds with preserve_thinking=true: reasoning + answer · tool call +
    reasoning (later)

↵ is a newline, ⇥ a tab, ␣ a space at an edge

reasoning dropped: 2 of 4
  the reasoning of a turn is not in the history any more.
"""


def test_the_table(autoparser: Run) -> None:
    names = ("reasoning + answer", "tool call + reasoning", "argument order")
    ran = autoparser("roundtrip", GOOD, *(part for name in names for part in ("--scenario", name)))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(TABLE)
    assert all(len(line) <= 80 for line in ran.out.splitlines())


def test_all_scenarios_are_played(autoparser: Run) -> None:
    ran = autoparser("roundtrip", GOOD, "--full")
    assert (ran.code, ran.err) == (0, "")
    assert "Scenarios that do not apply" in ran.out
    assert all(len(line) <= 80 for line in ran.out.splitlines())


def test_what_traffic_lost_is_written_as_json(autoparser: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text((ROOT / "fixtures/traffic/last-query.jsonl").read_text("utf-8") + '{"prompt"\n')
    ran = autoparser("roundtrip", GOOD, "--log", log, "--json")
    document = json.loads(ran.out)
    schema = json.loads((ROOT / "docs" / "traffic.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(document)
    assert (document["requests"], document["continued"], document["unit"]) == (4, 2, "characters")
    (cause,) = document["causes"]
    assert (cause["cause"], cause["requests"]) == ("reasoning-dropped", 2)
    assert cause["lost"] == document["lost"] == sum(loss["lost"] for loss in document["losses"])
    first = document["losses"][0]
    assert (first["line"], first["after"]) == (2, 1)
    assert "preserve_thinking=true" in cause["advice"][-1]["text"]
    assert [each["place"] for each in document["unread"]] == ["line 5"]


def test_json_is_as_its_schema_says(autoparser: Run) -> None:
    ran = autoparser("roundtrip", GOOD, "--json")
    schema = json.loads((ROOT / "docs" / "roundtrip.schema.json").read_text("utf-8"))
    document = json.loads(ran.out)
    Draft202012Validator(schema).validate(document)
    assert ran.out.isascii()
    row = next(row for row in document["scenarios"] if row["scenario"] == "reasoning + answer")
    assert row["fixed_by"] == {"preserve_thinking": True}
    assert row["verdict"]["cause"] == "reasoning-dropped"


SWITCHES = [
    ("preserve_thinking=true", "preserve_thinking=true", "holds"),
    ("preserve_thinking=yes", "preserve_thinking=yes", "holds"),
    ("preserve_thinking=false", "preserve_thinking=false", "breaks"),
]


@pytest.mark.parametrize(("given", "shown", "outcome"), SWITCHES)
def test_a_switch_is_set(given: str, shown: str, outcome: str, autoparser: Run) -> None:
    ran = autoparser("roundtrip", GOOD, "--scenario", "reasoning + answer", "--switch", given)
    assert (ran.code, ran.err) == (0, "")
    assert f"The verdicts hold with {shown}." in ran.out
    row = next(line for line in ran.out.splitlines() if line.startswith("reasoning + answer"))
    assert row.split()[4] == outcome


def test_a_switch_that_is_none_is_warned_of(autoparser: Run) -> None:
    ran = autoparser("roundtrip", GOOD, "--scenario", "answer", "--switch", "preserve_thinkin=1")
    assert ran.code == 0
    assert ran.err == (
        f"{GOOD}: warning: this template reads no variable 'preserve_thinkin';"
        " did you mean preserve_thinking?\n"
    )


EXITS = [
    ((), 0),
    (("--fail-on", "any"), 1),
    (("--fail-on", "string"), 1),
    (("--fail-on", "reasoning-dropped"), 1),
    (("--fail-on", "ids"), 0),
    (("--fail-on", "ids", "--fail-on", "any"), 1),
    (("--fail-on", "any", "--switch", "preserve_thinking=true"), 0),
    (("--fail-on", "any", "--json"), 1),
]


@pytest.mark.parametrize(("options", "code"), EXITS)
def test_the_exit_code_is_what_was_asked_for(
    options: tuple[str, ...], code: int, autoparser: Run
) -> None:
    ran = autoparser("roundtrip", GOOD, "--scenario", "reasoning + answer", *options)
    assert ran.code == code


def test_a_tokenizer_is_found_beside_the_template_or_given(tmp_path: Path, autoparser: Run) -> None:
    shutil.copy(ROOT / GOOD, tmp_path / "chat_template.jinja")
    choice = ("--scenario", "many parameters")
    assert "No tokenizer" in autoparser("roundtrip", tmp_path, *choice).out
    tiny("<|im_start|>", "<|im_end|>").save(str(tmp_path / "tokenizer.json"))
    for arguments in ((tmp_path,), (GOOD, "--tokenizer", tmp_path)):
        ran = autoparser("roundtrip", *arguments, *choice)
        row = next(line for line in ran.out.splitlines() if line.startswith("many parameters"))
        reused, _, sampled = row.split()[4].partition("/")
        assert int(reused) == int(sampled) > 0


def test_a_tokenizer_of_another_model_is_warned_of(tmp_path: Path, autoparser: Run) -> None:
    tiny().save(str(tmp_path / "tokenizer.json"))
    ran = autoparser(
        "roundtrip", GOOD, "--tokenizer", tmp_path / "tokenizer.json", "--scenario", "answer"
    )
    words = " ".join(ran.out.split())
    assert "The stop string `<|im_end|>` is " in words
    assert "is this the model's own tokenizer?" in words


def test_a_persons_own_scenarios_are_played_too(tmp_path: Path, autoparser: Run) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("- {name: mine, sampled: 'No.<|im_end|>'}\n", encoding="utf-8")
    ran = autoparser("roundtrip", GOOD, "--scenarios", own, "--scenario", "mine")
    assert (ran.code, ran.err) == (0, "")
    assert "\nmine  " in ran.out
    assert "\nmine  " in autoparser("roundtrip", GOOD, "--scenarios", own, "--full").out


def test_a_self_check_that_fails_is_warned_of(tmp_path: Path, autoparser: Run) -> None:
    source = tmp_path / "odd.jinja"
    source.write_text(
        "{% for m in messages %}{{ m.role }}:{{ m.content|replace('a', 'b') }}\n{% endfor %}",
        encoding="utf-8",
    )
    ran = autoparser("roundtrip", source, "--scenario", "answer")
    assert ran.code == 0
    assert "warning: self-check" in ran.err


def test_a_broken_file_names_the_place(tmp_path: Path, autoparser: Run) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("- {name: mine, mesage: {content: x}}\n", encoding="utf-8")
    ran = autoparser("roundtrip", GOOD, "--scenarios", own)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(
        f"{own}: scenarios[0].mesage: there is no key 'mesage'; did you mean message?"
    )
    assert ran.err.count("\n") == 1


def test_a_turn_goes_into_the_history_as_an_engine_puts_it(autoparser: Run) -> None:
    choice = ("--scenario", "tool call + reasoning", "--scenario", "engine-made ids")
    for name, outcome in (("vllm", "holds"), ("transformers", "breaks")):
        document = json.loads(
            autoparser("roundtrip", GOOD, *choice, "--profile", name, "--json").out
        )
        (row,) = [each for each in document["scenarios"] if each["next"] == "tool"]
        assert row["verdict"]["string"] == outcome
        assert document["engine"]["name"].lower() == name
        (left,) = document["not_applicable"]
        assert (left["scenario"], "decides" in left["reason"]) == ("engine-made ids", True)
        fault = None if outcome == "holds" else "engine"
        assert row["verdict"]["fault"] == fault


USES = [
    ((GOOD, "--profile", "vlm"), "there is no engine 'vlm'; did you mean vllm?"),
    ((), "Missing argument"),
    (("nowhere.jinja",), "there is no file or directory"),
    ((GOOD, "--scenario", "tool cal"), "there is no scenario 'tool cal'; did you mean tool call?"),
    ((GOOD, "--scenario", "x"), "there is no scenario 'x'; --full lists all "),
    ((GOOD, "--scenarios", "nowhere.yaml"), "nowhere.yaml: there is no such file"),
    ((GOOD, "--switch", "thinking"), "give --switch NAME=VALUE"),
    ((GOOD, "--switch", "messages=1"), "messages is not a switch; "),
    ((GOOD, "--scenarios", "/dev/null"), "/dev/null: this is empty; give a list of scenarios"),
    ((GOOD, "--fail-on", "json-space"), "did you mean json-spacing?"),
    ((GOOD, "--fail-on", "tokens"), "needs a tokenizer"),
    ((GOOD, "--tokenizer", "nowhere"), "nowhere: there is no tokenizer here"),
    ((GOOD, "--tokenizer", "fixtures"), "fixtures: there is no tokenizer here"),
    ((GOOD, "--tokenizer", "fixtures/tools.yaml"), "this is not a tokenizer"),
    (("fixtures/broken/raises-always.jinja",), "raises on every conversation"),
]


@pytest.mark.parametrize(("arguments", "words"), USES)
def test_a_wrong_use_is_one_line(arguments: tuple[str, ...], words: str, autoparser: Run) -> None:
    ran = autoparser("roundtrip", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_a_conversation_that_the_template_refuses_is_told_in_its_own_words(
    tmp_path: Path, autoparser: Run
) -> None:
    source = tmp_path / "strict.jinja"
    source.write_text(
        "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools here') }}"
        "{% endif %}<|{{ m.role }}|>{{ m.content }}"
        "{% for c in m.tool_calls or [] %}<call>{{ c.function|tojson }}</call>{% endfor %}<|end|>"
        "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
        encoding="utf-8",
    )
    ran = autoparser("roundtrip", source, "--scenario", "tool call")
    assert ran.code == 0
    assert "no tools here" in ran.out
    assert "Error" not in ran.out


@pytest.mark.slow
def test_an_edited_template_is_a_diff_or_a_file(tmp_path: Path, autoparser: Run) -> None:
    choice = ("--scenario", "reasoning + answer", "--to", "template")
    ran = autoparser("roundtrip", GOOD, *choice)
    assert ran.code == 0
    assert ran.err.startswith(
        "1 edit: 1 more hold: reasoning + answer.\nRendered to the same text: "
    )
    edited = tmp_path / "edited.jinja"
    assert autoparser("roundtrip", GOOD, *choice, "--output", edited).out == ""
    (tmp_path / "fixtures/templates").mkdir(parents=True)
    shutil.copy(ROOT / GOOD, tmp_path / GOOD)
    subprocess.run(
        ["patch", "-p1", "--quiet"],  # noqa: S607
        cwd=tmp_path,
        input=ran.out,
        text=True,
        check=True,
    )
    assert (tmp_path / GOOD).read_text("utf-8") == edited.read_text("utf-8")
    again = autoparser("roundtrip", edited, *choice)
    assert (again.code, again.out) == (0, "")
    assert again.err == "Nothing breaks, so nothing is edited.\n"


def test_where_no_edit_is_found_the_exit_code_and_the_reason_say_so(autoparser: Run) -> None:
    ran = autoparser("roundtrip", GOOD, "--scenario", "compact JSON, nested", "--to", "template")
    assert (ran.code, ran.out) == (1, "")
    assert "No template can fix what no message holds: 1" in ran.err


def test_what_says_nothing_of_an_edited_template_is_refused(autoparser: Run) -> None:
    ran = autoparser("roundtrip", GOOD, "--to", "template", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert "--json says nothing beside --to" in ran.err


ENDLESS = (
    "{%- if messages | length > 3 %}{% for a in range(99999) %}{% for b in range(9999) %}"
    "{% set c = b %}{% endfor %}{% endfor %}{% endif %}"
    "{%- for message in messages %}"
    "{{ '<|' + message.role + '|>' + message.content }}{{ '<|end|>' }}"
    "{%- endfor %}{%- if add_generation_prompt %}<|assistant|>{% endif %}"
)
"""It ends for no more than three messages."""
CALLING = ENDLESS.replace(
    "{{ '<|end|>'",
    "{% for call in message.tool_calls or [] %}{{ call.function | tojson }}{% endfor %}"
    "{{ '<|end|>'",
)


@pytest.mark.parametrize(("template", "options"), [(ENDLESS, ()), (CALLING, ("--full",))])
def test_renders_that_never_end_are_missing_and_said_to_be(
    tmp_path: Path, template: str, options: tuple[str, ...]
) -> None:
    (tmp_path / "endless.jinja").write_text(template, "utf-8")
    given = ["-m", "autoparser", "roundtrip", "endless.jinja", "--timeout", "4", *options]
    ran = subprocess.run(  # noqa: S603 - the interpreter that runs the tests
        [sys.executable, *given],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert "ended by a limit: conversations such as these are not among the" in ran.stdout
    assert "ended by a limit: nothing is known of such conversations" in ran.stderr
    assert "the template raises" not in ran.stdout, "a limit is not the template's word"
    assert ("a limit ended the next request" in ran.stdout) is bool(options)
