"""What a cell says that needs gRPC where there is none: one sentence, and the lab goes on."""

from typing import Any

from IPython.core.getipython import get_ipython

from kubedev.views.catalogue import say

__all__ = ["NeedsWireError"]


class NeedsWireError(Exception):
    """Something cannot be had in memory; `what` names it. A notebook's cell that meets it says so, and is done."""

    def __init__(self, what: str) -> None:
        super().__init__(say("needs-wire", what=what))
        shell = get_ipython()
        if shell is not None:
            shell.set_custom_exc((NeedsWireError,), _tell)  # type: ignore[no-untyped-call]
            if _is_done not in shell.events.callbacks["post_run_cell"]:
                shell.events.register("post_run_cell", _is_done)


def _tell(_shell: Any, _kind: Any, error: Exception, _traceback: Any, tb_offset: Any = None) -> None:
    print(error)


def _is_done(result: Any) -> None:
    if isinstance(result.error_in_exec, NeedsWireError):
        result.error_in_exec = None
