"""A policy as a finite graph: built from the rule, laid out, drawn."""
