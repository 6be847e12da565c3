"""Means that can be accumulated."""

from dataclasses import dataclass


@dataclass
class Mean:
    sum: float = 0.0
    count: float = 0.0


def add_means(totals: dict[str, Mean], added: dict[str, Mean]) -> None:
    for name, mean in added.items():
        total = totals.setdefault(name, Mean())
        total.sum += mean.sum
        total.count += mean.count


def values_of(means: dict[str, Mean]) -> dict[str, float]:
    """The value of each mean that has a count."""
    return {name: mean.sum / mean.count for name, mean in means.items() if mean.count > 0}
