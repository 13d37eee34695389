"""Only the Markdown pages are examples here; the scripts are run by Sphinx."""

collect_ignore_glob = ["*.py", "_ext/*", "gallery/*", "auto_examples/*", "images/*"]
