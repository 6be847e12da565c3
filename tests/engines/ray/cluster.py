"""A Ray cluster of two nodes on this machine, for as long as its stdin is open.

Its Python processes are forks of two that have imported what they need: imports take most of the
time of a small training. Prints the dashboard's address, and takes commands, a line each: `lose`
ends the second node.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from typing import TextIO

HERE = os.path.dirname(os.path.abspath(__file__))
WARM = os.path.join(HERE, "..", "python")
OBJECT_STORE_BYTES = 100_000_000
# What Ray imports. Ray itself reads its environment as it is imported.
FOR_WORKERS = [
    *("attr", "click", "colorful", "fsspec", "grpc.aio", "jsonschema", "msgpack"),
    *("pandas", "pyarrow.fs", "pydantic", "requests"),
]
# Such a program only prepares the environment of another.
FOR_SETUP = ["ray._private.runtime_env.context"]
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "OMP_NUM_THREADS": "1",
    # Workers that nobody may need take the time of those that somebody does.
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
    # Looks for machines that their owner takes back. An actor, as others: a process of its own.
    "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0",
    # On a busy machine, the parts of the dashboard take longer than Ray waits for them.
    "RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT": "120",
}


def start_warm(path: str, modules: list[str]) -> subprocess.Popen:
    server = subprocess.Popen(
        [sys.executable, "-B", f"{WARM}/warmServer.py", path, *modules],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    server.stdout.readline()
    return server


def make_environment(folder: str) -> None:
    """An environment as this one, whose `bin/python` hands Ray's programs to the warm processes."""
    os.mkdir(f"{folder}/bin")
    shutil.copy(os.path.join(sys.prefix, "pyvenv.cfg"), folder)
    os.symlink(os.path.join(sys.prefix, "lib"), f"{folder}/lib")
    warm = f"'{sys.executable}' -S -B '{WARM}/warm.py'"
    with open(f"{folder}/bin/python", "w") as file:
        file.write(
            "#!/usr/bin/env bash\n"
            'case " $* " in\n'
            f"  *setup_worker.py\\ *) exec {warm} '{folder}/setup' \"$@\" ;;\n"
            f"  *default_worker.py\\ *|*\\ kit_ray.*) exec {warm} '{folder}/workers' \"$@\" ;;\n"
            f'  *) exec -a "$0" \'{os.path.realpath(sys.executable)}\' "$@" ;;\n'
            "esac\n"
        )
    os.chmod(f"{folder}/bin/python", 0o755)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def take_stdin() -> TextIO:
    """A socket there is a login to bash, by which Ray starts its processes: it has another PATH."""
    commands = os.fdopen(os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    return commands


def main(folder: str) -> None:
    commands = take_stdin()
    os.environ.update(SETTINGS, PATH=f"{folder}/bin:{os.environ['PATH']}")
    warm = [
        start_warm(f"{folder}/setup", FOR_SETUP),
        start_warm(f"{folder}/workers", FOR_WORKERS),
    ]
    make_environment(folder)
    sys.executable = f"{folder}/bin/python"
    from ray.cluster_utils import Cluster

    # Where Ray's command line looks for the newest cluster.
    os.makedirs("/tmp/ray", exist_ok=True)
    common = {"num_cpus": 6, "object_store_memory": OBJECT_STORE_BYTES}
    dashboard = {"include_dashboard": True, "dashboard_port": free_port()}
    cluster = Cluster()
    try:
        cluster.add_node(**common, **dashboard, temp_dir=f"{folder}/1")
        # On a disk of its own, as it were.
        second = cluster.add_node(**common, temp_dir=f"{folder}/2")
        address = f"http://127.0.0.1:{dashboard['dashboard_port']}"
        print(json.dumps({"address": address}), flush=True)
        for line in commands:
            if line.strip() == "lose":
                cluster.remove_node(second, allow_graceful=False)
                print("{}", flush=True)
    finally:
        cluster.shutdown()
        for server in warm:
            server.stdin.close()
            server.wait()


if __name__ == "__main__":
    # Short: a socket's path has at most 107 characters.
    with tempfile.TemporaryDirectory(prefix="kit-", dir="/tmp", ignore_cleanup_errors=True) as made:
        main(made)
