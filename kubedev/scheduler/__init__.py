"""The scheduler: Resource, Fits, filters, scores, queue, cache, preemption, the cycle."""
