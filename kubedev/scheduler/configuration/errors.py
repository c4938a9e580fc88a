"""What is wrong with a configuration, and at which stage it was found."""

from collections.abc import Iterable
from typing import Literal

__all__ = ["ConfigurationError"]


class ConfigurationError(ValueError):
    """A configuration with which kube-scheduler would not start, in its words.

    `stage` is decode (the file cannot be read), validate (values are not allowed), or build (no profile can be made
    of it); `texts` are the single faults.
    """

    def __init__(self, stage: Literal["decode", "validate", "build"], texts: Iterable[str]) -> None:
        self.stage = stage
        self.texts = tuple(texts)
        super().__init__(self.texts[0] if len(self.texts) == 1 else f"[{', '.join(self.texts)}]")
