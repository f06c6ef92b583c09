"""Machines made of namespaces: each has its own network, name, shared memory and a folder that no other can see.

They hang on one switch by veth pairs, and mpirun starts its daemons there through `nsenter` instead of ssh. All of it
goes when the processes that hold the namespaces are ended.
"""

import os
import shutil
import subprocess
from pathlib import Path

from tests.dist.ranks import ENVIRONMENT, MPIRUN

NAMESPACES = ["--net", "--uts", "--mount", "--ipc"]
NETWORK = "10.77.0"


class Hosts:
    """`count` machines; commands are run on the first by `mpirun`."""

    def __init__(self, count, folder, delay=None):
        self.folder = Path(folder)
        self.private = self.folder / "private"  # the same path everywhere, another content on each
        self.private.mkdir()
        self.holders = []
        self.delay = None
        try:
            self.switch = self._hold("switch")
            self._in(self.switch, "ip link add name bridge0 type bridge && ip link set bridge0 up")
            self.machines = [self._machine(i + 1, delay) for i in range(count)]
            self._write_agent()
        except BaseException:
            self.close()
            raise

    def _hold(self, name):
        script = f"hostname {name} && ip link set lo up && mount -t tmpfs tmpfs {self.private} && mount -t tmpfs tmpfs /dev/shm"
        holder = subprocess.Popen(
            ["unshare", *NAMESPACES, "sh", "-c", f"{script} && echo ready && exec sleep infinity"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.holders.append(holder)
        if holder.stdout.readline() != "ready\n":
            raise PermissionError(holder.stderr.read().strip().splitlines()[-1])
        return holder.pid

    def _machine(self, number, delay):
        pid = self._hold(f"machine{number}")
        self._in(self.switch, f"ip link add v{number} type veth peer name eth0 netns {pid}")
        self._in(self.switch, f"ip link set v{number} master bridge0 up")
        self._in(pid, f"ip addr add {NETWORK}.{number}/24 dev eth0 && ip link set eth0 up")
        if delay and self._in(pid, f"tc qdisc add dev eth0 root netem delay {delay}", check=False).returncode == 0:
            self.delay = delay
        (self.folder / f"{NETWORK}.{number}").write_text(str(pid))
        return pid

    def _enter(self, pid):
        return ["nsenter", "-t", str(pid), *NAMESPACES]

    def _in(self, pid, command, check=True):
        done = subprocess.run([*self._enter(pid), "sh", "-c", command], capture_output=True, text=True)
        if check and done.returncode != 0:
            raise PermissionError(f"{command}: {done.stderr.strip()}")
        return done

    def _write_agent(self):
        agent = self.folder / "agent"
        agent.write_text(
            f'#!/bin/sh\nhost=$1; shift\nexec nsenter -t "$(cat {self.folder}/"$host")" {" ".join(NAMESPACES)} sh -c "$*"\n'
        )
        agent.chmod(0o755)

    def command(self, *arguments, options=(), per_host=1):
        hosts = ",".join(f"{NETWORK}.{i + 1}:{per_host}" for i in range(len(self.machines)))
        return [
            *self._enter(self.machines[0]),
            "env",
            f"TMPDIR={self.private}",
            MPIRUN,
            *("--mca", "plm_rsh_agent", str(self.folder / "agent")),
            *("--mca", "btl", "tcp,self"),
            *("--mca", "btl_tcp_if_include", f"{NETWORK}.0/24"),
            *("--mca", "oob_tcp_if_include", f"{NETWORK}.0/24"),
            *("--host", hosts, "-x", f"TMPDIR={self.private}", "-x", "OMP_NUM_THREADS=1"),
            *options,
            *map(str, arguments),
        ]

    def mpirun(self, *arguments, options=(), per_host=1, timeout=300):
        return subprocess.run(
            self.command(*arguments, options=options, per_host=per_host),
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def files(self, machine, pattern="*"):
        """Paths below the private folder of a machine, by its number from 0."""
        found = self._in(self.machines[machine], f"cd {self.private} && find . -path './{pattern}'")
        return found.stdout.split()

    def fetch(self, machine, name, to):
        """Copies a file or folder from a machine's private folder."""
        with open(to, "wb") as archive:
            subprocess.run(
                [*self._enter(self.machines[machine]), "tar", "-C", self.private, "-cf", "-", name], stdout=archive
            )
        subprocess.run(["tar", "-C", Path(to).parent, "-xf", to], check=True)
        return Path(to).parent / name

    def put(self, path):
        """The same file on every machine, in its private folder."""
        for pid in self.machines:
            with open(path, "rb") as file:
                subprocess.run([*self._enter(pid), "sh", "-c", f"cat > {self.private}/{Path(path).name}"], stdin=file)
        return self.private / Path(path).name

    def close(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def obstacle():
    """Why machines cannot be made here; None: they can."""
    for tool in ("unshare", "nsenter", "ip"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    if MPIRUN is None:
        return "mpirun is not installed (openmpi-bin)"
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    probe = subprocess.run(
        ["unshare", *NAMESPACES, "sh", "-c", "ip link add name bridge0 type bridge"], capture_output=True, text=True
    )
    return None if probe.returncode == 0 else f"no network namespaces here: {probe.stderr.strip()}"
