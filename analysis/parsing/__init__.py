"""What a model wrote, read by a format: the expression of a turn, the push parser."""
