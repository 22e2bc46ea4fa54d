"""Constrained decoding: token masks, and answers that are written and judged under them."""
