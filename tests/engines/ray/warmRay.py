"""What the processes of a training import from Ray, without the numbers that Ray draws as it does.

Forks of a process that has drawn one all draw the same numbers after it: two stores would make
objects of one name.
"""

import os

import ray.actor
from ray._raylet import ActorClassID


class FromSystem:
    @staticmethod
    def from_random() -> ActorClassID:
        return ActorClassID(os.urandom(ActorClassID.size()))


ray.actor.ActorClassID = FromSystem

import ray.dashboard.modules.job.job_manager  # noqa: E402
import ray.train.torch  # noqa: E402

ray.actor.ActorClassID = ActorClassID
