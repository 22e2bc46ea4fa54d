"""What the package index calls this package."""

from __future__ import annotations

DISTRIBUTION = "autoparser-chat"
"""The name in the package index; what is imported and run is `autoparser`."""
