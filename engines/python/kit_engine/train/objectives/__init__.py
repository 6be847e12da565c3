"""Objectives, one file each, as in engines/objectives/."""

from typing import Any

from ...data.objective import Objective
from ...process.environment import assert_trl
from .dpo import Dpo
from .kto import Kto
from .sft import Sft

PREFERENCE_OBJECTIVES: dict[str, type[Objective]] = {"dpo": Dpo, "kto": Kto}


def objective_of(config: dict[str, Any]) -> Objective:
    """
    The config's objective.

    :raises KitError: if it needs TRL, which isn't installed
    """
    objective = config.get("objective")
    if objective is None:
        return Sft()
    assert_trl(objective["type"])
    return PREFERENCE_OBJECTIVES[objective["type"]]()
