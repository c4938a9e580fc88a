"""Semantic versions, read strictly. Go: `github.com/blang/semver/v4: Parse, Compare`."""

import re
from dataclasses import dataclass
from typing import Self

__all__ = ["Semver"]

NUMBER, PART = r"(?:0|[1-9]\d*)", r"[0-9A-Za-z-]+"
PRE = rf"(?:{NUMBER}|\d*[A-Za-z-][0-9A-Za-z-]*)"
VERSION = re.compile(
    rf"({NUMBER})\.({NUMBER})\.({NUMBER})(?:-({PRE}(?:\.{PRE})*))?(?:\+{PART}(?:\.{PART})*)?", re.ASCII
)
MOST = 1 << 64


@dataclass(frozen=True, slots=True)
class Semver:
    """A version: `pre` is what stands after the minus; what stands after a plus counts for nothing."""

    major: int
    minor: int
    patch: int
    pre: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a version, or raise ValueError."""
        match = VERSION.fullmatch(text)
        if match is None or any(int(part) >= MOST for part in match.group(1, 2, 3)):
            raise ValueError(f"Invalid Semantic Version: expected major.minor.patch, got {text!r}")
        pre = tuple(match[4].split(".")) if match[4] else ()
        return cls(int(match[1]), int(match[2]), int(match[3]), pre)

    def compare(self, other: "Semver") -> int:
        """-1, 0 or 1: older, the same, newer. A pre-release is older than its version."""
        mine, its = self.order(), other.order()
        return (mine > its) - (mine < its)

    def order(self) -> tuple[object, ...]:
        """A value that is ordered as versions are: numbers before texts, fewer parts first, none last."""
        parts = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in self.pre)
        return self.major, self.minor, self.patch, not parts, parts
