"""What `kubedev check-plugin` reports: a table while it runs, JSON, and JUnit's XML."""

import re
import shutil
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from xml.etree import ElementTree

from kubedev import KUBERNETES_VERSION
from kubedev.console import json_line, visible, write
from kubedev.deviceplugin.duties import Outcome, Verdict

__all__ = ["Table", "as_json", "as_junit", "outcome"]

_ORDER: tuple[Outcome, ...] = ("broken", "warning", "ok", "not applicable")
_SIGNS = {"ok": "✓", "warning": "!", "broken": "✗", "not applicable": "-"}
_COLOURS = {"ok": "32", "warning": "33", "broken": "1;31", "not applicable": "2"}
_NOT_XML = re.compile("[\ufffe\uffff]")
KEY = 17  # columns of the longest key


def outcome(verdicts: Sequence[Verdict]) -> Outcome:
    """The worst outcome."""
    there = {verdict.outcome for verdict in verdicts}
    return next((each for each in _ORDER if each in there), "ok")


def as_json(resource: str, verdicts: Sequence[Verdict], words: Sequence[str]) -> str:
    """One JSON object: the whole's outcome, each duty with its own, and the plugin's last words."""
    duties = [
        {
            "key": verdict.duty.key,
            "outcome": verdict.outcome,
            "asks": verdict.duty.asks,
            "source": verdict.duty.source,
            "seen": verdict.seen,
            "advice": verdict.duty.advice,
        }
        for verdict in verdicts
    ]
    whole = {"resource": resource, "kubernetes": KUBERNETES_VERSION, "outcome": outcome(verdicts)}
    return json_line({**whole, "duties": duties, "output": list(words)}, indent=2)


def as_junit(resource: str, verdicts: Sequence[Verdict]) -> str:
    """A test suite in JUnit's XML: a broken duty is a failure, one that does not apply is skipped."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    suite = ElementTree.Element(
        "testsuite",
        name=_xml(f"kubedev check-plugin {resource}"),
        tests=str(len(verdicts)),
        failures=str(counts["broken"]),
        errors="0",
        skipped=str(counts["not applicable"]),
    )
    for verdict in verdicts:
        case = ElementTree.SubElement(suite, "testcase", classname="check-plugin", name=verdict.duty.key)
        text = _xml(f"{verdict.duty.asks}\n{verdict.duty.source}\n{verdict.duty.advice}")
        if verdict.outcome == "broken":
            ElementTree.SubElement(case, "failure", message=_xml(verdict.seen)).text = text
        elif verdict.outcome == "not applicable":
            ElementTree.SubElement(case, "skipped", message=_xml(verdict.seen))
        else:
            ElementTree.SubElement(case, "system-out").text = _xml(f"{verdict.outcome}: {verdict.seen}")
    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'


def _xml(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", visible(text))


class Table:
    """The table, a line a duty as it is judged; on a terminal with colours, and below it what goes on."""

    def __init__(self, resource: str, terminal: bool, stopping: Callable[[], bool]) -> None:
        self._terminal, self._stopping = terminal, stopping
        self._width = shutil.get_terminal_size((100, 24)).columns if terminal else 100
        self._line(f"{resource}, as a kubelet of Kubernetes {KUBERNETES_VERSION} sees it")

    def says(self, what: str) -> None:
        """Say what goes on, until the next line."""
        if self._terminal and not self._stopping():
            print(f"\r\x1b[K\x1b[2m… {what}\x1b[0m", end="", flush=True)

    def clear(self) -> None:
        """Take back what goes on."""
        if self._terminal:
            print("\r\x1b[K", end="", flush=True)

    def add(self, verdicts: Sequence[Verdict]) -> None:
        """A line for each; what is not kept is explained."""
        for verdict in verdicts:
            label = f"{_SIGNS[verdict.outcome]} {verdict.outcome:<14} {verdict.duty.key:<{KEY}} "
            first, *rest = self._wrapped(verdict.seen, len(label))
            self._line(self._coloured(label, verdict.outcome) + first, *rest)
            if verdict.outcome in ("broken", "warning"):
                for name, text in (
                    ("asks", verdict.duty.asks),
                    ("source", verdict.duty.source),
                    ("to do", verdict.duty.advice),
                ):
                    indent = " " * 19
                    first, *rest = self._wrapped(text, 27)
                    self._line(f"{indent}{name:<8}{first}", *rest)

    def end(self, verdicts: Sequence[Verdict], words: Sequence[str]) -> None:
        """The last line; where a duty is broken, the plugin's last words before it."""
        worst = outcome(verdicts)
        if worst == "broken" and words:
            self._line("", "The plugin printed at last:", *(f"  {word}" for word in words[-10:]))
        counts = Counter(verdict.outcome for verdict in verdicts)
        parts = [
            f"{counts[each]} {each}" for each in ("ok", "warning", "broken", "not applicable") if counts[each]
        ]
        self._line("", self._coloured(f"{len(verdicts)} duties: {', '.join(parts)}", worst))

    def _wrapped(self, text: str, indent: int) -> list[str]:
        width = max(self._width - indent, 30)
        first, *rest = textwrap.wrap(visible(text), width, break_on_hyphens=False) or [""]
        return [first, *(" " * indent + line for line in rest)]

    def _coloured(self, text: str, outcome: Outcome) -> str:
        return f"\x1b[{_COLOURS[outcome]}m{text}\x1b[0m" if self._terminal else text

    def _line(self, *lines: str) -> None:
        clear = "\r\x1b[K" if self._terminal else ""
        for line in lines:
            write(clear + line, self._stopping)
