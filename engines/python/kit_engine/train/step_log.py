"""Accumulates steps into log events, and checks that numbers are finite."""

import math
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from ..process.constants import CONSTANTS
from ..process.errors import KitError
from ..process.means import Mean, add_means

# Always logged: a warm-up step, and one that shows the real speed.
FIRST_STEPS = CONSTANTS["firstLoggedSteps"]
# float32's precision.
DIGITS = CONSTANTS["loggedDigits"]
# After divergence, the learning rate to try, as a share of the current one, and its maximum.
RATE_FACTOR = CONSTANTS["loweredRate"]
MAX_ADVISED_RATE = CONSTANTS["maxAdvisedRate"]


def is_due(step: int, every: int, steps: int) -> bool:
    return step == steps or step % every == 0


def is_logged(step: int, every: int, steps: int) -> bool:
    return step <= FIRST_STEPS or is_due(step, every, steps)


@dataclass
class StepLog:
    """Accumulates steps until they are logged."""

    # Values since the previous log.
    losses: list[float] = field(default_factory=list)
    grad_norm: float = math.nan
    tokens: int = 0
    seconds: float = 0.0
    began: float = 0.0
    metrics: dict[str, Mean] = field(default_factory=dict)

    def begin(self) -> None:
        self.began = time.perf_counter()

    def add(self, loss: float, grad_norm: float, tokens: int, metrics: dict[str, Mean]) -> None:
        self.losses.append(loss)
        self.grad_norm = grad_norm
        self.tokens += tokens
        add_means(self.metrics, metrics)

    def end(self) -> None:
        self.seconds += time.perf_counter() - self.began

    def pending(self) -> dict[str, Any]:
        """The steps since the previous log, for a resumed run."""
        metrics = {name: asdict(mean) for name, mean in self.metrics.items()}
        return {"losses": self.losses, **({"metrics": metrics} if metrics else {})}

    def mean(self) -> float:
        return sum(self.losses) / len(self.losses)

    def tokens_per_second(self) -> int:
        return round(self.tokens / max(self.seconds, 0.001))

    def clear(self) -> None:
        self.losses, self.tokens, self.seconds, self.metrics = [], 0, 0.0, {}


def log_event(
    entry: dict[str, Any], tokens_per_second: int, metrics: dict[str, float]
) -> dict[str, Any]:
    """
    The data of `training.log`, from the Trainer's log entry.

    :param metrics: the training's; the entry has the evaluation's
    """
    data: dict[str, Any] = {
        "step": entry["step"],
        "loss": rounded(entry["loss"]),
        "learningRate": rounded(entry["learning_rate"]),
        "gradNorm": rounded(entry["grad_norm"]),
        "epoch": rounded(entry["epoch"]),
        "tokensPerSecond": tokens_per_second,
    }
    if "eval_loss" in entry:
        data["evalLoss"] = rounded(entry["eval_loss"])
    evaluated = {eval_name(name): value for name, value in entry.get("eval_metrics", {}).items()}
    if metrics or evaluated:
        data["metrics"] = {name: rounded(value) for name, value in {**metrics, **evaluated}.items()}
    return data


def eval_name(name: str) -> str:
    """`accuracy` → `evalAccuracy`, like `evalLoss`."""
    return f"eval{name[:1].upper()}{name[1:]}"


def rounded(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def assert_finite(step: int, problem: str, is_finite: bool, peak: float) -> None:
    if is_finite:
        return
    lower = min(MAX_ADVISED_RATE, float(f"{peak * RATE_FACTOR:.2g}"))
    raise KitError(
        "DIVERGED",
        f"Training diverged at step {step}: the {problem}, with a learningRate of "
        f"{peak:g}. Try a learningRate of {lower:g} or less, or more warmupSteps.",
    )
