"""The revisions of a template, in git and on the Hub."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from autoparser.analysis.core.errors import AutoparserError, TemplateNotFoundError
from autoparser.analysis.sources.template_revisions import template_history
from tests.analysis.sources.hub_server import Hub

FIRST, SECOND = "{{ messages }}", "{{ messages }}{{ eos_token }}"


class Checkout:
    """A git repository in a scratch folder."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.git("init", "--quiet")

    def git(self, *words: str) -> None:
        options = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", "-C", str(self.place), *options, *words], check=True)  # noqa: S603, S607

    def commit(self, subject: str, **files: str) -> None:
        """Write files, whose names have `__` for a slash and `_` for a dot, and commit all."""
        for name, text in files.items():
            path = self.place / name.replace("__", "/").replace("_jinja", ".jinja")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_file_has_the_revisions_that_changed_it(checkout: Checkout) -> None:
    checkout.commit("Add it", models__chat_jinja=FIRST)
    checkout.commit("Something else", other_jinja=FIRST)
    checkout.commit("End turns", models__chat_jinja=SECOND)
    found = template_history(str(checkout.place / "models" / "chat.jinja"))
    assert [revision.subject for revision in found] == ["End turns", "Add it"]
    assert [revision.author for revision in found] == ["Ada", "Ada"]
    assert all(len(revision.commit) == 40 for revision in found)
    texts = [revision.template and revision.template.text for revision in found]
    assert texts == [SECOND, FIRST]


def test_file_is_followed_through_a_rename(checkout: Checkout) -> None:
    checkout.commit("Add it", old_jinja=FIRST)
    checkout.git("mv", "old.jinja", "new.jinja")
    checkout.commit("Rename it")
    checkout.commit("End turns", new_jinja=SECOND)
    found = template_history(str(checkout.place / "new.jinja"))
    assert [revision.subject for revision in found] == ["End turns", "Add it"]


def test_uncommitted_changes_are_the_newest_revision(checkout: Checkout) -> None:
    checkout.commit("Add it", chat_jinja=FIRST)
    (checkout.place / "chat.jinja").write_text(SECOND, "utf-8")
    newest, oldest = template_history(str(checkout.place / "chat.jinja"))
    assert (newest.commit, newest.subject, oldest.subject) == ("", "not committed", "Add it")


def test_directory_has_the_revisions_of_all_its_files(checkout: Checkout) -> None:
    model = checkout.place / "model"
    model.mkdir()
    config = model / "tokenizer_config.json"
    config.write_text(json.dumps({"chat_template": FIRST, "eos_token": "<e>"}), "utf-8")
    checkout.commit("Add it")
    config.write_text(json.dumps({"chat_template": FIRST, "eos_token": "<end>"}), "utf-8")
    checkout.commit("Another end")
    (model / "README.md").write_text("A model.", "utf-8")
    checkout.commit("Describe it")
    found = template_history(str(model))
    assert [revision.subject for revision in found] == ["Another end", "Add it"]
    ends = [revision.template and revision.template.special_tokens for revision in found]
    assert ends == [{"eos_token": "<end>"}, {"eos_token": "<e>"}]


def test_hub_model_has_the_revisions_that_changed_its_template(hub: Hub) -> None:
    config = json.dumps({"chat_template": FIRST})
    hub.add("org/model", {"chat_template.jinja": SECOND})
    hub.models["org/model"].branches |= {
        "before": {"chat_template.jinja": FIRST.encode(), "README.md": b"New."},
        "first": {"tokenizer_config.json": config.encode(), "chat_template.jinja": FIRST.encode()},
        "empty": {"README.md": b"A model."},
    }
    found = template_history("org/model")
    assert [revision.subject for revision in found] == ["As in main", "As in first", "As in empty"]
    assert [revision.date for revision in found] == ["2026-11-20"] * 3
    assert found[-1].template is None
    assert "chat template" in found[-1].problem


def test_commit_list_that_continues_elsewhere_is_refused(hub: Hub) -> None:
    hub.add("org/model", {"chat_template.jinja": SECOND})
    hub.more_commits = "http://203.0.113.7/api/models/org/model/commits/main?cursor=2"
    with pytest.raises(AutoparserError, match="continues a list"):
        template_history("org/model")


def test_unreadable_revision_is_reported_with_its_reason(checkout: Checkout) -> None:
    checkout.commit("Add it", chat_jinja=" ")
    checkout.commit("Fill it", chat_jinja=FIRST)
    filled, empty = template_history(str(checkout.place / "chat.jinja"))
    assert (filled.problem, empty.template) == ("", None)
    assert empty.problem == "the template 'default' is empty"


def test_file_without_git_history_is_an_error(tmp_path: Path, checkout: Checkout) -> None:
    (checkout.place / "chat.jinja").write_text(FIRST, "utf-8")
    with pytest.raises(AutoparserError, match="git"):
        template_history(str(checkout.place / "chat.jinja"))
    checkout.commit("Add another", other_jinja=FIRST)
    checkout.git("rm", "--quiet", "--cached", "chat.jinja")
    checkout.commit("Take it out")
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "chat.jinja").write_text(FIRST, "utf-8")
    with pytest.raises(AutoparserError, match="git failed"):
        template_history(str(outside / "chat.jinja"))
    with pytest.raises(TemplateNotFoundError, match="no such file"):
        template_history(str(outside / "missing.jinja"))
