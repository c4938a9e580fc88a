"""What a plugin answers about a pod and a node: a code, and the reasons in Kubernetes' words."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

__all__ = ["SUCCESS", "Code", "Status"]


class Code(Enum):
    """The kinds of answers; the values are the names that Go prints.

    Go: `pkg/scheduler/framework/interface.go: Code`.
    """

    SUCCESS = "Success"
    ERROR = "Error"
    UNSCHEDULABLE = "Unschedulable"
    """Not here now; taking pods away may help, so preemption looks at this node."""
    UNSCHEDULABLE_AND_UNRESOLVABLE = "UnschedulableAndUnresolvable"
    """Not here, whichever pods go: preemption skips this node."""
    WAIT = "Wait"
    SKIP = "Skip"
    """The plugin has nothing to say about this pod: it is not asked again in this cycle."""
    PENDING = "Pending"


@dataclass(frozen=True, slots=True)
class Status:
    """One answer. `reasons` are shown to the user, `plugin` names who gave the answer.

    `why` are the values behind the reasons, for views: the untolerated taint, the insufficient resources with
    their arithmetic, the skew of a domain; each plugin says which.

    Go: `pkg/scheduler/framework/interface.go: Status`.
    """

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    why: tuple[Any, ...] = ()

    @property
    def is_success(self) -> bool:
        """Whether the pod passes."""
        return self.code is Code.SUCCESS

    @property
    def is_skip(self) -> bool:
        """Whether the plugin has nothing to check."""
        return self.code is Code.SKIP

    @property
    def is_rejected(self) -> bool:
        """Whether the pod is refused for a reason of its own, and not because of an error."""
        return self.code in (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING)

    @property
    def message(self) -> str:
        """The reasons in one line, as Go's Status.Message gives them."""
        return ", ".join(self.reasons)


SUCCESS = Status(Code.SUCCESS)
