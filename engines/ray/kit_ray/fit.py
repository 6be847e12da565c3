"""The training by Ray Train, which places the workers and starts them again after a failure."""

from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

from .job import Job
from .reports import Reports
from .worker import train_worker


def fit(job: Job, reports: Reports) -> None:
    """
    :raises ray.train.TrainingFailedError: when it failed more often than allowed
    """
    trainer = TorchTrainer(
        train_worker,
        train_loop_config={"job": job, "hub": reports.hub},
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
    trainer.fit()
