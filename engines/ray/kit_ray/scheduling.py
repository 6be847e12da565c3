"""Where a model host runs, and what it reserves there."""

from typing import Any

import ray
from ray.util.placement_group import (
    PlacementGroup,
    placement_group,
    placement_group_table,
    remove_placement_group,
)
from ray.util.scheduling_strategies import (
    NodeAffinitySchedulingStrategy,
    PlacementGroupSchedulingStrategy,
)

from .job import Job

# How long Ray may take to reserve a GPU that seems free.
PATIENCE_SECONDS = 5.0


def reserve_gpu(job: Job) -> PlacementGroup | None:
    """Reserves a GPU, or a worker's share of one, if it is free and nobody waits for any."""
    share = min(job.gpus, 1)
    is_free = ray.available_resources().get("GPU", 0) >= share
    if not share or not is_free or is_anyone_waiting():
        return None
    group = placement_group([{"GPU": share}])
    if group.wait(PATIENCE_SECONDS):
        return group
    remove_placement_group(group)
    return None


def is_anyone_waiting() -> bool:
    """Whether anyone waits for resources, such as a training run that restarts after a failure."""
    groups: list[dict[str, Any]] = list(placement_group_table().values())
    return any(group["state"] in ("PENDING", "RESCHEDULING") for group in groups)


def actor_options(group: PlacementGroup | None) -> dict[str, Any]:
    """
    The actor's options. It reserves no CPUs, since it works only while there are requests: it must
    neither wait for a training run that holds all CPUs, nor keep one from restarting.
    """
    if group is not None:
        strategy = PlacementGroupSchedulingStrategy(group)
        share = group.bundle_specs[0]["GPU"]
        return {"num_cpus": 0, "num_gpus": share, "scheduling_strategy": strategy}
    here = NodeAffinitySchedulingStrategy(node_with_most_memory(), soft=True)
    return {"num_cpus": 0, "num_gpus": 0, "scheduling_strategy": here}


def node_with_most_memory() -> str:
    """The node with the most memory; among equals, not the driver's, which is the head."""
    driver = ray.get_runtime_context().get_node_id()
    nodes = [node for node in ray.nodes() if node["Alive"]]
    best = max(
        nodes, key=lambda node: (node["Resources"].get("memory", 0), node["NodeID"] != driver)
    )
    return str(best["NodeID"])
