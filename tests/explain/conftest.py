"""Small trained classifiers to examine."""

import pytest

CONFIG = """
[task]
data = "builtin:{data}?size={size}"
[feature]
model = "{feature}"
dim = 16
embedding = 12
dropout = 0
[attention]
{attention}
[train]
epochs = 10
lr = 0.01
patience = 0
batch = 32
traces = 5
"""


@pytest.fixture(scope="session")
def train_reviews(heed, tmp_path_factory):
    """Trains a small model on the built-in reviews; returns its folder."""

    def train(attention='score = "additive"', feature="bilstm", kind="classify", size=400):
        folder = tmp_path_factory.mktemp("explain")
        config = folder / "config.toml"
        data = {"pair": "statements"}.get(kind, "reviews")
        text = CONFIG.format(attention=attention, feature=feature, data=data, size=size)
        config.write_text(text.replace("[task]\n", f'[task]\nkind = "{kind}"\n'))
        done = heed("train", config, "--out", folder / "run", "--threads", 1)
        assert done.returncode == 0, done.stderr
        return folder / "run"

    return train


@pytest.fixture(scope="session")
def reviews_run(train_reviews):
    return train_reviews()
