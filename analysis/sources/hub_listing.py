"""List the files of a model on the Hub at one commit, and read them, whole or their beginnings.

    list_repository -> HubListing -> fetch_files: a directory in the cache; hub_window: a header

Contract: one request returns the commit and the names; everything is then read at that commit. The
listing is cached in the Hub library's folder for derived files (`HF_ASSETS_CACHE`), so that a later
run without the Hub finds the same files at the same commit. Names and commits come from a server:
none that would lead out of a folder is used.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from msgspec import Struct

from autoparser.analysis.core.errors import AutoparserError, TemplateReadError

from .gguf_files import GgufWindow
from .hub_requests import (
    WAITS,
    HubQuestion,
    ask_patiently,
    failure_error,
    guarded_library,
    is_cut,
    is_unreachable,
    offline_error,
)
from .local_files import cached_file
from .written_files import cache_file


def answer_file(repository: str, name: str) -> Path:
    """Return the small file that caches an answer of the Hub for a later run without the Hub.

    It is beside the Hub library's own cache, in its folder for files that other libraries derive.
    """
    # The library's own function is not used, since each call creates the folder.
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    assets = Path(constants.HF_ASSETS_CACHE).expanduser()
    return assets / "autoparser" / repository.replace("/", "--") / "kept" / name


OF_USE = re.compile(
    r"chat_template\.(?:jinja|json)|additional_chat_templates/[^/]+\.jinja|processor_config\.json"
    r"|tokenizer_config\.json|special_tokens_map\.json"
    r"|tokenizer\.(?:json|model)|[^/]+\.tiktoken|.*\.(?:gguf|jinja2?|j2)"
)
"""Names of files that hold templates, special tokens or tokenizers."""

LONGEST_NAME = 1024
MOST_FILES = 100_000

_COMMIT_LINE = 256
"""Most bytes of a cached file that holds a commit."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class HubListing(Struct, frozen=True):
    """The files of a model at one commit."""

    repository: str
    """E.g. `"Qwen/Qwen3-8B"`."""
    commit: str
    """The full hash of the commit, 40 hexadecimal digits, e.g. `"4f1c2d9…"`."""
    files: Mapping[str, int | None]
    """Size in bytes by name, e.g. `{"chat_template.jinja": 4116}`, or None if the Hub does not
    report it."""
    from_hub: bool = True
    """Whether the Hub was asked; False if it could not be reached, e.g. with `HF_HUB_OFFLINE`, and
    this is from the cache."""


def list_repository(repository: str, revision: str | None) -> HubListing:
    """List the files that are used here, at the revision's current commit.

    If the Hub cannot be reached, use the commit of its last answer. Raises TemplateNotFoundError,
    TemplateReadError.
    """
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    asked = HubQuestion(repository, revision)
    problem = None
    if revision is not None and _COMMIT.fullmatch(revision):
        # A commit never changes, so the Hub need not be asked twice.
        known = _cached_listing(repository, revision)
        if known is not None:
            return known
    if not constants.HF_HUB_OFFLINE:
        try:
            listing = _from_hub(repository, revision)
        except Exception as error:  # noqa: BLE001 - the library lets many kinds through
            if not is_unreachable(error):
                raise failure_error(error, asked) from None
            problem = failure_error(error, asked)
        else:
            value = {"commit": listing.commit, "files": dict(listing.files)}
            # Under the commit, too, so that a later request for that commit asks no Hub.
            for key in {_key(revision), _key(listing.commit)}:
                cache_file(answer_file(repository, key), json.dumps(value).encode())
            return listing
    found = _cached_listing(repository, revision) or _in_cache(repository, revision)
    if found is None:
        raise problem or offline_error(asked)
    return found


def _from_hub(repository: str, revision: str | None) -> HubListing:
    from huggingface_hub import HfApi, constants  # noqa: PLC0415 - slow to import

    api = HfApi(library_name="autoparser")
    with guarded_library():
        info = ask_patiently(
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
    files = {sibling.rfilename: sibling.size for sibling in siblings}
    for name in files:
        _check_name(name, repository)
    return HubListing(
        repository,
        _checked_commit(info.sha, repository),
        {name: size for name, size in files.items() if OF_USE.fullmatch(name)},
    )


MOST_COMMITS = 500
"""At most this many commits of a model are listed; each is a request for its files."""


class HubCommit(Struct, frozen=True):
    """A commit of a model on the Hub."""

    id: str
    """The full hash, 40 hexadecimal digits, e.g. `"4f1c2d9…"`."""
    date: str
    """E.g. `"2026-11-20"`."""
    authors: tuple[str, ...]
    """The names of users, e.g. `("ada",)`."""
    title: str
    """The first line of the message, e.g. `"Keep reasoning of earlier turns"`."""


def list_commits(repository: str) -> list[HubCommit]:
    """List the commits of a model's main branch, the newest first, at most `MOST_COMMITS`.

    Raises TemplateNotFoundError, TemplateReadError.
    """
    from huggingface_hub import HfApi  # noqa: PLC0415 - slow to import

    api = HfApi(library_name="autoparser")
    try:
        with guarded_library():
            found = ask_patiently(lambda: api.list_repo_commits(repository))
    except Exception as error:  # noqa: BLE001 - the library lets many kinds through
        raise failure_error(error, HubQuestion(repository, None)) from None
    return [
        HubCommit(
            _checked_commit(commit.commit_id, repository),
            commit.created_at.date().isoformat(),
            tuple(commit.authors),
            commit.title,
        )
        for commit in found[:MOST_COMMITS]
    ]


def _check_name(name: str, repository: str) -> None:
    parts = name.split("/")
    if (
        "\\" in name
        or "\0" in name
        or len(name) > LONGEST_NAME
        or any(part in ("", ".", "..") for part in parts)
        # A drive of Windows.
        or re.match(r"[A-Za-z]:", name)
    ):
        raise TemplateReadError(
            f"this repository lists a file by a name that leads elsewhere: {name!r}",
            file=repository,
            hint="nothing was read; do not trust its source",
        )


def _checked_commit(commit: str | None, repository: str) -> str:
    if commit is not None and _COMMIT.fullmatch(commit):
        return commit
    raise TemplateReadError(
        f"the Hub returned {commit!r}, not a commit",
        file=repository,
        hint="check that a Hub answers there (HF_ENDPOINT)",
    )


def _key(revision: str | None) -> str:
    return f"{quote(revision or 'main', safe='')}.json"


def _cached_listing(repository: str, revision: str | None) -> HubListing | None:
    """Return the cached last answer of the Hub, or None."""
    content = cached_file(answer_file(repository, _key(revision)))
    if content is None:
        return None
    try:
        value = json.loads(content)
        files: Mapping[str, int | None] = value["files"]
        for name in files:
            _check_name(name, repository)
        return HubListing(
            repository,
            _checked_commit(str(value["commit"]), repository),
            files,
            from_hub=False,
        )
    except (ValueError, KeyError, TypeError):  # another program's file, which is treated as missing
        return None


def _in_cache(repository: str, revision: str | None) -> HubListing | None:
    """Return a listing of what other programs have fetched, perhaps not all of it, or None."""
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    folder = Path(constants.HF_HUB_CACHE).expanduser() / f"models--{repository.replace('/', '--')}"
    commit = revision or "main"
    if not _COMMIT.fullmatch(commit):
        content = cached_file(folder / "refs" / commit, largest=_COMMIT_LINE)
        commit = (content or b"").decode("ascii", "replace").strip()
        if not _COMMIT.fullmatch(commit):
            return None
    snapshot = folder / "snapshots" / commit
    names = [
        path.relative_to(snapshot).as_posix()
        for path in sorted(snapshot.rglob("*"))
        if path.is_file()
    ]
    files = {name: (snapshot / name).stat().st_size for name in names if OF_USE.fullmatch(name)}
    return HubListing(repository, commit, files, from_hub=False) if files else None


# Contract of fetching: after an error the cache has no partial file, and no revision refers to a
# commit with missing files.


LARGEST_FILE = 128 << 20
"""The most bytes of a fetched file; the largest tokenizers have about a third of that."""


def fetch_files(listing: HubListing, names: Sequence[str], revision: str | None) -> Path | None:
    """Fetch these files of a listing; return their directory, or None for no files.

    Raises TemplateNotFoundError, TemplateReadError.
    """
    path: Path | None = None
    for at, name in enumerate(names):
        _check_size(listing, name, listing.files.get(name) or 0)
        # The last one is requested by the revision's own name: the cache then maps it to
        # the commit, for offline runs, but only once everything else is there.
        last = listing.from_hub and at == len(names) - 1
        file = _fetch_file(listing, name, revision if last else listing.commit)
        # The revision has moved on; the commit of the listing has not.
        if file is None:
            file = _fetch_file(listing, name, listing.commit)
        if file is not None:
            path = file
            # From the file up to the directory of the commit, past the folders of its name.
            for _ in name.split("/"):
                path = path.parent
    return path


def _fetch_file(listing: HubListing, name: str, revision: str | None) -> Path | None:
    """Fetch one file; return None if the revision has moved on from the listing's commit."""
    # The library creates the progress bar itself and passes it no arguments.
    hub: Any = import_module("huggingface_hub")
    counted = type("_Counted", (_ByteCounter,), {"listing": listing, "file": name})
    try:
        with guarded_library():
            path = ask_patiently(
                lambda: hub.hf_hub_download(
                    listing.repository,
                    name,
                    revision=revision,
                    library_name="autoparser",
                    tqdm_class=counted,
                )
            )
    except Exception as error:  # noqa: BLE001 - the library lets many kinds through
        problem = failure_error(error, HubQuestion(listing.repository, revision, name))
    else:
        file = Path(str(path))
        return file if listing.commit in file.parts else None
    raise problem


def is_cached(listing: HubListing, name: str) -> Path | None:
    """Return the path of the whole file if it is cached already, else None."""
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - slow to import

    path = try_to_load_from_cache(listing.repository, name, revision=listing.commit)
    return Path(path) if isinstance(path, str) else None


def _check_size(listing: HubListing, name: str, size: int) -> None:
    if size > LARGEST_FILE:
        raise TemplateReadError(
            f"this file is larger than {LARGEST_FILE >> 20} MiB",
            file=listing.repository,
            place=name,
            hint="no file of this kind is so large; do not trust its source",
        )


class _ByteCounter:
    """The part of a progress bar that the library uses: shows nothing, and stops endless downloads.

    A small compressed response may unpack to any size, whatever the listing says.
    """

    listing: HubListing
    """The listing that contains the file, e.g. of `"Qwen/Qwen3-8B"`."""
    file: str
    """Its name, e.g. `"tokenizer.json"`."""

    def __init__(self, *_: object, **options: object) -> None:
        initial = options.get("initial")
        self.count = initial if isinstance(initial, int) else 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing."""

    def update(self, size: float | None = 1) -> None:
        """Count."""
        self.count += int(size or 0)
        _check_size(self.listing, self.file, self.count)

    def ignore(self, *_: object, **__: object) -> None:
        """Show nothing."""

    close = update_transfer = refresh = ignore
    set_description = set_postfix_str = set_transfer_postfix_str = ignore


PARTIAL_CONTENT = 206


def hub_window(listing: HubListing, file: str) -> GgufWindow:
    """Open the beginning of a file of a listing. Raises AutoparserError if it is not there."""
    remote = _RemoteFile(listing, file)
    size = listing.files.get(file)
    return GgufWindow(remote.name, remote.size() if size is None else size, remote.fetch)


class _RemoteFile:
    """A file at the commit of a listing, read by parts."""

    def __init__(self, listing: HubListing, file: str) -> None:
        self.listing, self.file = listing, file
        self.name = f"{listing.repository}/{file}"
        # Imported here: the library is slow to import, and its types are incomplete.
        self.hub: Any = import_module("huggingface_hub")
        self.url: str = self.hub.hf_hub_url(listing.repository, file, revision=listing.commit)

    def fetch(self, start: int, stop: int) -> bytes:
        """Request a part; after a broken connection, request only the missing bytes."""
        got = bytearray()
        for wait in (*WAITS, None):
            try:
                with guarded_library():
                    ask_patiently(lambda: self._receive(got, start, stop))
            except Exception as error:  # noqa: BLE001 - the library lets many kinds through
                # The window requests the missing bytes again.
                if got:
                    break
                if wait is None or not is_cut(error):
                    raise self._failure(error) from None
                time.sleep(wait)
            else:
                break
        return bytes(got)

    def _receive(self, content: bytearray, start: int, stop: int) -> None:
        """Add the received bytes to ``content``, and no more than were requested."""
        wanted = {
            **self.hub.utils.build_hf_headers(library_name="autoparser"),
            "Range": f"bytes={start}-{stop - 1}",
            # A range of a compressed response would be a range of other bytes.
            "Accept-Encoding": "identity",
        }
        with self.hub.get_session().stream(
            "GET",
            self.url,
            headers=wanted,
            timeout=self.hub.constants.HF_HUB_DOWNLOAD_TIMEOUT,
            follow_redirects=True,
        ) as response:
            self.hub.utils.hf_raise_for_status(response)
            # A server without ranges sends the whole file, which is right for a first part only.
            if start and response.status_code != PARTIAL_CONTENT:
                raise TemplateReadError(
                    "the server does not support range requests",
                    file=self.name,
                    hint="download the file, and pass its path",
                )
            for part in response.iter_bytes():
                content += part[: stop - start - len(content)]
                if len(content) >= stop - start:
                    # Leaving the block closes the connection, so the rest is not downloaded.
                    return

    def size(self) -> int:
        """Ask for the size of the file."""
        try:
            with guarded_library():
                metadata = ask_patiently(lambda: self.hub.get_hf_file_metadata(self.url))
        except Exception as error:  # noqa: BLE001 - the library lets many kinds through
            raise self._failure(error) from None
        size: int | None = metadata.size
        if size is None:
            raise TemplateReadError(
                "the Hub does not report the size of this file",
                file=self.name,
                hint="download the file, and pass its path",
            )
        return size

    def _failure(self, error: Exception) -> AutoparserError:
        return failure_error(
            error, HubQuestion(self.listing.repository, self.listing.commit, self.file)
        )
