"""Models on the Hub, over a real server with the real client; and what their URLs name."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from huggingface_hub import constants, hf_hub_download

from autoparser import AutoparserError, ChatTemplate, load_template, load_tokenizer
from autoparser.analysis.core.provenance import Provenance, SourceKind
from autoparser.analysis.sources import hub_listing
from autoparser.analysis.sources.hub_requests import HubName, hub_name, leads_to_hub
from autoparser.analysis.sources.template_loading import fetch, load_templates
from autoparser.errors import TemplateNotFoundError
from tests.analysis.sources.hub_server import Hub, commit_of
from tests.case_tables import case_tables, load_cases

slow = pytest.mark.slow
HUB = "https://huggingface.co"
CONFIG = json.dumps({"bos_token": "<s>", "chat_template": "C"})
TEMPLATE_FILE = "chat_template.jinja"
WEIGHTS = b"\0" * 100_000
table = case_tables(__file__, "sources.yaml")


@table("names")
def test_source_is_a_hub_name_or_not(case: Any) -> None:
    assert (hub_name(case["name"]) is not None) is case["is_one"]
    assert hub_name("x" * 5000) is None


@table("urls")
@pytest.mark.parametrize("hub_url", [HUB, "HTTP://HuggingFace.co", "https:/huggingface.co"])
def test_hub_url_gives_repository_file_and_revision(case: Any, hub_url: str) -> None:
    repository, file, revision = case["named"]
    expected = HubName(repository, file, revision=revision)
    assert hub_name(f"{hub_url}/{case['path']}") == expected


@table("other_urls")
def test_url_of_no_model_is_an_error_naming_its_kind(case: Any) -> None:
    for use in (load_template, load_tokenizer, fetch):
        with pytest.raises(TemplateNotFoundError) as caught:
            use(case["url"])
        assert str(caught.value).startswith(f"{case['url']}: {case['words']}")


def test_hub_below_a_path_is_recognized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://mirror.example:8080/hf")
    assert hub_name("http://mirror.example:8080/hf/org/name/tree/v1") == HubName(
        "org/name", revision="v1"
    )
    assert hub_name(f"{HUB}/org/name") == HubName("org/name")
    for url in ("http://mirror.example:8080/org/name", "http://mirror.example/hf/org/name"):
        with pytest.raises(TemplateNotFoundError, match="not on the Hub at http://mirror"):
            hub_name(url)


@pytest.fixture
def two_revisions(hub: Hub) -> str:
    """Return the URL of a model of two branches."""
    files = {
        "chat_template.jinja": "{{ bos_token }}main",
        "additional_chat_templates/rag.jinja": "rag",
        "examples/other.jinja": "{{ bos_token }}other",
        "tokenizer_config.json": '{"bos_token": "<s>", "chat_template": "from the configuration"}',
        "README.md": "no template",
    }
    hub.add("org/model", files)
    hub.models["org/model"].branches["v1"] = {"chat_template.jinja": b"v1"}
    return f"{hub.endpoint}/org/model"


def test_model_loads_by_its_url(two_revisions: str) -> None:
    template = load_template(two_revisions)
    assert template.text == "{{ bos_token }}main"
    assert template.source is not None
    assert (template.source.id, template.source.revision) == ("org/model", None)
    assert load_template(f"{two_revisions}/tree/v1").text == "v1"
    assert len(load_templates(two_revisions)) == 2


@table("hub_files")
def test_file_loads_by_its_url(case: Any, two_revisions: str) -> None:
    template = load_template(f"{two_revisions}/blob/main/{case['file']}")
    assert template.text == case["text"]
    assert template.special_tokens == {"bos_token": "<s>"}
    assert template.origin == f"org/model/{case['file']}"
    assert template.source is not None
    assert (template.source.revision, template.source.file) == ("main", case["file"])


@slow
def test_file_or_revision_missing_from_the_url_is_an_error(two_revisions: str) -> None:
    for file in ("README.md", "missing.jinja", "../chat_template.jinja"):
        with pytest.raises(TemplateNotFoundError, match="with a chat template at commit"):
            load_template(f"{two_revisions}/blob/main/{file}")
    url = f"{two_revisions}/tree/v1"
    assert load_template(url, revision="v1").text == "v1"
    for use in (load_template, fetch):
        with pytest.raises(AutoparserError, match="the URL names the revision 'v1', but 'main'"):
            use(url, revision="main")


def online_and_offline(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, source: str, **options: Any
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


@slow
@table("hub_models")
def test_model_template_loads_online_and_offline(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, case: Any
) -> None:
    commit = hub.add("org/model", {**case["files"], "model.safetensors": WEIGHTS, "README.md": "x"})
    found = online_and_offline(hub, monkeypatch, "org/model", **case["options"])
    source = Provenance(SourceKind.HUB, "org/model", file=case["file"], commit=commit)
    assert (found.text, found.source) == (case["text"], source)
    assert found.origin == f"org/model/{case['file']}"
    assert not [line for line in hub.lines if "safetensors" in line or "README" in line]


@slow
def test_only_needed_files_are_requested(hub: Hub) -> None:
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
    hub.add("org/model", {**others, **wanted})
    assert load_template("org/model").special_tokens == {"bos_token": "<s>"}
    files = {line.rpartition("/resolve/")[2].partition("/")[2] for line in hub.lines[1:]}
    assert files == set(wanted)
    first = len(hub.requests)
    load_template("org/model")
    # The second time, the only question is whether the branch has moved.
    assert len(hub.requests) - first <= 2


@slow
def test_revision_is_loaded_and_a_moved_branch_followed(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("org/model", {"chat_template.jinja": "main"})
    old = {"chat_template.jinja": b"old"}
    hub.models["org/model"].branches["refs/pr/7"] = old
    for revision in ("refs/pr/7", commit_of(old)):
        found = online_and_offline(hub, monkeypatch, "org/model", revision=revision)
        assert (found.text, found.source) == (
            "old",
            Provenance(SourceKind.HUB, "org/model", TEMPLATE_FILE, revision, commit_of(old)),
        )
    # A branch that has moved is followed.
    hub.add("org/model", {"chat_template.jinja": "two"})
    assert online_and_offline(hub, monkeypatch, "org/model").text == "two"


@slow
@pytest.mark.usefixtures("impatient")
def test_unreachable_hub_falls_back_to_the_cache(hub: Hub) -> None:
    hub.add("org/model", {"chat_template.jinja": "A"})
    first = load_template("org/model")
    hub.fail("/api/", times=99, status=503)
    assert load_template("org/model") == first


@slow
def test_files_cached_by_other_programs_are_found_offline(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:

    commit = hub.add("org/model", {"chat_template.jinja": "A", "tokenizer_config.json": CONFIG})
    for name in ("chat_template.jinja", "tokenizer_config.json"):
        hf_hub_download("org/model", name)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    found = load_template("org/model")
    assert (found.text, found.special_tokens) == ("A", {"bos_token": "<s>"})
    assert found.source is not None
    assert found.source.commit == commit


@slow
def test_hub_token_is_sent_only_to_the_hub(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("org/new", {"chat_template.jinja": "B"})
    hub.moved["org/old"] = "org/new"
    assert load_template("org/old").text == "B"
    hub.requests.clear()
    monkeypatch.setenv("HF_TOKEN", "good")
    for access in ("private", "gated"):
        hub.add(f"org/{access}", {"chat_template.jinja": "L" * 5000}, **{access: True})
        assert load_template(f"org/{access}").text == "L" * 5000
    stored = [request for request in hub.requests if "/cdn/" in request.line]
    assert {request.token for request in stored} == {None}
    assert {request.token for request in hub.requests if request not in stored} == {"good"}


@slow
def test_local_path_takes_precedence_over_hub_name(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("org/model", {"chat_template.jinja": "hub"})
    hub.add("gpt2", {"chat_template.jinja": "hub"})
    for name in ("org/model", "gpt2"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "chat_template.jinja").write_text("local")
    monkeypatch.chdir(tmp_path)
    assert load_template("org/model").text == load_template("gpt2").text == "local"
    (tmp_path / "org/empty").mkdir()
    hub.add("org/empty", {"chat_template.jinja": "hub"})
    with pytest.raises(AutoparserError, match="no chat template in this directory"):
        load_template("org/empty")
    assert hub.requests == []
    monkeypatch.chdir("/")
    assert load_template("gpt2").text == "hub"


@slow
@pytest.mark.usefixtures("impatient")
def test_busy_hub_is_retried_and_a_cut_download_resumed(hub: Hub) -> None:
    busy = [(what, 503) for what in ("GET /api/", "HEAD .*/resolve/", "GET .*/resolve/")]
    files = {"chat_template.jinja": "ab" * 5000, "tokenizer_config.json": CONFIG}
    faults = [*busy, *[("GET /cdn/", status) for status in (429, 500, 502, 504)]]
    for at, (what, status) in enumerate(faults):
        hub.add(f"org/busy-{at}", {**files, "chat_template.jinja": f"{at}" * 5000})
        hub.fail(what, times=2, status=status, headers={"Retry-After": "0"})
        assert load_template(f"org/busy-{at}").text == f"{at}" * 5000
        assert all(fault.times == 0 for fault in hub.faults), (what, status)
    hub.requests.clear()
    hub.add("org/cut", files)
    hub.fail("GET /cdn/", times=2, keep=3000)
    assert load_template("org/cut").text == "ab" * 5000
    assert len([line for line in hub.lines if "/cdn/" in line]) == 3


@slow
@table("hub_errors")
@pytest.mark.usefixtures("impatient")
def test_hub_failures_are_one_line_and_leave_no_partial_files(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, case: Any
) -> None:
    hub.add("org/model", {"chat_template.jinja": "A" * 1000})
    hub.add("org/private", {"chat_template.jinja": "A"}, private=True)
    hub.add("org/gated", {"chat_template.jinja": "A"}, gated=True)
    commit = hub.add("org/weights", {"model.safetensors": WEIGHTS})
    if "token" in case:
        monkeypatch.setenv("HF_TOKEN", case["token"])
    if "fault" in case:
        how = {**case["fault"], "body": case["fault"].get("body", "").encode()}
        hub.fail(how.pop("pattern"), 99, **how)
    source, _, revision = case["asked"].partition("@")
    settings = case.get("constants", {})
    with patch.dict(vars(constants), settings), pytest.raises(AutoparserError) as caught:
        load_template(source, revision=revision or None)
    places = {"endpoint": hub.endpoint, "commit": commit, "cache": constants.HF_HUB_CACHE}
    assert str(caught.value) == case["line"].format(**places)
    assert not hub.requests or "HF_HUB_OFFLINE" not in settings
    assert nothing_is_half_there()
    # After the fault is gone, the second try works.
    hub.faults.clear()
    monkeypatch.delenv("HF_TOKEN", raising=False)
    if source == "org/model":
        assert load_template(source).text == "A" * 1000


def nothing_is_half_there() -> bool:
    """Whether every cached file is whole, and every revision points at an existing snapshot."""
    cache = Path(constants.HF_HUB_CACHE)
    refs = [path for path in cache.rglob("refs/*") if path.is_file()]
    return (
        not any(path.stat().st_size for path in cache.rglob("*.incomplete"))
        and all(path.exists() for path in cache.rglob("snapshots/*/*"))
        and all((path.parents[1] / "snapshots" / path.read_text()).is_dir() for path in refs)
    )


@slow
@pytest.mark.usefixtures("impatient")
def test_partly_cached_model_is_an_error_offline(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The config came, the template did not: the config's own template is not the model's."""
    hub.add("org/model", {"chat_template.jinja": "A" * 50, "tokenizer_config.json": CONFIG})
    hub.fail("chat_template.jinja", 99, status=503)
    for offline in (False, True):
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
        with pytest.raises(AutoparserError, match=r"chat_template\.jinja"):
            load_template("org/model")


@slow
@table("hub_names_elsewhere")
def test_file_name_that_leaves_the_repository_is_refused(
    hub: Hub, tmp_path: Path, case: str
) -> None:
    hub.add("org/model", {"chat_template.jinja": "A", "trap.jinja": "T"})
    hub.listed["trap.jinja"] = case
    with pytest.raises(AutoparserError, match="by a name that leads elsewhere") as caught:
        load_template("org/model")
    assert str(caught.value).isprintable()
    assert not [line for line in hub.lines if "/resolve/" in line]
    assert not list(tmp_path.rglob("evil*"))


@slow
@pytest.mark.usefixtures("impatient")
def test_endless_file_is_stopped(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes of gzip unfold to more than is read of any file."""
    monkeypatch.setattr(hub_listing, "LARGEST_FILE", 1 << 20)
    hub.add("org/model", {"chat_template.jinja": "A" * 2000})
    bomb = gzip.compress(b"A" * (64 << 20))
    hub.fail("GET .*/resolve/", 99, status=200, body=bomb, headers={"Content-Encoding": "gzip"})
    with pytest.raises(AutoparserError, match=r"this file is larger than 1 MiB"):
        load_template("org/model")
    assert nothing_is_half_there()
    hub.faults.clear()
    assert load_template("org/model").text == "A" * 2000
    # A file whose declared size is too large is not requested.
    monkeypatch.setattr(hub_listing, "LARGEST_FILE", 100)
    asked = len(hub.requests)
    hub.add("org/other", {"chat_template.jinja": "A" * 2000})
    with pytest.raises(AutoparserError, match="this file is larger than"):
        load_template("org/other")
    assert not [line for line in hub.lines[asked:] if "/resolve/" in line]


# A Hub's responses are untrusted: they choose no file to write and no server to contact.


@slow
@pytest.mark.usefixtures("impatient")
@table("untrusted_headers")
@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_response_that_leads_elsewhere_is_refused(
    hub: Hub, tmp_path: Path, case: dict[str, str], method: str
) -> None:
    commit = hub.add("org/model", {"chat_template.jinja": "A"})
    status = 302 if "Location" in case else 200
    answered = {"X-Repo-Commit": commit, **case}
    hub.fail(f"{method} .*/resolve/", 99, status=status, headers=answered, body=b"A")
    if method == "HEAD":
        hub.fail("GET .*/resolve/", 99, status=200, headers=answered, body=b"A")
    with pytest.raises(AutoparserError, match="do not trust") as caught:
        load_template("org/model")
    assert str(caught.value).isprintable()
    assert not [*tmp_path.rglob("*pwned*")]
    assert not [path for path in tmp_path.rglob("blobs/*") if path.is_file()]


@pytest.mark.parametrize(
    ("endpoint", "target", "allowed"),
    [
        (case["hub"], target, kind == "allowed")
        for case in load_cases(__file__, "sources.yaml")["redirects"]
        for kind in ("allowed", "refused")
        for target in case[kind]
    ],
)
def test_hub_redirects_stay_in_its_network(
    endpoint: str, target: str, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    assert leads_to_hub(target) is allowed
