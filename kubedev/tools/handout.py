"""Slides on paper: a browser that is here prints them to a PDF, one page a slide."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from kubedev.views.catalogue import say

__all__ = ["BROWSERS", "browser", "print_pdf"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_SECONDS = 180


def browser() -> str | None:
    """Return the path of a browser that can print, if there is one."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def print_pdf(deck: Path) -> Path:
    """Print a deck; the file beside it. Raises RuntimeError where the browser fails."""
    file = deck.with_suffix(".pdf")
    with tempfile.TemporaryDirectory(prefix="kubedev-") as profile:
        command = [
            browser() or BROWSERS[0],
            "--headless",
            "--disable-gpu",
            "--no-pdf-header-footer",
            f"--user-data-dir={profile}",
            "--virtual-time-budget=60000",  # until pictures and charts are drawn
            f"--print-to-pdf={file.resolve()}",
            f"{deck.resolve().as_uri()}?print-pdf",
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(
                1, "--no-sandbox"
            )  # which chromium does not start without for root; the page is ours
        try:
            done = subprocess.run(command, capture_output=True, timeout=_SECONDS, text=True)
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(say("slides.no_pdf", why=say("run.timeout", seconds=_SECONDS))) from error
    if done.returncode or not file.exists():
        raise RuntimeError(say("slides.no_pdf", why=done.stderr.strip().rpartition("\n")[2]))
    return file
