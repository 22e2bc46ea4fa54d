"""A format in other words: marker names, JSON documents, and the file it is saved in."""
