"""The kernels for another processor: compiled for ARM (NEON) where its compiler is there."""

import concurrent.futures
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPILER = "aarch64-linux-gnu-g++"


@pytest.mark.skipif(not shutil.which(COMPILER), reason=f"no {COMPILER}: apt-get install g++-aarch64-linux-gnu")
def test_kernels_compile_for_arm():
    settings = (ROOT / "src/kernels/CMakeLists.txt").read_text()
    without = settings.split('set(no_targets "')[1].split('"')[0]
    flags = ["-std=c++20", "-fopenmp", "-fsyntax-only", f"-DHWY_DISABLED_TARGETS=({without})", "-DHWY_SHARED_DEFINE"]
    # The headers of Highway are the same for every processor; the system's own come first.
    folders = [f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}", "-idirafter", "/usr/include"]
    sources = sorted((ROOT / "src/kernels").glob("*.cpp"))
    assert len(sources) > 10

    def compile_one(source):
        done = subprocess.run([COMPILER, *flags, *folders, source], capture_output=True, text=True)
        return "" if done.returncode == 0 else f"{source.name}: {done.stderr[-2000:]}"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        assert [problem for problem in pool.map(compile_one, sources) if problem] == []
