"""What is said where torch is missing, whether it is or not."""

from __future__ import annotations

import sys

import pytest

from autoparser.analysis.decoding.mask_sampling import DeviceError, choose_device


def test_torch_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DeviceError, match=r"torch, which is not installed.*autoparser-chat\[gpu\]"):
        choose_device("auto")
