"""What a model wrote, read by a format: the expression of a turn and the push parser."""
