"""Stands for the interpreter of Ray's workers: hands each to a process that has imported Ray.

Ray reads its environment as it is imported, so each job has such a process on each node, a fork of
the warm one, for as long as the cluster.

nest.py <the cluster's folder> -B -u <program> <word> …
"""

import fcntl
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
WARM = os.path.join(HERE, "..", "python")

folder, *words = sys.argv[1:]
client = [sys.executable, "-S", "-B", f"{WARM}/warm.py"]
job, node = os.environ.get("RAY_JOB_ID", ""), os.environ.get("RAY_RAYLET_PID", "")
nest = f"{folder}/nest-{job}-{node}"
with open(f"{nest}.lock", "w") as lock, open(f"{folder}/alive") as alive:
    fcntl.flock(lock, fcntl.LOCK_EX)
    if not os.path.exists(nest):
        ready, said = os.pipe()
        if os.fork() == 0:
            # A child of nobody who lives: a job that is stopped takes its own along.
            subprocess.Popen(
                [*client, f"{folder}/workers", "-B", f"{WARM}/warmServer.py", nest, "warmRay"],
                stdin=alive,
                stdout=said,
                env={**os.environ, "PYTHONPATH": HERE},
                start_new_session=True,
            )
            os._exit(0)
        os.wait()
        os.close(said)
        os.read(ready, 1)
os.execv(client[0], [*client, nest, *words])
