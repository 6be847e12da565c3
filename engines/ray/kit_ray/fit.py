"""The training by Ray Train, which places the workers and starts them again after a failure."""

import re

from kit_engine.process.errors import ESCAPES, KitError
from ray.exceptions import RayActorError
from ray.train import FailureConfig, RunConfig, ScalingConfig, WorkerGroupError
from ray.train.torch import TorchTrainer

from .job import Job
from .reports import Reports
from .worker import train_worker

# Of a traceback, the line that says what happened.
ERROR = re.compile(r"^(?:\w+\.)*\w+(?:Error|Exception|Invalid): .+", re.MULTILINE)


def fit(job: Job, reports: Reports) -> None:
    """
    :raises KitError: when workers are lost more often than allowed, or nothing can be stored
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
        if any(hasattr(one, "health_check_failure") for one in error.worker_failures.values()):
            raise lost_too_often(job) from error
        raise
    except RayActorError as error:
        # Of Ray Train's controller, which begins with a file in the storage.
        if error.actor_init_failed:
            raise unwritable(job, error) from error
        raise


def lost_too_often(job: Job) -> KitError:
    return KitError(
        "WORKER_FAILED",
        f"A worker was lost more often than maxFailures ({job.max_failures}) allows, perhaps with "
        "its node, or because memory ran out. To go on from the checkpoints in "
        f"{job.results()}, run npx kit start --resume.",
    )


def unwritable(job: Job, error: RayActorError) -> KitError:
    lines = ERROR.findall(ESCAPES.sub("", str(error)))
    why = lines[-1].rstrip(".") if lines else "see the job's log"
    return KitError(
        "CLUSTER_UNFIT",
        f"Ray cannot write to its storage {job.storage or job.results()}: {why}. Set "
        "ray({ storage }) to a path or URL that every node may write to.",
    )
