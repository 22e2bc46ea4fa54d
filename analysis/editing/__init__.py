"""Edits of templates that fix findings or preserve round trips, each proven by renders."""
