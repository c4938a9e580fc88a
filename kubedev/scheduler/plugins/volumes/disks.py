"""Disks that stand in pods themselves: when two of them are one that cannot be used twice.

Go: `pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go`.
"""

from kubedev.api.volumes import Source, Volume

__all__ = ["disks_conflict", "is_disk"]

DISKS = ("gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd")


def is_disk(volume: Volume) -> bool:
    """Whether it is of a kind that is looked at. Go: `needsRestrictionsCheck`."""
    return any(kind in volume.sources for kind in DISKS)


def disks_conflict(mine: Volume, theirs: Volume) -> bool:
    """Whether two volumes of two pods are one disk that cannot be used twice. Go: `isVolumeConflict`."""
    return any(
        kind in mine.sources
        and kind in theirs.sources
        and is_same_disk(kind, mine.sources[kind], theirs.sources[kind])
        for kind in DISKS
    )


def is_same_disk(kind: str, mine: Source, theirs: Source) -> bool:
    """Whether they are the same disk, and not both read-only; for EBS that makes no difference."""
    if kind == "awsElasticBlockStore":
        return bool(mine["volumeID"] == theirs["volumeID"])
    if mine["readOnly"] and theirs["readOnly"]:
        return False
    if kind == "gcePersistentDisk":
        return bool(mine["pdName"] == theirs["pdName"])
    if kind == "iscsi":
        return bool(mine["iqn"] == theirs["iqn"])
    same_image = all(mine[setting] == theirs[setting] for setting in ("pool", "image"))
    return same_image and not set(mine["monitors"]).isdisjoint(theirs["monitors"])
