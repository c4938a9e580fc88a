"""How many feasible nodes the scheduler looks for."""

from typing import Any

from kubedev.scheduler.framework import num_feasible_nodes_to_find


def answer(case_in: dict[str, Any]) -> dict[str, Any]:
    return {"nodes": num_feasible_nodes_to_find(case_in["num_all_nodes"], case_in["percentage"] or 0)}
