"""The command that shows attention in a browser, live or as a static site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gluon_attn import runtime
from gluon_attn.errors import UsageError
from reproductions.cli.options import Runs

LOOPBACK, PORT = "127.0.0.1", 8765
AnyPaper = Annotated[str | None, typer.Argument(help="Only networks of this paper, or of a script of your own.")]


def explore(
    paper: AnyPaper = None,
    model: Annotated[Path | None, typer.Option(help="Only the network of this folder.")] = None,
    runs: Runs = Path("runs"),
    host: Annotated[str, typer.Option(help="Address to listen on. Default: this machine only.")] = LOOPBACK,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = PORT,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write what is published to this new folder instead, as a site of files.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier site.")] = False,
) -> None:
    """See what trained networks attend to, on a page where you type sentences.

    The page offers the networks that come with the project and those of your runs, and links to the published tables,
    figures and reading pages. Ctrl-C ends it.
    """
    runtime.configure("portable")
    if out is not None:
        if paper or model or open_browser:
            raise UsageError("--out writes what is published of all papers; leave out PAPER, --model and --open")
        if (runs, host, port) != (Path("runs"), LOOPBACK, PORT):
            raise UsageError("--out writes files and serves nothing; leave out --runs, --host and --port")
        from reproductions.explorer.site import write_site

        print(f"written: {out} ({write_site(out, overwrite=overwrite)} files); open {out / 'index.html'}")
        return
    if overwrite:
        raise UsageError("--overwrite replaces a site; name it with --out")
    from reproductions.explorer.app import Explorer
    from reproductions.explorer.networks import find_networks
    from reproductions.explorer.server import address_of, bind, is_loopback, names_of
    from reproductions.explorer.site import live_files

    networks = find_networks(runs, paper, model)
    app = Explorer(networks, live_files(networks, runs), names_of(host), any_address=not is_loopback(host))
    server = bind(app, host, port)
    try:
        if not is_loopback(host):
            print("*** EVERYONE WHO REACHES THIS MACHINE CAN USE THE EXPLORER ***", file=sys.stderr)
        count = len(networks.offered)
        print(f"{count} network{'s' * (count != 1)} to explore at {address_of(server)} (Ctrl-C ends)", flush=True)
        if open_browser:
            import webbrowser

            webbrowser.open(address_of(server))
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    print("ended")
