"""What files a model has on the Hub, and at which commit.

Contract: one request gives the commit and the names; all that is read later is read at that
commit. The listing is kept in the Hub library's folder for what others derive
(`HF_ASSETS_CACHE`), so that a later run without the Hub finds the same files at the same commit.
Names and commits come from a server: none that would lead out of a folder is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from autoparser.analysis.core.errors import TemplateReadError

from .cached_answers import cache_answer, cached_answer
from .failures import HubQuestion, failure, is_unreachable, offline
from .patience import asked_patiently, quietly

__all__ = ["Listing", "listing_of"]

OF_USE = re.compile(
    r"chat_template\.(?:jinja|json)|additional_chat_templates/[^/]+\.jinja|processor_config\.json"
    r"|tokenizer_config\.json|special_tokens_map\.json"
    r"|tokenizer\.(?:json|model)|[^/]+\.tiktoken|.*\.(?:gguf|jinja2?|j2)"
)
"""Names of files that hold templates, special tokens or tokenizers."""

LONGEST_NAME = 1024
MOST_FILES = 100_000

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a model at one commit."""

    repository: str
    commit: str
    files: Mapping[str, int | None]
    """Their sizes in bytes by their names; None where the Hub does not say."""
    asked: bool = True
    """Whether the Hub was asked; False where it could not be, and this is from the cache."""


def listing_of(repository: str, revision: str | None) -> Listing:
    """List the files that are of use here, at the commit that the revision is at now.

    Where the Hub cannot be reached, at the commit where it was when it was asked last. Raises
    TemplateNotFoundError, TemplateReadError.
    """
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    asked = HubQuestion(repository, revision)
    problem = None
    if revision is not None and _COMMIT.fullmatch(revision):
        # A commit never changes, so the Hub need not be asked twice.
        known = _kept(repository, revision)
        if known is not None:
            return known
    if not constants.HF_HUB_OFFLINE:
        try:
            listing = _from_hub(repository, revision)
        except Exception as error:  # noqa: BLE001 - the library lets many kinds through
            if not is_unreachable(error):
                raise failure(error, asked) from None
            problem = failure(error, asked)
        else:
            value = {"commit": listing.commit, "files": dict(listing.files)}
            for key in {_key(revision), _key(listing.commit)}:
                cache_answer(repository, key, json.dumps(value).encode())
            return listing
    found = _kept(repository, revision) or _in_cache(repository, revision)
    if found is None:
        raise problem or offline(asked)
    return found


def _from_hub(repository: str, revision: str | None) -> Listing:
    from huggingface_hub import HfApi, constants  # noqa: PLC0415 - slow to import

    api = HfApi(library_name="autoparser")
    with quietly():
        info = asked_patiently(
            lambda: api.model_info(
                repository,
                revision=revision,
                files_metadata=True,
                timeout=constants.HF_HUB_ETAG_TIMEOUT,
            )
        )
    siblings = info.siblings or []
    if len(siblings) > MOST_FILES:
        raise TemplateReadError(
            f"this repository lists {len(siblings)} files, more than any model has",
            file=repository,
            hint="pass a local file",
        )
    files = {each.rfilename: each.size for each in siblings}
    for name in files:
        _check_name(name, repository)
    return Listing(
        repository,
        _checked_commit(info.sha, repository),
        {name: size for name, size in files.items() if OF_USE.fullmatch(name)},
    )


def _check_name(name: str, repository: str) -> None:
    parts = name.split("/")
    if (
        "\\" in name
        or "\0" in name
        or len(name) > LONGEST_NAME
        or any(part in ("", ".", "..") for part in parts)
        or re.match(r"[A-Za-z]:", name)
    ):
        raise TemplateReadError(
            f"this repository lists a file by a name that leads elsewhere: {name!r}",
            file=repository,
            hint="nothing of it was read; do not trust where it comes from",
        )


def _checked_commit(commit: str | None, repository: str) -> str:
    if commit is not None and _COMMIT.fullmatch(commit):
        return commit
    raise TemplateReadError(
        f"the Hub names no commit, but {commit!r}",
        file=repository,
        hint="check that a Hub answers there (HF_ENDPOINT)",
    )


def _key(revision: str | None) -> str:
    return f"{quote(revision or 'main', safe='')}.json"


def _kept(repository: str, revision: str | None) -> Listing | None:
    """Recall what the Hub said last."""
    content = cached_answer(repository, _key(revision))
    if content is None:
        return None
    try:
        value = json.loads(content)
        files: Mapping[str, int | None] = value["files"]
        for name in files:
            _check_name(name, repository)
        return Listing(
            repository,
            _checked_commit(str(value["commit"]), repository),
            files,
            asked=False,
        )
    except (ValueError, KeyError, TypeError):  # someone else's file: as good as none
        return None


def _in_cache(repository: str, revision: str | None) -> Listing | None:
    """Look at what other programs have fetched; they need not have fetched all of it."""
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    folder = Path(constants.HF_HUB_CACHE).expanduser() / f"models--{repository.replace('/', '--')}"
    commit = revision or "main"
    if not _COMMIT.fullmatch(commit):
        try:
            commit = (folder / "refs" / commit).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return None
        if not _COMMIT.fullmatch(commit):
            return None
    snapshot = folder / "snapshots" / commit
    names = [
        path.relative_to(snapshot).as_posix()
        for path in sorted(snapshot.rglob("*"))
        if path.is_file()
    ]
    files = {name: (snapshot / name).stat().st_size for name in names if OF_USE.fullmatch(name)}
    return Listing(repository, commit, files, asked=False) if files else None
