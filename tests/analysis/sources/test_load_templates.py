from __future__ import annotations

import json
from pathlib import Path

import pytest

from autoparser import TemplateNotFoundError, TemplateReadError
from autoparser.analysis.sources.template_loading import load_template, load_templates


def test_every_named_template_is_loaded_as_one_alone_is(tmp_path: Path) -> None:
    named = [{"name": name, "template": f"{{{{ '{name}' }}}}"} for name in ("tool_use", "default")]
    file = tmp_path / "tokenizer_config.json"
    file.write_text(json.dumps({"chat_template": named, "bos_token": "<s>"}), "utf-8")
    for source in (tmp_path, file):
        found = load_templates(source)
        assert [each.name for each in found] == ["default", "tool_use"]
        assert list(found) == [load_template(source, name=each.name) for each in found]


def test_what_one_alone_raises_all_raise(tmp_path: Path) -> None:
    with pytest.raises(TemplateNotFoundError):
        load_templates(tmp_path)
    (tmp_path / "empty.jinja").write_text(" ", "utf-8")
    with pytest.raises(TemplateReadError, match="is empty"):
        load_templates(tmp_path / "empty.jinja")
