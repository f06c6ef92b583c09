"""Writes that go wrong: the error is one line with the file and the reason, what was there stays whole, nothing is
left lying about, and `--resume` ends with the bits of an undisturbed run."""

import errno
import os
import random
import shutil
import subprocess

import pytest

from tests.conftest import HEED
from tests.faults.runs import bits, calls_of, check_loads, one_line, run, train_command, write_config

SEED = 20
DOZEN = 12  # of all system calls; tools/kill_tests takes every one


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """(config, the undisturbed run's bits, its system calls)."""
    folder = tmp_path_factory.mktemp("writes")
    config = write_config(folder)
    calls = calls_of(train_command(config, folder / "whole"), folder / "whole", folder / "log")
    return config, bits(folder / "whole"), [(name, os.path.relpath(path, folder / "whole")) for name, path in calls]


def resume_to_the_same_bits(config, out, whole):
    done = run(train_command(config, out, "--resume"))
    assert done.returncode == 0, done.stderr
    assert bits(out) == whole  # the same files, so no temporary ones either


def place(calls, name, file, nth=0):
    """The number of the nth call `name` on `file` (or on its temporary name)."""
    found = [i for i, call in enumerate(calls, 1) if call[0] == name and call[1] in (file, file + ".tmp")]
    return found[nth]


def test_a_training_makes_the_calls_that_are_disturbed(training):
    _, _, calls = training
    of_a_checkpoint = [name for name, path in calls if path == "state/checkpoint.safetensors.tmp"]
    assert of_a_checkpoint[:4] == ["open", "write", "fsync", "close"]
    assert ("rename", "state/checkpoint.safetensors") in calls and len(calls) > 60


def test_killed_at_a_system_call_it_resumes_to_the_same_bits(training, tmp_path):
    config, whole, calls = training
    numbers = sorted(random.Random(SEED).sample(range(1, len(calls) + 1), DOZEN))
    for number in numbers:
        out = tmp_path / str(number)
        done = run(train_command(config, out), fault=f"{number}:kill", root=out)
        assert done.returncode == -9, (number, calls[number - 1], done.stderr)
        check_loads(out)
        resume_to_the_same_bits(config, out, whole)


FAULTS = [
    ("write", "state/checkpoint.safetensors", errno.ENOSPC),
    ("write", "weights.safetensors", errno.ENOSPC),
    ("write", "traces.jsonl", errno.EIO),
    ("fsync", "state/checkpoint.safetensors", errno.EIO),
    ("close", "predictions.jsonl", errno.EIO),
    ("rename", "state/checkpoint.safetensors", errno.EIO),
    ("open", "metrics.jsonl", errno.EACCES),
    ("open", "vocabulary.json", errno.EROFS),
    ("mkdir", "state", errno.ENOSPC),
]


@pytest.mark.parametrize("call, file, error", FAULTS)
def test_a_write_that_fails_is_told_and_can_be_resumed(training, tmp_path, call, file, error):
    config, whole, calls = training
    out = tmp_path / "run"
    done = run(train_command(config, out), fault=f"{place(calls, call, file)}:{error}", root=out)
    one_line(done, file, os.strerror(error))
    assert not list(out.rglob("*.tmp")) and not list(out.rglob(".heed-probe"))
    check_loads(out)
    resume_to_the_same_bits(config, out, whole)


def test_a_second_checkpoint_that_fails_leaves_the_first(training, tmp_path):
    config, whole, calls = training
    out = tmp_path / "run"
    number = place(calls, "write", "state/checkpoint.safetensors", nth=1)
    one_line(run(train_command(config, out), fault=f"{number}:{errno.ENOSPC}", root=out), "No space left on device")
    assert (out / "state" / "checkpoint.safetensors").exists()
    resume_to_the_same_bits(config, out, whole)


def test_short_writes_are_no_error(training, tmp_path):
    config, whole, calls = training
    for file in ("state/checkpoint.safetensors", "weights.safetensors"):
        out = tmp_path / file.replace("/", "-")
        done = run(train_command(config, out), fault=f"{place(calls, 'write', file)}:short", root=out)
        assert done.returncode == 0, done.stderr
        assert bits(out) == whole


def test_a_report_that_cannot_be_written_leaves_the_old_one(tiny_run, tmp_path):
    report = tmp_path / "report.html"
    report.write_text("the old one")
    command = [str(HEED), "report", str(tiny_run), "--out", str(report)]
    calls = calls_of([*command[:-1], str(tmp_path / "whole.html")], tmp_path, tmp_path.parent / "report.log")
    for name, error in (("write", errno.ENOSPC), ("fsync", errno.EIO), ("rename", errno.EPERM)):
        number = next(i for i, call in enumerate(calls, 1) if call[0] == name)
        done = run(command, fault=f"{number}:{error}", root=tmp_path)
        one_line(done, "report.html", os.strerror(error))
        assert report.read_text() == "the old one" and not list(tmp_path.glob("*.tmp"))


def test_a_full_disk(training, tmp_path):
    """A real one: a file system of 40 KB, in a mount namespace of its own."""
    config, _, _ = training
    disk = tmp_path / "disk"
    disk.mkdir()
    if not shutil.which("unshare") or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("mount namespaces are not allowed here")
    command = train_command(config, disk / "run")
    done = run(
        ["unshare", "-m", "bash", "-c", 'mount -t tmpfs -o size=40k none "$0" || exit 77; "$@"', str(disk), *command]
    )
    if done.returncode == 77:
        pytest.skip("no file system can be mounted here")
    one_line(done, "No space left on device", str(disk / "run"))
