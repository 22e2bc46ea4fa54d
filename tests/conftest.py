"""No test asks anybody but the servers that it starts, nor uses what a person has in a cache."""

from __future__ import annotations

import os
import tempfile

# Before anything imports the library, which reads them once; nothing listens on that port.
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:1"
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="autoparser-tests-")
for name in ("HF_TOKEN", "HF_HUB_CACHE", "HF_ASSETS_CACHE", "HF_HUB_OFFLINE"):
    os.environ.pop(name, None)
