"""A model's directory is a stranger's: no link and no name in it leads to another file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autoparser import AutoparserError, load_template
from autoparser.analysis.sources import local_files as bounded_reading

SECRET = "the secret"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A directory beside a secret."""
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key.jinja").write_text(SECRET)
    (tmp_path / "secrets" / "config.json").write_text(json.dumps({"bos_token": SECRET}))
    (tmp_path / "model").mkdir()
    return tmp_path / "model"


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("chat_template.jinja", "../secret"),
        ("chat_template.json", "../secret"),
        ("tokenizer_config.json", "../secrets/config.json"),
        ("special_tokens_map.json", "../secrets/config.json"),
        ("processor_config.json", "../secrets/config.json"),
        ("additional_chat_templates", "../secrets"),
        ("model.gguf", "../secret"),
    ],
)
def test_a_link_out_of_the_directory(model: Path, link: str, target: str) -> None:
    if link in ("special_tokens_map.json", "additional_chat_templates"):
        (model / "chat_template.jinja").write_text("A")
    (model / link).symlink_to(target)
    with pytest.raises(AutoparserError, match="this link leads out of its directory, to") as caught:
        load_template(model)
    assert SECRET not in str(caught.value)
    assert "put a copy in its place" in str(caught.value)


def test_a_link_within_the_directory(model: Path) -> None:
    (model / "files").mkdir()
    (model / "files" / "a").write_text("A")
    (model / "chat_template.jinja").symlink_to("files/a")
    assert load_template(model).text == "A"


def test_a_link_to_the_directory(model: Path, tmp_path: Path) -> None:
    (model / "chat_template.jinja").write_text("A")
    (tmp_path / "link").symlink_to(model)
    assert load_template(tmp_path / "link").text == "A"


def test_a_link_that_a_person_names(model: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("A")
    (model / "chat_template.jinja").symlink_to("../secret")
    assert load_template(model / "chat_template.jinja").text == "A"


def test_a_snapshot_in_the_hubs_cache_is_made_of_links(tmp_path: Path) -> None:
    repository = tmp_path / "models--org--model"
    snapshot = repository / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    (repository / "blobs" / "abc").write_text("A")
    (snapshot / "chat_template.jinja").symlink_to("../../blobs/abc")
    assert load_template(snapshot).text == "A"
    (tmp_path.parent / "outside").write_text(SECRET)
    (snapshot / "tokenizer_config.json").symlink_to(tmp_path.parent / "outside")
    with pytest.raises(AutoparserError, match="this link leads out of its directory"):
        load_template(snapshot)


@pytest.mark.parametrize(
    "name", ["../secrets/key", "../../secret", "/etc/passwd", "secret\0", "..", ""]
)
def test_a_name_of_a_template_is_no_path(model: Path, name: str) -> None:
    (model / "chat_template.jinja").write_text("A")
    (model / "additional_chat_templates").mkdir()
    (model / "additional_chat_templates" / "rag.jinja").write_text("R")
    with pytest.raises(AutoparserError, match="there is no template named") as caught:
        load_template(model, name=name)
    assert SECRET not in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_file_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_reading, "LARGEST", 1 << 20)
    with pytest.raises(AutoparserError, match="this is larger than 1 MiB"):
        load_template("/dev/zero")
