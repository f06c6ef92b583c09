"""What cannot be measured is refused in one line with exit code 2."""

import pytest

CASES = {
    "empty file": ("bleu", {"hyp": "", "ref": "a\n"}, "is empty"),
    "unequal line counts": ("bleu", {"hyp": "a\nb\n", "ref": "a\n"}, "has 2 lines but"),
    "second reference too long": ("wer", {"hyp": "a\n", "ref": "a\n", "ref ": "a\nb\n"}, "has 1 lines but"),
    "label in the predictions only": ("f1", {"pred": "a\nb\n", "gold": "a\na\n"}, "label 'b' is not in"),
    "label in the gold only": ("accuracy", {"pred": "a\na\n", "gold": "a\nb\n"}, "label 'b' is not in"),
    "malformed alignment": ("aer", {"hyp": "0-0\n1_1\n", "gold": "0-0\n1-1\n"}, ":2: '1_1' is no link"),
    "NaN weight": ("correctness", {"pred": "0.5 nan\n", "gold": "0 1\n"}, ":1: NaN"),
    "NaN log probability": ("perplexity", {"logprobs": "-1\nNaN\n"}, ":2: NaN"),
    "negative weight": ("auprc", {"pred": "0.5 -1\n", "gold": "0 1\n"}, "is negative"),
    "unequal tokens": ("token-f1", {"pred": "01\n", "gold": "011\n"}, ":1: 2 tokens but 3"),
    "broken UTF-8": ("wer", {"hyp": b"\xff\n", "ref": "a\n"}, "not valid UTF-8"),
    "no image": ("psnr", {"a": "x", "b": "x"}, "cannot be read as a PNG"),
    "binary without a positive label": ("f1 --average binary", {"pred": "a\n", "gold": "a\n"}, "--positive"),
    "unknown average": ("f1 --average marco", {"pred": "a\n", "gold": "a\n"}, "did you mean 'macro'"),
    "missing file": ("bleu --hyp nowhere.txt", {"ref": "a\n"}, "nowhere.txt"),
    "option of another metric": ("wer --average macro", {"hyp": "a\n", "ref": "a\n"}, "--average"),
}


@pytest.mark.parametrize("case", CASES)
def test_is_one_line_and_exit_two(heed, tmp_path, case):
    command, files, message = CASES[case]
    arguments = []
    for number, (flag, content) in enumerate(files.items()):
        path = tmp_path / f"{number}.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        arguments += [f"--{flag.strip()}", str(path)]
    done = heed("metrics", *command.split(), *arguments, "--json")
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().split("\n")) == 1, done.stderr
    assert message in done.stderr
