"""Rules about templates that may not be meant well."""
