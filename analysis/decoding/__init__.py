"""Constrained decoding: token masks, and answers written and judged under them."""
