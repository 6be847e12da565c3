"""Trains with Ray Train, which places the workers and restarts them after a failure."""

import re

from kit_engine.process.errors import ESCAPES, KitError
from ray.exceptions import RayActorError
from ray.train import FailureConfig, RunConfig, ScalingConfig, WorkerGroupError
from ray.train.torch import TorchTrainer

from .job import Job
from .reports import Reports
from .worker import train_worker

# The line of a traceback that states the error.
ERROR = re.compile(r"^(?:\w+\.)*\w+(?:Error|Exception|Invalid): .+", re.MULTILINE)


def fit(job: Job, reports: Reports) -> None:
    """
    :raises KitError: if workers are lost too often, or the storage isn't writable
    :raises ray.train.TrainingFailedError: for anything else
    """
    trainer = TorchTrainer(
        train_worker,
        train_loop_config={"job": job, "collector": reports.collector},
        scaling_config=ScalingConfig(
            num_workers=job.workers,
            use_gpu=job.gpus > 0,
            resources_per_worker=job.resources(),
        ),
        run_config=RunConfig(
            name=job.id,
            storage_path=job.storage,
            failure_config=FailureConfig(max_failures=job.max_failures),
        ),
    )
    try:
        trainer.fit()
    except WorkerGroupError as error:
        if any(hasattr(cause, "health_check_failure") for cause in error.worker_failures.values()):
            raise lost_too_often(job) from error
        raise
    except RayActorError as error:
        # Ray Train's controller first writes a file to the storage.
        if error.actor_init_failed:
            raise unwritable(job, error) from error
        raise


def lost_too_often(job: Job) -> KitError:
    return KitError(
        "WORKER_FAILED",
        f"Workers were lost more often than maxFailures ({job.max_failures}) allows, perhaps with "
        "their nodes, or because memory ran out. To continue from the checkpoints in "
        f"{job.results()}, run npx kit start --resume.",
    )


def unwritable(job: Job, error: RayActorError) -> KitError:
    lines = ERROR.findall(ESCAPES.sub("", str(error)))
    why = lines[-1].rstrip(".") if lines else "see the job's log"
    return KitError(
        "CLUSTER_UNFIT",
        f"Ray cannot write to its storage {job.storage or job.results()}: {why}. Set "
        "ray({ storage }) to a path or URL that every node can write to.",
    )
