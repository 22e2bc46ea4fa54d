"""What a model wrote, read by a format: the tree of a request, values, the push parser."""
