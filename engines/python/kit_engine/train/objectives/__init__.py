"""What a training learns, one file each, as engines/objectives/ has them."""

from typing import Any

from ...data.objective import Objective
from ...process.environment import assert_trl
from .dpo import Dpo
from .kto import Kto
from .sft import Sft

PREFERENCE_OBJECTIVES: dict[str, type[Objective]] = {"dpo": Dpo, "kto": Kto}


def objective_of(config: dict[str, Any]) -> Objective:
    """
    The config's.

    :raises KitError: when it needs TRL, which is not here
    """
    objective = config.get("objective")
    if objective is None:
        return Sft()
    assert_trl(objective["type"])
    return PREFERENCE_OBJECTIVES[objective["type"]]()
