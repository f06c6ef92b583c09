"""PSNR, SSIM and IoU against scikit-image and NumPy, through real PNG files."""

import math

import pytest
from metrics_oracle import assert_all_near

np = pytest.importorskip("numpy")
skimage = pytest.importorskip("skimage.metrics")
image = pytest.importorskip("PIL.Image")

MODES = {"L": (), "RGB": (3,), "RGBA": (4,), "LA": (2,)}


@pytest.fixture
def pairs(tmp_path):
    """Image pairs of all kinds with the arrays in them, and the flags that name their files."""
    rng = np.random.default_rng(1)
    arrays, flags = [], []
    for i in range(60):
        mode = list(MODES)[i % len(MODES)]
        height, width = rng.integers(11, 40, size=2)
        shape = (height, width, *MODES[mode])
        slope = np.add.outer(np.arange(height) * rng.integers(0, 6), np.arange(width) * rng.integers(0, 6)) % 256
        slope = slope.reshape(height, width, *[1] * len(MODES[mode]))
        a = rng.integers(0, 256, shape) if i % 3 else np.broadcast_to(slope, shape)
        noise = rng.normal(0, rng.choice([0.4, 5, 40]), shape)
        a, b = (np.clip(np.rint(x), 0, 255).astype(np.uint8) for x in (a, a + noise))
        for name, array in (("a", a), ("b", b)):
            path = tmp_path / f"{name}{i}.png"
            image.fromarray(array, mode).save(path)
            flags += [f"--{name}", str(path)]
        arrays.append((a, b))
    return arrays, flags


def test_psnr_equals_scikit_image(measure, pairs):
    arrays, flags = pairs
    report = measure("psnr", *flags, "--segments")
    with np.errstate(divide="ignore"):
        expected = [float(skimage.peak_signal_noise_ratio(a, b, data_range=255)) for a, b in arrays]
    assert_all_near(report["segments"], expected, 1e-6)


def test_ssim_equals_scikit_image(measure, pairs):
    arrays, flags = pairs

    def oracle(a, b, **options):
        axis = None if a.ndim == 2 else 2
        return float(skimage.structural_similarity(a, b, data_range=255, channel_axis=axis, **options))

    report = measure("ssim", *flags, "--segments")
    assert_all_near(report["segments"], [oracle(a, b) for a, b in arrays], 1e-6)
    gaussian = measure("ssim", *flags, "--segments", "--variant", "gaussian")
    options = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
    assert_all_near(gaussian["segments"], [oracle(a, b, **options) for a, b in arrays], 1e-6)
    assert gaussian["signature"] != report["signature"]


def test_equal_images_have_infinite_psnr(measure, pairs):
    _, flags = pairs
    report = measure("psnr", "--a", flags[1], "--b", flags[1])
    assert report["value"] == math.inf
    assert abs(measure("ssim", "--a", flags[1], "--b", flags[1])["value"] - 1) <= 1e-12


def test_iou_equals_numpy(measure, tmp_path):
    rng = np.random.default_rng(2)
    for i in range(8):
        shape = tuple(rng.integers(1, 30, size=2))
        # Values round the threshold; and two empty masks, which agree.
        a, b = (rng.integers(100, 156, shape).astype(np.uint8) * (i < 7) for _ in range(2))
        files = []
        for name, array in (("pred", a), ("gold", b)):
            stored = array if i % 2 else np.stack([array] * 3, axis=2)
            image.fromarray(stored.astype(np.uint8)).save(tmp_path / f"{name}.png")
            files += [f"--{name}", str(tmp_path / f"{name}.png")]
        inside = (a > 127) & (b > 127)
        either = (a > 127) | (b > 127)
        expected = inside.sum() / either.sum() if either.any() else 1.0
        assert abs(measure("iou", *files)["value"] - expected) <= 1e-9


def test_palette_and_one_bit_images_are_read(measure, tmp_path):
    rng = np.random.default_rng(3)
    colours = rng.integers(0, 256, (16, 16, 3)).astype(np.uint8)
    palette = image.fromarray(colours).quantize(32)
    palette.save(tmp_path / "palette.png")
    palette.convert("RGB").save(tmp_path / "plain.png")
    image.fromarray(colours[:, :, 0] > 90).save(tmp_path / "bits.png")
    image.fromarray(((colours[:, :, 0] > 90) * 255).astype(np.uint8)).save(tmp_path / "bytes.png")
    for a, b in (("palette", "plain"), ("bits", "bytes")):
        files = ["--a", str(tmp_path / f"{a}.png"), "--b", str(tmp_path / f"{b}.png")]
        assert measure("psnr", *files)["value"] == math.inf
