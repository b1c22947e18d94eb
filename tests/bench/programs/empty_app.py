"""The smallest program with Typer: what a command line costs at the least."""

from __future__ import annotations

import typer

app = typer.Typer()


@app.command()
def hello(name: str = "you") -> None:
    """Say hello."""
    print(f"hello {name}")


if __name__ == "__main__":
    app()
