"""URLs of the Hub as sources: which model, revision and file they name, and what they do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import constants

from autoparser.analysis.core.errors import AutoparserError, TemplateNotFoundError
from autoparser.analysis.sources.hub_requests import HubName, hub_name
from autoparser.analysis.sources.template_loading import fetch, load_template, load_templates
from autoparser.analysis.sources.tokenizer_loading import load_tokenizer
from tests.analysis.sources.gguf_files import write_model
from tests.analysis.sources.hub_server import Hub

HUB = "https://huggingface.co"
NAMES = [
    ("org/name", HubName("org/name")),
    ("org/name/", HubName("org/name")),
    ("org/name?library=transformers#usage", HubName("org/name")),
    ("gpt2", HubName("gpt2")),
    # Named as a page is.
    ("org/tree", HubName("org/tree")),
    ("org/tree/tree/v1", HubName("org/tree", revision="v1")),
    ("org/name/tree/v1", HubName("org/name", revision="v1")),
    ("gpt2/tree/main/", HubName("gpt2", revision="main")),
    ("org/name/tree/refs%2Fpr%2F3", HubName("org/name", revision="refs/pr/3")),
    (
        "org/name/blob/v1/chat_template.jinja",
        HubName("org/name", "chat_template.jinja", None, "v1"),
    ),
    ("org/name/raw/v1/a%20b.jinja", HubName("org/name", "a b.jinja", None, "v1")),
    ("org/name/resolve/v1/q/m.gguf?download=true", HubName("org/name", "q/m.gguf", None, "v1")),
]


@pytest.mark.parametrize(("path", "expected"), NAMES, ids=[path for path, _ in NAMES])
@pytest.mark.parametrize("hub_url", [HUB, "HTTP://HuggingFace.co", "https:/huggingface.co"])
def test_what_a_url_names(path: str, expected: HubName, hub_url: str) -> None:
    assert hub_name(f"{hub_url}/{path}") == expected


def test_a_hub_below_a_path_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://mirror.example:8080/hf")
    assert hub_name("http://mirror.example:8080/hf/org/name/tree/v1") == HubName(
        "org/name", revision="v1"
    )
    assert hub_name(f"{HUB}/org/name") == HubName("org/name")
    for url in ("http://mirror.example:8080/org/name", "http://mirror.example/hf/org/name"):
        with pytest.raises(TemplateNotFoundError, match="not of the Hub, which is http://mirror"):
            hub_name(url)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://example.org/org/name", "this URL is not of the Hub, which is "),
        (f"{HUB}.example.org/org/name", "this URL is not of the Hub"),
        ("https://me@huggingface.co/org/name", "this URL is not of the Hub"),
        (HUB, "this URL is of no model on the Hub"),
        (f"{HUB}/datasets/org/name", "this URL is of no model on the Hub"),
        (f"{HUB}/org/name/discussions/1", "this URL is of no model on the Hub"),
        (f"{HUB}/org/name/blob/main", "this URL is of no model on the Hub"),
        (f"{HUB}/org/name/tree/main/folder", "this URL is of no model on the Hub"),
        (f"{HUB}/org/na%20me", "this URL is of no model on the Hub"),
        (f"{HUB}/org/../name", "this URL is of no model on the Hub"),
        ("https://[", "this URL is of no model on the Hub"),
    ],
)
def test_other_urls_are_an_error_that_says_what_they_are(url: str, words: str) -> None:
    for use in (load_template, load_tokenizer, fetch):
        with pytest.raises(TemplateNotFoundError) as caught:
            use(url)
        assert str(caught.value).startswith(f"{url}: {words}")


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


def test_a_model_is_loaded_by_its_url(two_revisions: str) -> None:
    template = load_template(two_revisions)
    assert template.text == "{{ bos_token }}main"
    assert template.source is not None
    assert (template.source.id, template.source.revision) == ("org/model", None)
    assert load_template(f"{two_revisions}/tree/v1").text == "v1"
    assert len(load_templates(two_revisions)) == 2


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("chat_template.jinja", "{{ bos_token }}main"),
        ("additional_chat_templates/rag.jinja", "rag"),
        ("examples/other.jinja", "{{ bos_token }}other"),
        ("tokenizer_config.json", "from the configuration"),
    ],
)
def test_a_file_is_loaded_by_its_url(file: str, text: str, two_revisions: str) -> None:
    template = load_template(f"{two_revisions}/blob/main/{file}")
    assert template.text == text
    assert template.special_tokens == {"bos_token": "<s>"}
    assert template.origin == f"org/model/{file}"
    assert template.source is not None
    assert (template.source.revision, template.source.file) == ("main", file)


@pytest.mark.parametrize("file", ["README.md", "missing.jinja", "../chat_template.jinja"])
def test_a_file_that_holds_no_template_is_an_error(file: str, two_revisions: str) -> None:
    with pytest.raises(TemplateNotFoundError, match=r"is not there at commit .*, or holds no"):
        load_template(f"{two_revisions}/blob/main/{file}")


def test_two_revisions_contradict_each_other(two_revisions: str) -> None:
    url = f"{two_revisions}/tree/v1"
    assert load_template(url, revision="v1").text == "v1"
    for use in (load_template, fetch):
        with pytest.raises(
            AutoparserError, match="the URL names the revision 'v1', but 'main' was"
        ):
            use(url, revision="main")


def test_a_gguf_file_is_loaded_by_its_url(hub: Hub, tmp_path: Path) -> None:
    made = write_model(tmp_path / "made.gguf", "of a header")
    hub.add("org/model", {"q/m.gguf": made.read_bytes(), "chat_template.jinja": "of a file"})
    url = f"{hub.endpoint}/org/model/resolve/main/q/m.gguf?download=true"
    assert load_template(url).text == "of a header"
    assert fetch(url).source.file == "q/m.gguf"
