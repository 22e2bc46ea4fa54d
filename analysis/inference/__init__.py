"""Renders compared: what a template asks for, what each phase concludes, and the check of it."""
