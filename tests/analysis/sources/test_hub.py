"""Models on the Hub, over a real server with the real client."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from huggingface_hub import constants, snapshot_download

from autoparser import AutoparserError, analyze, document, load_template
from autoparser.analysis.core.provenance import Provenance, SourceKind
from autoparser.analysis.sources import hub_listing as snapshot
from autoparser.analysis.sources.hub_requests import hub_name
from autoparser.analysis.templates.chat_template import ChatTemplate
from tests.analysis.sources.hub_server import Hub, Model, commit_of

pytestmark = pytest.mark.slow

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
CONFIG = json.dumps({"bos_token": "<s>", "chat_template": "C"})
WEIGHTS = b"\0" * 100_000
NAMED = json.dumps({"chat_template": [{"name": "default", "template": "D"}]})


def online_and_offline(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, source: str, **options: str
) -> ChatTemplate:
    """Load a source, then again from the cache alone; both must be the same."""
    first = load_template(source, **options)
    asked = len(hub.requests)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    second = load_template(source, **options)
    assert len(hub.requests) == asked
    assert (second, second.special_tokens) == (first, first.special_tokens)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    return first


@pytest.mark.parametrize(
    ("files", "name", "text", "file", "reason"),
    [
        ({"chat_template.jinja": "A"}, None, "A", "chat_template.jinja", "a template file"),
        ({"tokenizer_config.json": CONFIG}, None, "C", "tokenizer_config.json", "the config"),
        (
            {"chat_template.jinja": "A", "tokenizer_config.json": CONFIG},
            None,
            "A",
            "chat_template.jinja",
            "the file before the config",
        ),
        ({"tokenizer_config.json": NAMED}, None, "D", "tokenizer_config.json", "a list of them"),
        (
            {
                "chat_template.jinja": "A",
                "additional_chat_templates/rag.jinja": "R",
                "additional_chat_templates/deep/no.jinja": "N",
            },
            "rag",
            "R",
            "additional_chat_templates/rag.jinja",
            "one of the additional ones",
        ),
        (
            {"chat_template.json": json.dumps({"chat_template": "P"})},
            None,
            "P",
            "chat_template.json",
            "a processor's file",
        ),
        (
            {"chat_template.jinja": "L" * 5000},
            None,
            "L" * 5000,
            "chat_template.jinja",
            "a file behind a redirect",
        ),
    ],
)
def test_a_model_gives_its_template_online_and_offline(
    hub: Hub,
    monkeypatch: pytest.MonkeyPatch,
    files: Mapping[str, str],
    name: str | None,
    text: str,
    file: str,
    reason: str,
) -> None:
    commit = hub.add("org/model", {**files, "model.safetensors": WEIGHTS, "README.md": "x"})
    options = {} if name is None else {"name": name}
    found = online_and_offline(hub, monkeypatch, "org/model", **options)
    source = Provenance(SourceKind.HUB, "org/model", file=file, commit=commit)
    assert (found.text, found.source) == (text, source), reason
    assert found.origin == f"org/model/{file}"
    assert not [line for line in hub.lines if "safetensors" in line or "README" in line]


def test_only_what_is_needed_is_asked_for(hub: Hub) -> None:
    wanted = {
        "chat_template.jinja": "A",
        "additional_chat_templates/rag.jinja": "R",
        "tokenizer_config.json": CONFIG,
        "special_tokens_map.json": "{}",
    }
    others: dict[str, str | bytes] = {
        "tokenizer.json": "{}",
        "config.json": "{}",
        "a.py": "",
        "model.bin": WEIGHTS,
    }
    others.update(wanted)
    hub.add("org/model", others)
    assert load_template("org/model").special_tokens == {"bos_token": "<s>"}
    files = {line.rpartition("/resolve/")[2].partition("/")[2] for line in hub.lines[1:]}
    assert files == set(wanted)
    first = len(hub.requests)
    load_template("org/model")
    # The second time, whether the branch has moved is all that is asked.
    assert len(hub.requests) - first <= 2


def test_a_whole_report_is_the_same_offline(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    online = document(analyze(load_template("org/model")))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert document(analyze(load_template("org/model"))) == online
    assert isinstance(online["template"], dict)
    assert online["template"]["source"] == {
        "kind": "hub",
        "id": "org/model",
        "file": "chat_template.jinja",
        "revision": None,
        "commit": commit,
        "ran_code": False,
    }


def test_revisions(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("org/model", {"chat_template.jinja": "main"})
    old = {"chat_template.jinja": b"old"}
    hub.models["org/model"].branches["refs/pr/7"] = old
    for revision in ("refs/pr/7", commit_of(old)):
        found = online_and_offline(hub, monkeypatch, "org/model", revision=revision)
        source = Provenance(
            SourceKind.HUB,
            "org/model",
            file="chat_template.jinja",
            revision=revision,
            commit=commit_of(old),
        )
        assert (found.text, found.source) == ("old", source)


def test_a_branch_that_moved_is_followed(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("org/model", {"chat_template.jinja": "one"})
    assert load_template("org/model").text == "one"
    hub.add("org/model", {"chat_template.jinja": "two"})
    assert online_and_offline(hub, monkeypatch, "org/model").text == "two"


def test_without_the_hub_the_cache_is_taken(hub: Hub, impatient: None) -> None:
    del impatient
    hub.add("org/model", {"chat_template.jinja": "A"})
    first = load_template("org/model")
    hub.fail("/api/", times=99, status=503)
    assert load_template("org/model") == first


def test_what_another_program_fetched_is_found_offline(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:

    commit = hub.add("org/model", {"chat_template.jinja": "A", "tokenizer_config.json": CONFIG})
    snapshot_download("org/model")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    found = load_template("org/model")
    assert (found.text, found.special_tokens) == ("A", {"bos_token": "<s>"})
    assert found.source is not None
    assert found.source.commit == commit


def test_a_token_goes_to_the_hub_and_no_further(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("org/model", {"chat_template.jinja": "L" * 5000}, private=True)
    monkeypatch.setenv("HF_TOKEN", "good")
    assert load_template("org/model").text == "L" * 5000
    stored = [each for each in hub.requests if "/cdn/" in each.line]
    assert [each.token for each in stored] == [None]
    assert {each.token for each in hub.requests if each not in stored} == {"good"}


def test_gated_with_access(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("org/model", {"chat_template.jinja": "A"}, gated=True)
    monkeypatch.setenv("HF_TOKEN", "good")
    assert load_template("org/model").text == "A"


def test_a_model_that_was_renamed(hub: Hub) -> None:
    hub.add("org/new", {"chat_template.jinja": "A"})
    hub.moved["org/old"] = "org/new"
    assert load_template("org/old").text == "A"


def test_a_local_path_wins(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("org/model", {"chat_template.jinja": "hub"})
    hub.add("gpt2", {"chat_template.jinja": "hub"})
    for name in ("org/model", "gpt2"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "chat_template.jinja").write_text("local")
    monkeypatch.chdir(tmp_path)
    assert load_template("org/model").text == load_template("gpt2").text == "local"
    (tmp_path / "org/empty").mkdir()
    hub.add("org/empty", {"chat_template.jinja": "hub"})
    with pytest.raises(AutoparserError, match="this directory holds no chat template"):
        load_template("org/empty")
    assert hub.requests == []
    monkeypatch.chdir("/")
    assert load_template("gpt2").text == "hub"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
@pytest.mark.parametrize("what", ["GET /api/", "HEAD .*/resolve/", "GET .*/resolve/", "GET /cdn/"])
def test_a_busy_hub_is_asked_again(hub: Hub, impatient: None, what: str, status: int) -> None:
    del impatient
    hub.add("org/model", {"chat_template.jinja": "L" * 5000, "tokenizer_config.json": CONFIG})
    hub.fail(what, times=2, status=status, headers={"Retry-After": "0"})
    assert load_template("org/model").text == "L" * 5000
    assert all(fault.times == 0 for fault in hub.faults)


def test_a_download_that_is_cut_is_taken_up_again(hub: Hub, impatient: None) -> None:
    del impatient
    hub.add("org/model", {"chat_template.jinja": "ab" * 5000})
    hub.fail("GET /cdn/", times=2, keep=3000)
    assert load_template("org/model").text == "ab" * 5000
    assert len([line for line in hub.lines if "/cdn/" in line]) == 3


@pytest.mark.parametrize(
    ("asked", "token", "fault", "line"),
    [
        (
            "org/none",
            None,
            None,
            "org/none: there is no file of this name, and no such repository on {endpoint}; check"
            " the spelling; if the repository is private, log in with 'hf auth login' or set"
            " HF_TOKEN",
        ),
        (
            "none",
            "good",
            None,
            "none: there is no file of this name, and no such repository on {endpoint}; check the"
            " spelling; if the repository is private, log in with 'hf auth login' or set HF_TOKEN",
        ),
        (
            "org/private",
            None,
            None,
            "org/private: there is no file of this name, and no such repository on {endpoint};"
            " check the spelling; if the repository is private, log in with 'hf auth login' or set"
            " HF_TOKEN",
        ),
        (
            "org/gated",
            None,
            None,
            "org/gated: this repository is gated, and you have no access to it; ask for access at"
            " {endpoint}/org/gated, then log in with 'hf auth login' or set HF_TOKEN",
        ),
        (
            "org/gated",
            "other",
            None,
            "org/gated: this repository is gated, and you have no access to it; ask for access at"
            " {endpoint}/org/gated, then log in with 'hf auth login' or set HF_TOKEN",
        ),
        (
            "org/model",
            "wrong",
            None,
            "org/model: the Hub refuses the token (status 401); log in with 'hf auth login', or"
            " correct HF_TOKEN",
        ),
        (
            "org/model@old",
            None,
            None,
            "org/model: this repository has no revision 'old'; give a branch, a tag or a commit of"
            " it with --revision",
        ),
        (
            "org/weights",
            None,
            None,
            "org/weights: this repository holds no chat template at commit {commit}; it was looked"
            " for in chat_template.jinja, additional_chat_templates/*.jinja,"
            " tokenizer_config.json, chat_template.json and processor_config.json, and in GGUF"
            " files: give another --revision, or a template file",
        ),
        (
            "org/model",
            None,
            {"pattern": "/api/", "status": 429},
            "org/model: the Hub is asked too often (status 429); wait some minutes, or log in with"
            " 'hf auth login'",
        ),
        (
            "org/model",
            None,
            {"pattern": "/api/", "status": 503},
            "org/model: the Hub fails (status 503); try again later, or pass a local file",
        ),
        (
            "org/model",
            None,
            {"pattern": "/resolve/", "status": 503},
            "org/model: chat_template.jinja: the Hub fails (status 503); try again later, or pass"
            " a local file",
        ),
        (
            "org/model",
            None,
            {"pattern": "/api/", "status": 403},
            "org/model: the Hub denies access (status 403); use a token that may read this"
            " repository",
        ),
        (
            "org/model",
            None,
            {"pattern": "GET .*/resolve/", "keep": 0},
            "org/model: chat_template.jinja: the connection was cut in the middle; try again;"
            " nothing of what was half there is kept",
        ),
        (
            "org/model",
            None,
            {"pattern": "/api/", "keep": 5},
            "org/model: the connection was cut in the middle; try again; nothing of what was half"
            " there is kept",
        ),
        (
            "org/model",
            None,
            {"pattern": "/api/", "status": 200, "body": b"<html>"},
            "org/model: the Hub's answer cannot be used (JSONDecodeError: Expecting value: line 1"
            " column 1 (char 0)); check that a Hub answers at {endpoint} (HF_ENDPOINT), or pass a"
            " local file",
        ),
        (
            "org/model",
            None,
            {"pattern": "/api/", "status": 200, "body": b'{"id": "org/model", "siblings": []}'},
            "org/model: the Hub names no commit, but None; check that a Hub answers there"
            " (HF_ENDPOINT)",
        ),
        (
            "org/model",
            None,
            {
                "pattern": "/api/",
                "status": 200,
                "body": b'{"id": "org/model", "sha": "../../../x", "siblings": []}',
            },
            "org/model: the Hub names no commit, but '../../../x'; check that a Hub answers there"
            " (HF_ENDPOINT)",
        ),
    ],
)
def test_what_goes_wrong_is_one_line_and_leaves_nothing(
    hub: Hub,
    impatient: None,
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
    token: str | None,
    fault: dict[str, object] | None,
    line: str,
) -> None:
    del impatient
    hub.add("org/model", {"chat_template.jinja": "A" * 1000})
    hub.add("org/private", {"chat_template.jinja": "A"}, private=True)
    hub.add("org/gated", {"chat_template.jinja": "A"}, gated=True)
    commit = hub.add("org/weights", {"model.safetensors": WEIGHTS})
    if token is not None:
        monkeypatch.setenv("HF_TOKEN", token)
    if fault is not None:
        hub.fail(str(fault["pattern"]), 99, **{k: v for k, v in fault.items() if k != "pattern"})
    source, _, revision = asked.partition("@")
    with pytest.raises(AutoparserError) as caught:
        load_template(source, revision=revision or None)
    assert str(caught.value) == line.format(endpoint=hub.endpoint, commit=commit)
    assert nothing_is_half_there()
    # What was wrong has passed, and the second try works.
    hub.faults.clear()
    monkeypatch.delenv("HF_TOKEN", raising=False)
    if source == "org/model":
        assert load_template(source).text == "A" * 1000


def nothing_is_half_there() -> bool:
    """Whether every file in the cache is whole, and every revision points at what is there."""
    cache = Path(constants.HF_HUB_CACHE)
    halves = [path for path in cache.rglob("*.incomplete") if path.stat().st_size]
    broken = [path for path in cache.rglob("snapshots/*/*") if not path.exists()]
    refs = [
        path
        for path in cache.rglob("refs/*")
        if path.is_file() and not (path.parents[1] / "snapshots" / path.read_text()).is_dir()
    ]
    return not halves and not broken and not refs


def test_offline_and_not_there(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("org/model", {"chat_template.jinja": "A"})
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(AutoparserError) as caught:
        load_template("org/model", revision="v1")
    assert str(caught.value) == (
        f"org/model: there is no file of this name, and the cache at {constants.HF_HUB_CACHE} does"
        " not hold this model at revision 'v1', while HF_HUB_OFFLINE forbids to ask the Hub; unset"
        " HF_HUB_OFFLINE, or run 'autoparser fetch' once while online"
    )
    assert hub.requests == []


def test_offline_with_a_part_in_the_cache(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, impatient: None
) -> None:
    """The config came, the template did not: the config's own template is not the model's."""
    del impatient
    hub.add("org/model", {"chat_template.jinja": "A" * 50, "tokenizer_config.json": CONFIG})
    hub.fail("chat_template.jinja", 99, status=503)
    for offline in (False, True):
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
        with pytest.raises(AutoparserError, match=r"chat_template\.jinja"):
            load_template("org/model")


def test_no_network(hub: Hub, monkeypatch: pytest.MonkeyPatch, impatient: None) -> None:
    del hub, impatient
    # Nothing listens there, and nothing may.
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(AutoparserError) as caught:
        load_template("org/model")
    assert str(caught.value) == (
        "org/model: there is no file of this name, and http://127.0.0.1:1 cannot be reached; check"
        " the network, the proxy and HF_ENDPOINT, or pass a local file"
    )


def test_no_answer_in_time(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("org/model", {"chat_template.jinja": "A"})
    hub.fail("/api/", 99, hang=30)
    monkeypatch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 0.2)
    with pytest.raises(AutoparserError, match="did not answer in time; check the network"):
        load_template("org/model")


@pytest.mark.parametrize(
    "name",
    [
        "additional_chat_templates/../../../../evil.jinja",
        "../chat_template.jinja",
        "/etc/cron.d/evil.jinja",
        "additional_chat_templates\\..\\evil.jinja",
        "C:/evil.jinja",
        "a//b.jinja",
        "x\0.jinja",
    ],
)
def test_names_that_lead_elsewhere_are_refused(hub: Hub, tmp_path: Path, name: str) -> None:
    hub.add("org/model", {"chat_template.jinja": "A", "trap.jinja": "T"})
    hub.listed["trap.jinja"] = name
    with pytest.raises(AutoparserError, match="by a name that leads elsewhere") as caught:
        load_template("org/model")
    assert str(caught.value).isprintable()
    assert not [line for line in hub.lines if "/resolve/" in line]
    assert not list(tmp_path.rglob("evil*"))


def test_a_file_that_does_not_end_is_stopped(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, impatient: None
) -> None:
    """A few bytes of gzip unfold to more than is read of any file."""
    del impatient
    monkeypatch.setattr(snapshot, "LARGEST_FILE", 1 << 20)
    hub.add("org/model", {"chat_template.jinja": "A" * 2000})
    bomb = gzip.compress(b"A" * (64 << 20))
    hub.fail("GET .*/resolve/", 99, status=200, body=bomb, headers={"Content-Encoding": "gzip"})
    with pytest.raises(AutoparserError, match=r"this file is larger than 1 MiB"):
        load_template("org/model")
    assert nothing_is_half_there()
    hub.faults.clear()
    assert load_template("org/model").text == "A" * 2000


def test_a_file_that_says_it_is_too_large_is_not_asked_for(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr(snapshot, "LARGEST_FILE", 100)
    hub.add("org/model", {"chat_template.jinja": "A" * 2000})
    with pytest.raises(AutoparserError, match="this file is larger than"):
        load_template("org/model")
    assert not [line for line in hub.lines if "/resolve/" in line]


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("Qwen/Qwen3-0.6B", True),
        ("gpt2", True),
        ("org/a.b_c-d", True),
        ("org/model/model-Q4_K_M.gguf", True),
        ("org/model:Q4_K_M", True),
        ("template.jinja", False),
        ("dir/tokenizer_config.json", False),
        ("./org/model", False),
        ("/abs/path", False),
        ("a/b/c", False),
        ("org/model.gguf", False),
        ("org/..", False),
        ("org/mo..del", False),
        ("-", False),
        ("", False),
        ("org/", False),
        ("a b", False),
        ("org/model.git", False),
        ("x" * 5000, False),
    ],
)
def test_what_names_a_model(name: str, is_one: bool) -> None:

    assert (hub_name(name) is not None) is is_one


def test_the_model_class_finds_commits() -> None:
    files = {"a": b"b"}
    assert Model({"main": files}).files_at(commit_of(files)) is files
