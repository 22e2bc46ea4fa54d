"""Models on the Hub: through `huggingface_hub`, its cache, its tokens, its settings."""

from .cached_answers import cache_answer, cached_answer
from .failures import HubQuestion
from .listing import Listing, listing_of
from .name import HubName, hub_name
from .ranges import HubWindow
from .snapshot import fetched, is_cached

__all__ = [
    "HubName",
    "HubQuestion",
    "HubWindow",
    "Listing",
    "cache_answer",
    "cached_answer",
    "fetched",
    "hub_name",
    "is_cached",
    "listing_of",
]
