"""`synafa serve`: a model as a web page on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synafa.cli import options


def serve(
    model: options.Model,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; the default is reached from this machine only.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8000,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    log: Annotated[
        Path | None,
        typer.Option("--log", help="Append a line for each decision to this file: values and answers, no free text."),
    ] = None,
) -> None:
    """Ask a model in the browser: enter what is known, read what it is now and what to measure next.

    Example: `synafa serve model.synafa --open`
    """
    from synafa.model.storage import load_bedside
    from synafa.web import app as web
    from synafa.web.audit import AuditLog

    asked = load_bedside(model)
    audit = None if log is None else AuditLog(log, asked, model.name)
    with web.listen(host, port) as listener:
        local = web.is_loopback(listener)
        hosts = (*web.LOOPBACK, host, listener.getsockname()[0]) if local else ("*",)
        app = web.create_app(asked, hosts, name=model.name, log=audit)
        typer.echo(f"{model} is at {web.address(listener)} - Ctrl-C ends it.")
        if not local:
            typer.echo("Everyone who reaches this address can ask the model: there is no password.", err=True)
        try:
            web.serve(app, listener, open_page=open_page)
        except KeyboardInterrupt:
            typer.echo("Ended.")
