"""The date that chat templates write, as in engines/tokens/templateDate.ts."""

import json
import os
from datetime import datetime
from typing import Any

from ..model.models import resuming

# Kit's own key in tokenizer_config.json; local time, without a zone.
KEY = "template_date"


def set_template_date(tokenizer: Any, job: dict[str, Any]) -> None:
    """Saved with each checkpoint: when training began, even if it is resumed."""
    if "strftime_now" not in str(tokenizer.chat_template):
        return
    resumed = job.get("resumeFrom")
    known = (resumed and saved_date(resumed)) or date_in(tokenizer.init_kwargs)
    tokenizer.init_kwargs[KEY] = known.isoformat() if known else job["date"]


def template_variables(tokenizer: Any) -> dict[str, Any]:
    """Extra variables of a template: no date for a model that has learned none."""
    date = date_in(tokenizer.init_kwargs)
    return {"strftime_now": date.strftime} if date else {}


def saved_date(checkpoint: str) -> datetime | None:
    path = os.path.join(checkpoint, "tokenizer_config.json")
    if not os.path.exists(path):
        return None
    with resuming(checkpoint), open(path, encoding="utf-8") as file:
        return date_in(json.load(file))


def date_in(config: dict[str, Any]) -> datetime | None:
    try:
        return datetime.strptime(config[KEY], "%Y-%m-%dT%H:%M:%S")
    except (KeyError, TypeError, ValueError):
        return None
