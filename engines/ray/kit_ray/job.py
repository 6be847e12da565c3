"""The package's contents: kit_engine's job, and how it is spread over the cluster."""

import json
import os
from dataclasses import dataclass
from typing import Any

from kit_engine.process.errors import MEMORY_ADVICE, failure_of

# The package's folder on this node.
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclass
class Job:
    id: str
    # `train`, `check` or `answer`.
    mode: str
    # kit_engine's job, with paths in the package, or absolute ones that every node can read. For
    # inference: `model`, `stored`, and `idleSeconds`, how long it runs without a heartbeat from
    # Kit.
    job: dict[str, Any]
    workers: int
    cpus: float
    gpus: float
    max_failures: int
    # The user's own paths, by their paths in the package.
    names: dict[str, str]
    # None means Ray's default folder for results.
    storage: str | None = None

    def resources(self) -> dict[str, float]:
        """Resources of one worker."""
        return {"CPU": self.cpus, **({"GPU": self.gpus} if self.gpus else {})}

    def results(self) -> str:
        """The folder of the run's results: a path or a URL."""
        return join_storage(self.storage or os.path.expanduser("~/ray_results"), self.id)

    def on_this_node(self, directory: str) -> dict[str, Any]:
        """The job with this node's paths."""
        job = self.job
        return {
            **job,
            "directory": directory,
            "files": [resolve(path) for path in job["files"]],
            "evalFiles": job.get("evalFiles") and [resolve(path) for path in job["evalFiles"]],
            "model": {kind: resolve(path) for kind, path in job["model"].items()},
            "resumeFrom": job.get("resumeFrom") and resolve(job["resumeFrom"]),
        }

    def failure(self, error: BaseException, memory_advice: str = MEMORY_ADVICE) -> tuple[str, str]:
        """An error's code and message, with the user's own paths."""
        code, message = failure_in(self.id, error, memory_advice)
        return code, self.renamed(message)

    def renamed(self, message: str) -> str:
        """The message with the user's own paths instead of this node's."""
        for path, name in sorted(self.names.items(), reverse=True):
            message = message.replace(resolve(path), name)
        return message


def failure_in(
    job: str, error: BaseException, memory_advice: str = MEMORY_ADVICE
) -> tuple[str, str]:
    """An error's code and message; the job's log has the traceback."""
    return failure_of(error, f"See its log there: ray job logs {job}.", memory_advice)


def join_storage(folder: str, name: str) -> str:
    """Appends a name to a folder's path. A URL's query, such as a server's address, stays last."""
    path, mark, query = folder.partition("?") if "://" in folder else (folder, "", "")
    return f"{path.rstrip('/')}/{name}{mark}{query}"


def resolve(path: str) -> str:
    """Resolves a path in the package; absolute paths and URLs stay as they are."""
    return path if "://" in path else os.path.join(ROOT, path)


def read_job() -> Job:
    with open(resolve("job.json"), encoding="utf-8") as file:
        return Job(**json.load(file))
