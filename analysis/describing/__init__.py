"""A format in other words: names, JSON, other programs' exports, what an output has of it."""
