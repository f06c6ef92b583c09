"""What users get: a CMake package with and without torch, and pip install."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT


def run(*command, cwd=None, env=None):
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, env={**os.environ, **(env or {})}
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", ROOT / "build", "--prefix", folder, "--component", "cpp")
    return folder


def build_outside(project, prefix, folder, *extra):
    source = ROOT / "tests" / "install" / project
    run("cmake", "-S", source, "-B", folder, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", *extra)
    run("ninja", "-C", folder)
    run(folder / "outside")
    return run("ldd", folder / "outside")


def test_kernels_alone_need_no_torch(prefix, tmp_path):
    assert "torch" not in build_outside("kernels", prefix, tmp_path / "b", "-DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON")


def test_the_whole_library_brings_torch(prefix, tmp_path):
    import torch

    torch_dir = f"-DTorch_DIR={torch.utils.cmake_prefix_path}/Torch"
    assert "libtorch" in build_outside("all", prefix, tmp_path / "b", torch_dir)


@pytest.mark.parametrize("leak, fails", [("OFF", False), ("ON", True)])
def test_configuring_fails_when_torch_leaks_into_a_torch_free_layer(tmp_path, leak, fails):
    source = ROOT / "tests" / "install" / "leak"
    done = subprocess.run(
        ["cmake", "-S", str(source), "-B", str(tmp_path), "-G", "Ninja", f"-DLEAK={leak}"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode != 0) == fails, done.stderr
    assert ("must stay free of torch" in " ".join(done.stderr.split())) == fails


def test_pip_install_gives_a_working_package(tmp_path):
    target = tmp_path / "site"
    # A folder beside build/ and the same name of the compiler: ccache then knows what was compiled there.
    folder = ROOT / "build-pip"
    try:
        run(
            sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-build-isolation", "--no-deps",
            "--target", target, f"--config-settings=build-dir={folder}", ROOT, env={"CXX": "c++"},
        )  # fmt: skip
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    code = "import heed, torch; x = torch.randn(1, 2, 3, 4); print(heed.attend(x, x, x).shape, heed.__file__)"
    out = run(
        sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {[str(target), *sys.path]!r}; {code}", cwd=tmp_path
    )
    assert "torch.Size([1, 2, 3, 4])" in out and str(target) in out
