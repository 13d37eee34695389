"""The local page and its JSON interface."""
