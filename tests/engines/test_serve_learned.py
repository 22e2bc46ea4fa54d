"""A format that was learned from a log, in front of a real server: the page on it, run to its end.

The template writes neither calls nor reasoning. The judge is labeled outputs that are not in the
log: the server writes one, and the client gets the message that its label says.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser import load_template

from .chats import answered, streamed
from .padding import padded_message
from .page_commands import commands_of, endpoint, ran
from .parrot import Parrot
from .running_llama import RunningLlama, running_llama

pytestmark = [pytest.mark.slow, pytest.mark.engine]

LEARNING = Path(__file__).parents[2] / "fixtures" / "learning"
TEMPLATE = LEARNING / "chat-only.jinja"
STOP = "<|eot|>"
LABELED: list[dict[str, Any]] = yaml.safe_load((LEARNING / "examples.yaml").read_text("utf-8"))
TOOLS: list[Any] = yaml.safe_load((LEARNING / "tools.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningLlama]:
    parrot = Parrot(((STOP, True),), lag=300)
    with running_llama(parrot, tmp_path_factory.mktemp("llama"), slots=1) as running:
        yield running


@pytest.fixture(scope="module")
def commands(llama: RunningLlama, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return the page's commands, the learned file's among them."""
    folder = tmp_path_factory.mktemp("learned")
    (folder / "answer.txt").write_text(LABELED[0]["output"], "utf-8")
    put_in = {
        "autoparser learn chat_template.jinja": f"autoparser learn {TEMPLATE}",
        "autoparser serve chat_template.jinja": f"autoparser serve {TEMPLATE} --port 0",
        "outputs outputs.jsonl": f"outputs {LEARNING / 'outputs.jsonl'}",
        "tools tools.yaml": f"tools {LEARNING / 'tools.yaml'}",
        "model.format.json": str(folder / "model.format.json"),
        "answer.txt": str(folder / "answer.txt"),
        "http://127.0.0.1:9000": llama.url,
    }
    found = commands_of("learn", put_in)
    assert list(found) == ["learn", "parse", "serve"]
    learned = ran(found["learn"])
    # One line of the log was cut.
    assert learned.returncode == 1, learned.stderr
    assert "9 of 10 outputs are read whole" in learned.stderr
    return found


def meant(message: dict[str, Any]) -> tuple[object, ...]:
    """Return what a label and an answer have to say alike."""
    calls = [each.get("function", each) for each in message.get("tool_calls") or ()]
    arguments = [each["arguments"] for each in calls]
    return (
        message.get("content") or "",
        message.get("reasoning_content") or message.get("reasoning") or "",
        [each["name"] for each in calls],
        [json.loads(each) if isinstance(each, str) else each for each in arguments],
    )


def test_an_answer_is_parsed_as_the_page_shows(commands: dict[str, list[str]]) -> None:
    parsed = ran([*commands["parse"], "--json"])
    assert parsed.returncode == 0, parsed.stderr
    assert meant(json.loads(parsed.stdout)) == meant(LABELED[0]["message"])


def test_clients_get_what_the_labels_say(
    llama: RunningLlama, commands: dict[str, list[str]]
) -> None:
    render = load_template(TEMPLATE).render

    def prompt_of(user: str) -> str:
        return render([{"role": "user", "content": user}], None, add_generation_prompt=True)

    with endpoint(commands["serve"]) as url:
        for each in LABELED:
            user = padded_message(llama.parrot, f"{each['output']}{STOP}", prompt_of)
            body = {"messages": [{"role": "user", "content": user}], "tools": TOOLS}
            told = [answered(url, {**body, "max_tokens": 200}), streamed(url, body)]
            assert [meant(message) for message in told] == 2 * [meant(each["message"])]
