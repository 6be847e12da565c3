"""What a training learns, one file each, as engines/objectives/ has them."""

from typing import Any

from .objective import Objective
from .sft import Sft


def objective_of(config: dict[str, Any]) -> Objective:
    """The config's; a new one for each training, because it gathers metrics."""
    return Sft()
