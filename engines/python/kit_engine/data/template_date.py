"""The date that chat templates write, as in engines/tokens/templateDate.ts."""

import json
import os
from datetime import datetime
from typing import Any

from ..model.models import resuming

# Kit's own key in tokenizer_config.json; local time, without a zone.
KEY = "template_date"


def set_template_date(tokenizer: Any, job: dict[str, Any]) -> None:
    """Sets the date that each checkpoint records: when training first began, even if resumed."""
    if "strftime_now" not in str(tokenizer.chat_template):
        return
    checkpoint = job.get("resumeFrom")
    date = (checkpoint and saved_date(checkpoint)) or date_in(tokenizer.init_kwargs)
    tokenizer.init_kwargs[KEY] = date.isoformat() if date else job["date"]


def template_variables(tokenizer: Any) -> dict[str, Any]:
    """Extra template variables: none for a model that was trained without a date."""
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
