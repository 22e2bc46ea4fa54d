"""Models on the Hub: through `huggingface_hub`, its cache, its tokens, its settings."""

from .failures import Question
from .kept import keep, kept
from .listing import Listing, listing_of
from .name import HubName, hub_name
from .ranges import HubWindow
from .snapshot import fetched, is_cached

__all__ = [
    "HubName",
    "HubWindow",
    "Listing",
    "Question",
    "fetched",
    "hub_name",
    "is_cached",
    "keep",
    "kept",
    "listing_of",
]
