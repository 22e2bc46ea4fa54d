"""Learning the pieces of a format from observed turns."""
