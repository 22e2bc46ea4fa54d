"""Rules, what they look at, and lint of whole projects."""
