"""`python -m kubedev.tools.badge ADDRESS`: writes the repository's address, and README's badge."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from kubedev import __version__
from kubedev.console import Parser

__all__ = ["badge", "main", "with_address"]

ROOT = Path(__file__).resolve().parents[2]
NOBODY = "OWNER"
"""The owner in the address that stands for none."""


def badge(address: str) -> str:
    """Return the badge that opens lab 00 on Binder, of the repository at `https://github.com/OWNER/NAME`."""
    where = address.removeprefix("https://github.com/")
    lab = "urlpath=lab%2Ftree%2Flabs%2F00-one-pod-one-gpu.ipynb"
    image = "https://mybinder.org/badge_logo.svg"
    return f"[![Open lab 00 on Binder]({image})](https://mybinder.org/v2/gh/{where}/v{__version__}?{lab})"


def with_address(readme: str, address: str) -> str:
    """Return README with the badge below its first line in bold, and with the sentence that points at it."""
    head, said, rest = readme.partition(".**\n\n")
    rest = re.sub(r"^\[!\[Open lab 00 on Binder\].*\n\n", "", rest)
    rest = re.sub(
        r"a badge opens lab 00 on Binder as soon as .*?into `pyproject\.toml`\.",
        "press the Binder badge above.",
        rest,
        flags=re.S,
    )
    return f"{head}{said}{badge(address)}\n\n{rest}"


def main(argv: Sequence[str] | None = None) -> int:
    """Write the address; 2 where it is none."""
    parser = Parser(
        "python -m kubedev.tools.badge", description="Write the repository's address, and its badge."
    )
    parser.add_argument("address", help="https://github.com/OWNER/NAME")
    address = parser.parse_args(argv).address.rstrip("/")
    if not re.fullmatch(r"https://github\.com/[\w-]+/[\w.-]+", address):
        parser.error(f"expected an address like https://github.com/OWNER/NAME; got {address!r}")
    readme, project = ROOT / "README.md", ROOT / "pyproject.toml"
    text = re.sub(r'(?m)^Repository = ".*"', f'Repository = "{address}"', project.read_text("utf-8"))
    project.write_text(text, "utf-8")
    readme.write_text(with_address(readme.read_text("utf-8"), address), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
