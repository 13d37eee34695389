"""Results into the report: status, HTML, Markdown."""
