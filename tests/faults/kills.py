"""Kills commands with SIGKILL at random moments, and shows each time that everything loads, that nothing finished is
lost, and that the same command then ends as an undisturbed one does, bit for bit."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

from tests.conftest import HEED
from tests.faults.runs import bits, check_loads, run, train_command, write_config


class Training:
    """`heed train --resume`."""

    name = "training"

    def __init__(self, folder):
        self.config = write_config(folder, epochs=6)

    def prepare(self, out):
        pass

    def command(self, out):
        return train_command(self.config, out, "--resume")

    def check(self, out):
        check_loads(out)

    def finished(self, out):
        """The epochs that the checkpoint tells of; their seconds show whether they were done again."""
        path = out / "state" / "checkpoint.safetensors"
        if not path.exists():
            return []
        data = path.read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return json.loads(header["__metadata__"]["heed.progress"])["epochs"]

    def kept(self, before, after):
        return after[: len(before)] == before

    def bits(self, out):
        return bits(out)


class Ablation:
    """`heed ablate`: the same command goes on."""

    name = "ablation"

    def __init__(self, folder):
        self.config = write_config(folder)

    def prepare(self, out):
        pass

    def command(self, out):
        more = ["--over", "score=dot", "--seeds", "1", "--jobs", "2", "--quiet"]
        return [str(HEED), "ablate", str(self.config), "--out", str(out), *more]

    def check(self, out):
        for path in (out / "runs").glob("*"):
            check_loads(path)
        for path in (out / "results").glob("*.json"):
            json.loads(path.read_text())

    def finished(self, out):
        return {path.name: path.read_bytes() for path in (out / "results").glob("*.json")}

    def kept(self, before, after):
        return before.items() <= after.items()

    def bits(self, out):
        timed = ("report.html", "table.csv", "lock")  # table.json has the same numbers
        kept = {k: v for k, v in bits(out).items() if k not in timed and not k.startswith("logs/")}
        return kept | {"report": (out / "report.html").exists()}


class Audit:
    """`heed explain --audit`: the same command goes on."""

    name = "explanation"

    def __init__(self, folder):
        self.whole = folder / "audited"
        done = run(train_command(write_config(folder), self.whole))
        assert done.returncode == 0, done.stderr

    def prepare(self, out):
        shutil.copytree(self.whole, out)

    def command(self, out):
        more = ["--examples", "8", "--permutations", "3", "--seeds", "0", "--lambda", "1", "--jobs", "2", "--json"]
        return [str(HEED), "explain", str(out), "--audit", *more]

    def check(self, out):
        check_loads(out)
        for path in (out / "audit").glob("*.json"):
            json.loads(path.read_text())

    def finished(self, out):
        return {p.name: p.stat().st_mtime_ns for p in (out / "audit").glob("*.json") if p.name != "audit.json"}

    def kept(self, before, after):
        return before.items() <= after.items()

    def bits(self, out):
        result = bits(out)
        for audit in result["audit/audit.json"]:
            del audit["run"]  # its folder's name
        return result


CASES = {case.name: case for case in (Training, Ablation, Audit)}


def start_and_kill(command, moment):
    """True if it was killed after `moment` seconds, False if it had ended by itself."""
    env = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
    try:
        _, errors = process.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return process.returncode == -signal.SIGKILL
    assert process.returncode == 0, errors
    return False


def kill_many(case_name, folder, moments, seed, tell=lambda line: None):
    """Kills a command at so many moments, each in a fresh folder. How many kills hit it while it ran, and how many
    finished pieces (epochs, cells, tests) these found."""
    folder = Path(folder)
    case = CASES[case_name](folder)
    whole = folder / "whole"
    case.prepare(whole)
    started = time.monotonic()
    done = run(case.command(whole))
    assert done.returncode == 0, done.stderr
    seconds, expected = time.monotonic() - started, case.bits(whole)
    rng = random.Random(seed)
    killed = pieces = tried = 0
    while killed < moments:
        tried += 1
        assert tried < 4 * moments + 10, "the command ends before it can be killed"
        out = folder / f"cut-{tried}"
        case.prepare(out)
        if not start_and_kill(case.command(out), rng.uniform(0, seconds)):
            shutil.rmtree(out)
            continue
        killed += 1
        case.check(out)
        before = case.finished(out)
        pieces += len(before)
        done = run(case.command(out))
        assert done.returncode == 0, done.stderr
        assert case.kept(before, case.finished(out)), f"{case_name}: finished work was done again ({out})"
        assert case.bits(out) == expected, f"{case_name}: another end than undisturbed ({out})"
        shutil.rmtree(out)
        tell(f"{case_name}: {killed} of {moments} kills, {pieces} finished pieces kept")
    return killed, pieces
