"""Pages that need nothing else: one palette, one style, one way to make them."""
