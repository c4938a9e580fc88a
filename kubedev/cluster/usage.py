"""What a container or a machine uses at a moment: bytes, inodes and processes."""

from dataclasses import dataclass

__all__ = ["MachineUsage", "Usage"]


@dataclass(frozen=True, slots=True)
class Usage:
    """A container's working set, writable layer, logs and volumes in bytes; its inodes and processes."""

    memory: int = 0
    rootfs: int = 0
    logs: int = 0
    inodes: int = 0
    processes: int = 1
    volumes: tuple[tuple[str, int], ...] = ()

    @property
    def disk(self) -> int:
        """All that lies on the node's disk, in bytes."""
        return self.rootfs + self.logs + sum(size for _, size in self.volumes)


@dataclass(frozen=True, slots=True)
class MachineUsage:
    """What a machine uses besides its pods: `images` and `dead_containers` go when its disk is short."""

    memory: int = 0
    disk: int = 0
    images: int = 0
    dead_containers: int = 0
    inodes: int = 0
    processes: int = 0
