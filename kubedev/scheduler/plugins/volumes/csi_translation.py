"""Volumes of the old kinds, as the CSI driver sees them that took their place on a node.

A node says in an annotation of its CSINode which old kinds its drivers took over.

Go: `k8s.io/csi-translation-lib`.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from kubedev.api.selectors import NodeSelectorRequirement, NodeSelectorTerm
from kubedev.api.storage import CSINode, PersistentVolume
from kubedev.api.volumes import Source
from kubedev.scheduler.plugins.volumes.topologies import (
    DELIMITER,
    REGION,
    REGION_BETA,
    ZONE,
    ZONE_BETA,
)

__all__ = [
    "CSIVolume",
    "TranslationError",
    "in_tree_plugin",
    "is_counted",
    "is_migrated",
    "plugin_named",
    "translate_inline",
    "translate_volume",
]

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
UNSPECIFIED = "UNSPECIFIED"


class TranslationError(ValueError):
    """A volume that no driver can take over as it is, in Kubernetes' words."""


class InTreePlugin(NamedTuple):
    """An old kind of volume: its name, its driver, and the driver's label for zones (empty: it has none)."""

    name: str
    driver: str
    zone_key: str = ""


class CSIVolume(NamedTuple):
    """A volume as a CSI driver knows it."""

    driver: str
    handle: str


IN_TREE_PLUGINS: Mapping[str, InTreePlugin] = {
    "awsElasticBlockStore": InTreePlugin(
        "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"
    ),
    "gcePersistentDisk": InTreePlugin(
        "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"
    ),
    "azureDisk": InTreePlugin("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    "cinder": InTreePlugin(
        "kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"
    ),
    "portworxVolume": InTreePlugin("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    "azureFile": InTreePlugin("kubernetes.io/azure-file", "file.csi.azure.com"),
    "vsphereVolume": InTreePlugin("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
}
"""By the field of a volume. The last two have drivers, yet scheduling does not translate them."""

TRANSLATED = frozenset(
    IN_TREE_PLUGINS[kind].name
    for kind in ("awsElasticBlockStore", "gcePersistentDisk", "azureDisk", "cinder", "portworxVolume")
)


def in_tree_plugin(sources: Mapping[str, Source]) -> InTreePlugin | None:
    """The old kind that a volume is of, None where it is of none. Go: `GetInTreePluginNameFromSpec`."""
    return next((plugin for kind, plugin in IN_TREE_PLUGINS.items() if kind in sources), None)


def plugin_named(provisioner: str) -> InTreePlugin | None:
    """The old kind that a class's provisioner names. Go: `IsMigratableIntreePluginByName`."""
    return next((plugin for plugin in IN_TREE_PLUGINS.values() if plugin.name == provisioner), None)


def is_migrated(plugin: InTreePlugin, csi_node: CSINode | None) -> bool:
    """Whether a driver took over the old kind on the node: its annotation names it.

    Go: `pkg/scheduler/framework/plugins/volumebinding/binder.go: isPluginMigratedToCSIOnNode`.
    """
    if csi_node is None or plugin.name not in TRANSLATED:
        return False
    return plugin.name in csi_node.annotations.get(MIGRATED_PLUGINS, "").split(",")


def is_counted(plugin: InTreePlugin, csi_node: CSINode | None) -> bool:
    """Whether the driver's limit counts volumes of the old kind: all but Portworx count without an annotation.

    Go: `pkg/scheduler/framework/plugins/nodevolumelimits/utils.go: isCSIMigrationOn`.
    """
    if csi_node is None or plugin.name not in TRANSLATED:
        return False
    return plugin is not IN_TREE_PLUGINS["portworxVolume"] or is_migrated(plugin, csi_node)


def translate_inline(sources: Mapping[str, Source]) -> CSIVolume:
    """A volume that stands in the pod itself. Raises TranslationError. Go: `TranslateInTreeInlineVolumeToCSI`."""
    return _translate(sources, "")


def translate_volume(volume: PersistentVolume) -> PersistentVolume:
    """A volume of an old kind with a CSI source, and a node affinity in its driver's labels.

    Raises TranslationError. Go: `TranslateInTreePVToCSI`.
    """
    zones = volume.labels.get(ZONE_BETA) or volume.labels.get(ZONE, "")
    driver, handle = _translate(volume.sources, zones)
    plugin = in_tree_plugin(volume.sources)
    if plugin is not None and plugin.zone_key:
        volume = replace(volume, node_affinity=_translate_topology(volume, plugin.zone_key))
    return replace(volume, sources={"csi": {"driver": driver, "volumeHandle": handle}})


def _translate(sources: Mapping[str, Source], zones: str) -> CSIVolume:
    """Driver and handle; `zones` is the zone label of a volume, empty where there is none."""
    plugin = in_tree_plugin(sources)
    match sources:
        case {"awsElasticBlockStore": source}:
            handle = _ebs_volume_id(source["volumeID"])
        case {"gcePersistentDisk": source}:
            handle = f"projects/{UNSPECIFIED}/{_gce_place(zones)}/disks/{source['pdName']}"
        case {"azureDisk": source}:
            if source["kind"] and source["kind"].lower() != "managed":
                raise TranslationError(f"kind({source['kind']}) is not supported in csi migration")
            handle = source["diskURI"]
        case {"cinder": source} | {"portworxVolume": source}:
            handle = source["volumeID"]
        case _:
            handle = ""
    return CSIVolume(plugin.driver if plugin else "", handle)


def _ebs_volume_id(text: str) -> str:
    """The id in `aws://ZONE/vol-ID`; anything else is an id itself. Go: `KubernetesVolumeIDToEBSVolumeID`."""
    if not text.startswith("aws://"):
        return text
    found = unquote(urlsplit(text).path).strip("/")
    if not re.match(r"^vol-[^/]*$", found):
        raise TranslationError(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({text})"
        )
    return found


def _gce_place(zones: str) -> str:
    """The zone or, for several zones, the region of a disk."""
    names = zones.split(DELIMITER)
    if len(names) == 1:
        return f"zones/{names[0] or UNSPECIFIED}"
    regions = set()
    for name in names:
        parts = name.split("-")
        if len(parts) != 3:
            raise TranslationError(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {name}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        got = " ".join(f"{region}:{{}}" for region in sorted(regions))
        raise TranslationError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: map[{got}]"
        )
    return f"regions/{regions.pop()}"


Terms = tuple[NodeSelectorTerm, ...]


def _translate_topology(volume: PersistentVolume, zone_key: str) -> Terms | None:
    """The node affinity with the driver's label for zones; taken from the labels where it says nothing of zones.

    Go: `translateTopologyFromInTreeToCSI`.
    """
    terms = volume.node_affinity
    zone = _zone_label(volume)
    if _values(terms, zone):
        terms = _renamed(terms, zone, zone_key)
    elif zone in volume.labels:
        zones = sorted({name.strip() for name in volume.labels[zone].split(DELIMITER)} - {""})
        if zones:
            wanted = NodeSelectorRequirement(zone_key, "In", tuple(zones))
            terms = tuple(
                replace(term, match_expressions=(*term.match_expressions, wanted))
                for term in (terms or (NodeSelectorTerm(),))
            )
    if zone == ZONE_BETA and _values(terms, REGION_BETA):
        terms = _renamed(terms, REGION_BETA, REGION)
    return terms


def _zone_label(volume: PersistentVolume) -> str:
    """Which of the two labels for zones the volume uses, in its affinity or its labels. Go: `getTopologyLabel`."""
    in_affinity = [one.key for term in volume.node_affinity or () for one in term.match_expressions]
    for names in (in_affinity, volume.labels):
        for label in (ZONE, ZONE_BETA):
            if label in names:
                return label
    return ZONE


def _values(terms: Terms | None, key: str) -> list[str]:
    return [
        value
        for term in terms or ()
        for one in term.match_expressions
        if one.key == key
        for value in one.values
    ]


def _renamed(terms: Terms | None, old: str, new: str) -> Terms:
    return tuple(
        replace(
            term,
            match_expressions=tuple(
                replace(one, key=new) if one.key == old else one for one in term.match_expressions
            ),
        )
        for term in terms or ()
    )
