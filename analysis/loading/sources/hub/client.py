"""The functions of `huggingface_hub` that are used here, with the types that they have.

The library is slow to import, so that is done by the first call. Some of its functions are only
partly typed, or exported by no list of names; here is where that ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, Protocol

__all__ = ["HubResponse", "download", "file_size", "headers", "raise_for_status", "stream"]


class HubResponse(Protocol):
    """The part of an answer that is used, of whichever HTTP library it is."""

    status_code: int

    def iter_bytes(self) -> Iterator[bytes]:
        """Return the body as it comes."""
        ...


def download(repository: str, file: str, revision: str | None, bar: type[object]) -> str:
    """Return the path of a file in the cache, fetched if need be."""
    hub: Any = import_module("huggingface_hub")
    return str(
        hub.hf_hub_download(
            repository, file, revision=revision, library_name="autoparser", tqdm_class=bar
        )
    )


def file_size(url: str) -> int | None:
    """Return the size of a file, if the Hub says it."""
    hub: Any = import_module("huggingface_hub")
    size: int | None = hub.get_hf_file_metadata(url).size
    return size


def stream(
    url: str, headers: Mapping[str, str], timeout: float
) -> AbstractContextManager[HubResponse]:
    """Ask for a file; its body is read as it is wanted, and redirects are followed."""
    hub: Any = import_module("huggingface_hub")
    answer: AbstractContextManager[HubResponse] = hub.get_session().stream(
        "GET", url, headers=headers, timeout=timeout, follow_redirects=True
    )
    return answer


def headers() -> dict[str, str]:
    """Return the headers of a request: who asks, and the token if there is one."""
    hub: Any = import_module("huggingface_hub.utils")
    own: dict[str, str] = hub.build_hf_headers(library_name="autoparser")
    return own


def raise_for_status(response: HubResponse) -> None:
    """Raise the library's error for an answer that is one."""
    hub: Any = import_module("huggingface_hub.utils")
    hub.hf_raise_for_status(response)
