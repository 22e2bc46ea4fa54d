"""Model outputs parsed by a format: the expression of a turn, the push parser."""
