"""The lines of a checkpoint file, for a tree: which of them a kubelet remembers, and which somebody has changed."""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.views.catalogue import say
from kubedev.views.tree import Leaf

__all__ = ["file_leaves"]


def file_leaves(
    text: str | None, read: DeviceManagerState | None = None, written: str | None = None
) -> list[Leaf]:
    """The lines of a file. With `read`, the memory of a kubelet that has just started, those are lit that it remembers;
    where it is not as a kubelet has `written` it, what is different is marked.
    """
    error = (read and read.read_error) or ""
    if not text:
        return [Leaf(0, say("checkpoint.none"))]
    try:
        leaves = list(_leaves(json.loads(text), read))
    except (ValueError, KeyError, TypeError, AttributeError):
        return [Leaf(0, text, error, "dim")]
    known = {leaf.text for leaf in file_leaves(written)} if written else {leaf.text for leaf in leaves}
    changed = say("checkpoint.changed")
    return [
        leaf
        if leaf.text in known
        else replace(leaf, look="changed", note=leaf.note if leaf.depth == 0 else changed)
        for leaf in leaves
    ]


def _leaves(file: Any, read: DeviceManagerState | None) -> Iterator[Leaf]:
    """What is said of a line is looked up in the kubelet's memory."""

    def leaf(depth: int, text: str, there: bool) -> Leaf:
        key = "lit" if there else "dim"
        return (
            Leaf(depth, text, say(f"checkpoint.{key}"), "lit" if there else "dim")
            if read
            else Leaf(depth, text)
        )

    yield Leaf(0, "PodDeviceEntries")
    for entry in file["Data"]["PodDeviceEntries"] or ():
        uid, name, resource = (entry[key] for key in ("PodUID", "ContainerName", "ResourceName"))
        there = bool(read and resource in read.pod_devices.get(uid, {}).get(name, {}))
        yield leaf(1, f"{uid} {name} {resource}", there)
        answer = say("checkpoint.answer", count=len(base64.b64decode(entry["AllocResp"] or "")))
        yield leaf(2, f"DeviceIDs {_plain(entry['DeviceIDs'])}, {answer}", there)
    yield Leaf(0, "RegisteredDevices")
    for resource, ids in (file["Data"]["RegisteredDevices"] or {}).items():
        yield leaf(1, resource, bool(read and resource in read.healthy_devices))
        yield leaf(2, _plain(ids), bool(read and resource in read.all_devices))
    checked = (read.read_error or say("checkpoint.checked")) if read else ""
    yield Leaf(0, f"Checksum {file['Checksum']}", checked)


def _plain(value: Any) -> str:
    """A part of the file with room to wrap."""
    return json.dumps(value).replace('"', "")
