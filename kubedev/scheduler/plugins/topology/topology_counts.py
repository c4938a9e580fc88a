"""Counts of pods by topology domain, as pod affinity and topology spread keep them.

A domain is a node label's key and value: `topology.kubernetes.io/zone` and `z1`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubedev.api.values import replace

__all__ = ["TopologyCounts"]


@dataclass(frozen=True, slots=True)
class TopologyCounts:
    """How many pods count in each domain.

    `counted` was counted once for the cycle, by key and value, and is shared; a trial that adds or takes away
    a pod puts the difference in `changes`, so that it costs little for each of thousands of nodes.
    """

    counted: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    total: int = 0
    changes: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, counted: Mapping[str, Mapping[str, int]]) -> "TopologyCounts":
        """The counts as they stand, without changes."""
        return cls(counted, sum(sum(values.values()) for values in counted.values()))

    def get(self, key: str, value: str) -> int:
        """The count of one domain; 0 where nothing was counted."""
        count = self.counted[key].get(value, 0) if key in self.counted else 0
        return count + self.changes.get((key, value), 0) if self.changes else count

    def plus(self, key: str, value: str, amount: int) -> "TopologyCounts":
        """The counts with `amount` more pods in one domain, or fewer where it is negative."""
        changed = self.changes.get((key, value), 0) + amount
        return replace(self, total=self.total + amount, changes={**self.changes, (key, value): changed})

    @property
    def topology_keys(self) -> set[str]:
        """The keys that have a count in some domain."""
        return self.counted.keys() | {key for key, _ in self.changes}
