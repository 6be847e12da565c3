"""Checks required packages without importing them."""

import platform
import re
import sys
from importlib import metadata

from .channel import Channel
from .errors import KitError

# Oldest tested versions.
NEEDED = {"torch": "2.13", "transformers": "5.18", "peft": "0.21", "accelerate": "1.15"}
# For preference objectives; TRL needs this Python.
TRL, TRL_PYTHON = {"trl": "1.16"}, (3, 11)


def say_hello(channel: Channel, executable: str, more: dict[str, str]) -> None:
    """
    :param more: versions of the caller's other requirements
    :raises KitError: when packages are missing or too old
    """
    found, missing = installed()
    channel.send(
        "hello",
        python=platform.python_version(),
        executable=executable,
        packages={**more, **found},
        missing=missing,
    )
    assert_versions(found, missing)


def assert_trl(objective: str) -> None:
    """:raises KitError: without TRL, naming the objective that needs it"""
    if sys.version_info < TRL_PYTHON:
        raise KitError(
            "PYTHON_UNFIT",
            f'The objective "{objective}" needs Python 3.11 or newer, but {sys.executable} is '
            f"Python {platform.python_version()}. Set another with python({{ path }}).",
        )
    assert_versions(*installed(TRL), TRL, f', which the objective "{objective}" needs')


def installed(needed: dict[str, str] = NEEDED) -> tuple[dict[str, str], list[str]]:
    """Versions of installed packages, and names of missing ones."""
    found: dict[str, str] = {}
    missing: list[str] = []
    for name in needed:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
    return found, missing


def assert_versions(
    found: dict[str, str],
    missing: list[str],
    oldest: dict[str, str] = NEEDED,
    purpose: str = "",
) -> None:
    """:raises KitError: for packages that are missing or too old"""
    pip = f"{sys.executable} -m pip install --upgrade"
    if missing:
        wanted = " ".join(f'"{name}>={oldest[name]}"' for name in missing)
        raise KitError(
            "PYTHON_UNFIT",
            f"The Python at {sys.executable} lacks {', '.join(missing)}{purpose}. "
            f"Install with: {pip} {wanted}",
        )
    for name, needed in oldest.items():
        if version_numbers(found[name]) < version_numbers(needed):
            raise KitError(
                "PYTHON_UNFIT",
                f"The Python at {sys.executable} has {name} {found[name]}, but Kit needs {needed} "
                f'or newer. Install with: {pip} "{name}>={needed}"',
            )


def version_numbers(version: str) -> tuple[int, ...]:
    """`2.13.0+cu130` as (2, 13, 0)."""
    release = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in release[0].split(".")) if release else ()
