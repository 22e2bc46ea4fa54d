"""Rules about whether a template compiles and renders."""
