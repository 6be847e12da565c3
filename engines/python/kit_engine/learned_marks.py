"""Keys that say whether a message is learned, as protocol/learnedMarks.ts reads them here."""

import json
from typing import Any

# Whether a message is learned where the key is true.
MARKS = {
    **dict.fromkeys(
        ("weight", "loss", "loss_mask", "loss_scale", "loss_weight", "step_loss_mask"), True
    ),
    **dict.fromkeys(("train", "training", "trainable", "learn"), True),
    "masked": False,
}
# Keys that trainers read in several ways, or that mark a part of an answer.
UNREAD = ("train_detail", "training_detail", "mask")


def problem_of_marks(message: dict[str, Any]) -> str | None:
    for key, value in message.items():
        if value is None:
            continue
        if key in UNREAD:
            return (
                f'has a "{key}", which Kit does not read: write "weight": 0 for an answer that is '
                "not learned"
            )
        if key not in MARKS or is_flag(value):
            continue
        written = f'has a "{key}" of {json.dumps(value, ensure_ascii=False)}'
        if key == "weight":
            return f"{written}: write 0 or 1"
        return f'{written}: write "weight": 0 for an answer that is not learned, or remove it'
    return None


def is_marked_unlearned(message: dict[str, Any]) -> bool:
    return any(says_learned(key, value) is False for key, value in message.items())


def says_learned(key: str, value: Any) -> bool | None:
    """None for a key that is no mark."""
    return bool(value) is MARKS[key] if key in MARKS and is_flag(value) else None


def is_flag(value: Any) -> bool:
    return isinstance(value, bool | int | float) and value in (0, 1)
