"""A Ray cluster of two nodes on this machine, for as long as its stdin is open.

Its Python processes are forks of two that have imported what they need: imports take most of the
time of a small training. Prints the dashboard's address and its folder, and takes commands, a line
each: `add` a node, `add gpu` one that says it has a GPU, `add lacking` one without peft, `lose` the
newest one, `behead` the cluster.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any, TextIO

HERE = os.path.dirname(os.path.abspath(__file__))
WARM = os.path.join(HERE, "..", "python")
OBJECT_STORE_BYTES = 100_000_000
# Of a node: as it says, whatever the machine has.
CPUS = 6
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


def make_environment(folder: str, launch: str, lacks: str = "/") -> str:
    """An environment as this one, but for a package. Returns its `bin/python`."""
    os.makedirs(f"{folder}/bin")
    shutil.copy(os.path.join(sys.prefix, "pyvenv.cfg"), folder)
    packages = sysconfig.get_path("purelib")
    copied = f"{folder}/{os.path.relpath(packages, sys.prefix)}"
    os.makedirs(copied)
    for name in os.listdir(packages):
        if name != lacks and not name.startswith(f"{lacks}-"):
            os.symlink(f"{packages}/{name}", f"{copied}/{name}")
    python = f"{folder}/bin/python"
    with open(python, "w") as file:
        cold = f'  *) exec -a "$0" \'{os.path.realpath(sys.executable)}\' "$@" ;;\n'
        file.write(f'#!/usr/bin/env bash\ncase " $* " in\n{launch}{cold}esac\n')
    os.chmod(python, 0o755)
    return python


def to_warm(folder: str) -> str:
    """Hands Ray's programs to the warm processes."""
    warm = f"'{sys.executable}' -S -B '{WARM}/warm.py'"
    return (
        f"  *setup_worker.py\\ *) exec {warm} '{folder}/setup' \"$@\" ;;\n"
        f"  *default_worker.py\\ *|*\\ kit_ray.*) exec {warm} '{folder}/workers' \"$@\" ;;\n"
    )


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
    asked = take_stdin()
    os.environ.update(SETTINGS)
    warm = [
        start_warm(f"{folder}/setup", FOR_SETUP),
        start_warm(f"{folder}/workers", FOR_WORKERS),
    ]
    python = make_environment(f"{folder}/whole", to_warm(folder))
    lacking = make_environment(f"{folder}/lacking", "", "peft")
    os.environ["PATH"] = f"{os.path.dirname(python)}:{os.environ['PATH']}"
    sys.executable = python
    from ray.cluster_utils import Cluster

    # Where Ray's command line looks for the newest cluster.
    os.makedirs("/tmp/ray", exist_ok=True)
    dashboard = {"include_dashboard": True, "dashboard_port": free_port()}
    cluster = Cluster()
    nodes = []

    def add(python: str, **more: Any) -> None:
        sys.executable = python
        # On a disk of its own, as it were.
        place = f"{folder}/{len(nodes)}"
        common = {"num_cpus": CPUS, "object_store_memory": OBJECT_STORE_BYTES}
        nodes.append(cluster.add_node(**common, **more, temp_dir=place))

    commands = {
        "add": lambda: add(python),
        "add gpu": lambda: add(python, num_gpus=1),
        "add lacking": lambda: add(lacking),
        "lose": lambda: cluster.remove_node(nodes.pop(), allow_graceful=False),
        "behead": lambda: cluster.remove_node(nodes[0], allow_graceful=False),
    }
    try:
        add(python, **dashboard)
        add(python)
        address = f"http://127.0.0.1:{dashboard['dashboard_port']}"
        print(json.dumps({"address": address, "folder": folder}), flush=True)
        for line in asked:
            commands[line.strip()]()
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
