"""The volumes of a pod, as far as scheduling looks at them: claims, and disks that can be attached once.

Go: `k8s.io/api/core/v1/types.go: Volume, VolumeSource`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from kubedev.api.fields import Fields

__all__ = ["Source", "Volume", "read_sources"]

Source = Mapping[str, Any]
"""The settings of one source, by their names in a manifest: those that scheduling looks at."""

SETTINGS = {
    "gcePersistentDisk": "pdName:text readOnly:boolean",
    "awsElasticBlockStore": "volumeID:text readOnly:boolean",
    "azureDisk": "diskURI:text kind:text",
    "cinder": "volumeID:text",
    "portworxVolume": "volumeID:text",
    "iscsi": "iqn:text readOnly:boolean",
    "rbd": "monitors:texts pool:text image:text readOnly:boolean",
    "csi": "driver:text volumeHandle:text",
    "azureFile": "",
    "vsphereVolume": "",
}
"""The sources that somebody looks at, each with its settings and how they are read."""


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of a pod.

    `claim_name` is None where it is not a claim's; `claim_template` is what the claim of a generic ephemeral
    volume is made from, None where it is not one. `sources` has the others by their kind.
    """

    name: str
    claim_name: str | None = None
    claim_template: Mapping[str, Any] | None = None
    sources: Mapping[str, Source] = field(default_factory=dict)

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read an entry of spec.volumes, or raise FieldError."""
        claim = fields.child("persistentVolumeClaim")
        ephemeral = fields.child("ephemeral")
        return cls(
            fields.text("name"),
            claim.text("claimName") if fields.has("persistentVolumeClaim") else None,
            ephemeral.child("volumeClaimTemplate").values if fields.has("ephemeral") else None,
            read_sources(fields),
        )


def read_sources(fields: Fields) -> dict[str, Source]:
    """The sources in a volume or in a PersistentVolume's spec that scheduling looks at."""
    return {
        kind: {
            name: getattr(fields.child(kind), how)(name)
            for name, _, how in (setting.partition(":") for setting in settings.split())
        }
        for kind, settings in SETTINGS.items()
        if fields.has(kind)
    }
