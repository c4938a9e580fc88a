"""What labs say of the scheduler: added to the catalogue."""

from kubedev.views.catalogue import register

__all__ = ["TEXTS"]

TEXTS = {
    "log.scheduler-configured": "start with the profiles {profiles}",
    "label.scheduler-configured": "configure",
    "log.claim-bound": "claim {claim} is bound to {volume}",
    "label.claim-bound": "{claim} bound",
    "log.bind-volumes": "volumes for {pod}: {names}",
    "label.bind-volumes": "volumes",
    "scheduler.no-profile": "pod {pod} asks for the scheduler {name}, and there are only {known}: nobody will look at "
    "it. Write another schedulerName, or configure a profile of this name.",
}

register(TEXTS)
