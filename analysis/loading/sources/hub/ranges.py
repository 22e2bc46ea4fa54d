"""The beginning of a file on the Hub, read by range requests: a header without the weights."""

from __future__ import annotations

import time

from autoparser.analysis.core.errors import AutoparserError, TemplateReadError
from autoparser.analysis.loading.sources.gguf import Window

from .client import file_size, headers, raise_for_status, stream
from .failures import HubQuestion, failure, is_cut
from .listing import Listing
from .patience import WAITS, asked_patiently, quietly

__all__ = ["HubWindow"]

PARTIAL_CONTENT = 206


class HubWindow(Window):
    """Reads a file at the commit of a listing."""

    def __init__(self, listing: Listing, file: str) -> None:
        """Look at this file of the listing. Raises AutoparserError where it is not there."""
        self.listing = listing
        self.file = file
        size = listing.files.get(file)
        super().__init__(self._size() if size is None else size)

    @property
    def name(self) -> str:
        """The file, as errors name it."""
        return f"{self.listing.repository}/{self.file}"

    def fetch(self, start: int, stop: int) -> bytes:
        """Ask for a part; a connection that is cut gives what came, and the rest is asked for."""
        got = bytearray()
        for wait in (*WAITS, None):
            try:
                with quietly():
                    asked_patiently(lambda: self._receive(got, start, stop))
            except Exception as error:  # noqa: BLE001 - the library lets many kinds through
                if got:
                    break
                if wait is None or not is_cut(error):
                    raise self._failure(error) from None
                time.sleep(wait)
            else:
                break
        return bytes(got)

    def _receive(self, got: bytearray, start: int, stop: int) -> None:
        """Add what comes to ``got``, and no more than was asked for."""
        from huggingface_hub import constants  # noqa: PLC0415 - slow to import

        wanted = {
            **headers(),
            "Range": f"bytes={start}-{stop - 1}",
            "Accept-Encoding": "identity",
        }
        with stream(self._url(), wanted, constants.HF_HUB_DOWNLOAD_TIMEOUT) as response:
            raise_for_status(response)
            if start and response.status_code != PARTIAL_CONTENT:
                raise TemplateReadError(
                    "the server sends whole files only, not parts of them",
                    file=self.name,
                    hint="fetch the file, and pass it",
                )
            for part in response.iter_bytes():
                got += part[: stop - start - len(got)]
                if len(got) >= stop - start:
                    # Leaving the block closes the connection on what was not asked for.
                    return

    def _size(self) -> int:
        try:
            with quietly():
                size = asked_patiently(lambda: file_size(self._url()))
        except Exception as error:  # noqa: BLE001 - the library lets many kinds through
            raise self._failure(error) from None
        if size is None:
            raise TemplateReadError(
                "the Hub does not say how large this file is",
                file=self.name,
                hint="fetch the file, and pass it",
            )
        return size

    def _url(self) -> str:
        from huggingface_hub import hf_hub_url  # noqa: PLC0415 - slow to import

        return hf_hub_url(self.listing.repository, self.file, revision=self.listing.commit)

    def _failure(self, error: Exception) -> AutoparserError:
        return failure(error, HubQuestion(self.listing.repository, self.listing.commit, self.file))
