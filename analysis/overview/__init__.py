"""Overviews for a person: one template, a comparison of two, a survey of many."""
