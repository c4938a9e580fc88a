"""Where the labs are, and which one `00`, a name or a path means."""

import shutil
from pathlib import Path

__all__ = ["UnknownLabError", "all_labs", "copy_missing", "find", "is_installed", "shipped"]

_PACKAGE = Path(__file__).resolve().parents[1]


class UnknownLabError(ValueError):
    """No notebook is meant by what was given; the text says what could have been given."""


def is_installed() -> bool:
    """Whether kubedev runs from an installed wheel (which holds the labs) rather than from its source tree."""
    return (_PACKAGE / "labs").is_dir()


def shipped() -> Path:
    """Return the folder with the labs as they came: inside the installed package, or beside it in the source."""
    return _PACKAGE / "labs" if is_installed() else _PACKAGE.parent / "labs"


def all_labs(folder: Path) -> list[Path]:
    """Return the labs in a folder (`NN-title.ipynb`), in reading order."""
    return sorted(folder.glob("[0-9][0-9]-*.ipynb"))


def find(lab: str, folder: Path) -> Path:
    """Return the notebook that `lab` means: a path, or a number or name of a lab in `folder`.

    Raises UnknownLabError where there is none.
    """
    path = Path(lab)
    if path.suffix == ".ipynb" and path.is_file():
        return path.resolve()
    wanted = f"{int(lab):02d}" if lab.isdecimal() else path.name.removesuffix(".ipynb")
    for notebook in all_labs(folder):
        number, _, title = notebook.stem.partition("-")
        if wanted in (number, title, notebook.stem):
            return notebook
    there = ", ".join(notebook.stem for notebook in all_labs(folder)) or "none"
    raise UnknownLabError(
        f"no lab {lab!r}: expected a number (00), a name, or the path of a notebook. Labs in {folder}: {there}"
    )


def copy_missing(source: Path, target: Path) -> int:
    """Copy the files of `source` that `target` lacks, and return how many; what is there stays as it is.

    A file appears whole or not at all, so that a copy cut short is mended by the next one.
    """
    copied = 0
    for file in sorted(path.relative_to(source) for path in source.rglob("*") if path.is_file()):
        place = target / file
        if place.exists() or any(part.startswith(".") for part in file.parts):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f".{place.name}.part")
        shutil.copyfile(source / file, part)
        part.rename(place)
        copied += 1
    return copied
