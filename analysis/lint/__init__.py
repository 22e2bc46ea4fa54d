"""Rules, the renders that they compare, and lint of whole projects."""
