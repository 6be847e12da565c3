"""Reads lines of a text file, at a path or at a URL that a cluster's workers can open."""

import io
import os
from collections.abc import Iterator
from typing import IO

from ..process.constants import CONSTANTS
from ..process.errors import KitError

# Longer lines are refused.
MAX_LINE_BYTES = (CONSTANTS["maxLineMiB"] + 1) << 20
CHUNK_BYTES = 1 << 20
# What JavaScript's trim() removes.
WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def read_lines(file: str) -> Iterator[tuple[str, str]]:
    """Yields each non-blank line, trimmed, with its location: file and line number.

    :raises KitError: for a file that can't be read, or a line that isn't text
    """
    try:
        with open_file(file) as lines:
            number = 0
            while line := lines.readline(MAX_LINE_BYTES):
                number += 1
                where = f"{file}:{number}"
                text = decoded(line, where)
                if text:
                    yield text, where
    except (KitError, MemoryError):
        raise
    # Each URL scheme's library has its own errors.
    except Exception as error:
        raise unreadable(file, error) from error


def open_file(file: str) -> IO[bytes]:
    """Opens a file; streams a URL without storing it."""
    if "://" not in file:
        return open(file, "rb")
    from pyarrow.fs import FileSystem

    filesystem, path = FileSystem.from_uri(file)
    return io.BufferedReader(filesystem.open_input_stream(path, compression=None), CHUNK_BYTES)


def decoded(line: bytes, where: str) -> str:
    if len(line) == MAX_LINE_BYTES:
        raise KitError(
            "DATASET_INVALID",
            f"{where}: the row has more than {CONSTANTS['maxLineMiB']} MiB. "
            "Split it into several rows.",
        )
    try:
        return line.decode().strip(WHITE_SPACE)
    except UnicodeDecodeError as error:
        raise KitError("DATASET_INVALID", f"{where}: not UTF-8. Save the file as UTF-8.") from error


def unreadable(file: str, error: Exception) -> KitError:
    return KitError(
        "DATASET_UNREADABLE",
        f"Cannot read the dataset {file}: {reason_of(error)}. "
        "Check that the file is there, and that every worker can read it.",
    )


def reason_of(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if "is a directory" in lines[0].lower():
        return "it is a folder, not a file"
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else lines[0].rstrip(".")
