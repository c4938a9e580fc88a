"""A mapping of pods by uid that is a value, and still cheap to change when it is large.

Copying one dict of 50,000 pods for every pod that is scheduled would take longer than most of the cycle. Here a
change copies one small dict, and the dict of all of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from zlib import crc32

from kubedev.api.objects import Pod

__all__ = ["PodsByUid"]

BUCKETS = 256


@dataclass(frozen=True, slots=True, eq=False)
class PodsByUid(Mapping[str, Pod]):
    """Pods by uid, each in the bucket that its uid's checksum chooses. Equal to any mapping with the same pods."""

    buckets: Mapping[int, Mapping[str, Pod]] = field(default_factory=dict)

    @classmethod
    def of(cls, pods: Iterable[Pod]) -> "PodsByUid":
        """A mapping of these pods."""
        buckets: dict[int, dict[str, Pod]] = {}
        for pod in pods:
            buckets.setdefault(bucket_of(pod.uid), {})[pod.uid] = pod
        return cls(buckets)

    def with_pod(self, pod: Pod) -> "PodsByUid":
        """With this pod, in place of an earlier version."""
        number = bucket_of(pod.uid)
        return PodsByUid({**self.buckets, number: {**self.buckets.get(number, {}), pod.uid: pod}})

    def without(self, uid: str) -> "PodsByUid":
        """Without the pod of this uid."""
        number = bucket_of(uid)
        rest = {key: pod for key, pod in self.buckets[number].items() if key != uid}
        return PodsByUid({**self.buckets, number: rest})

    def __getitem__(self, uid: str) -> Pod:
        return self.buckets.get(bucket_of(uid), {})[uid]

    def __iter__(self) -> Iterator[str]:
        return (uid for bucket in self.buckets.values() for uid in bucket)

    def __len__(self) -> int:
        return sum(map(len, self.buckets.values()))


def bucket_of(uid: str) -> int:
    """The number of the uid's bucket: the same in every process, unlike Python's own hash."""
    return crc32(uid.encode()) % BUCKETS
