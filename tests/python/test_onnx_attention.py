"""heed.attend on the cases that the onnx package ships for its Attention operator, opsets 23 to 25.

The expected outputs come from onnx's own NumPy reference, which shares no code with heed. Every output a
case lists is compared. Each case exists twice there, once as one node and once with the node expanded to
primitive operators; a name that ends in ``_expanded`` carries the data of the name without it, so only the
latter run.
"""

import ml_dtypes
import numpy as np
import pytest
import torch

import heed

from .onnx_cases import onnx_cases

# Absolute and relative. float32 is a few units in the last place after a sum over 18 keys. In half types
# onnx's reference itself rounds query, key, every score and every weight: two units in the last place.
TOLERANCE = {torch.float32: 2e-6, torch.float16: 2 * 2**-10, torch.bfloat16: 2 * 2**-7}


NAMES = onnx_cases("attention")
CASES = {name: case for name, case in NAMES.items() if not name.endswith("_expanded")}


def tensor(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def split_heads(x, heads):
    """[batch, length, heads * width] → [batch, heads, length, width]."""
    return x.unflatten(2, (heads, -1)).transpose(1, 2)


def attention(inputs, attributes, kernel):
    """The operator's outputs Y, present_key, present_value, qk_matmul_output, by heed.attend."""
    q, k, v = (inputs[name] for name in "QKV")
    flat = q.dim() == 3
    if flat:
        q = split_heads(q, attributes["q_num_heads"])
        k, v = (split_heads(x, attributes["kv_num_heads"]) for x in (k, v))
    past = 0
    if "past_key" in inputs:
        past = inputs["past_key"].size(2)
        k, v = torch.cat([inputs["past_key"], k], 2), torch.cat([inputs["past_value"], v], 2)
    options = {"scale": attributes.get("scale"), "softcap": attributes.get("softcap", 0.0) or None, "kernel": kernel}

    lengths = options["lengths"] = inputs.get("nonpad_kv_seqlen")
    if attributes.get("is_causal"):
        options["causal"] = past if lengths is None else "bottom-right"
    window = attributes.get("left_window_size", -1), attributes.get("right_window_size", -1)
    if window != (-1, -1):
        # The operator's window has an offset even where nothing is causal, heed's only with `causal`.
        assert "causal" in options or (past == 0 and lengths is None), "not expressible"
        options["window"] = window
    mask = inputs.get("attn_mask")
    if mask is not None:
        missing = k.size(2) - mask.size(-1)
        if mask.dtype == torch.bool:
            options["mask"] = torch.nn.functional.pad(mask, (0, missing), value=False)
        else:
            options["bias"] = torch.nn.functional.pad(mask, (0, missing), value=-torch.inf)

    y, weights = heed.attend(q, k, v, want="weights", **options)
    mode = attributes.get("qk_matmul_output_mode", 0)
    if mode == 3:
        qk = weights
    else:
        # Its steps are named by what has been applied: 0 scale, 1 and softcap, 2 and bias with all masks.
        steps = {"scale": options["scale"], "softcap": options["softcap"] if mode else None, "kernel": kernel}
        if mode == 2:
            steps["bias"] = options.get("bias")
        qk = heed.attend(q, k, v, want="scores", **steps).scores
        if mode == 2 and "causal" in options:
            i, j = torch.arange(q.size(2)).unsqueeze(1), torch.arange(k.size(2))
            qk = qk.masked_fill(j > i + past, -torch.inf)
    return {
        "Y": y.transpose(1, 2).flatten(2) if flat else y,
        "present_key": k,
        "present_value": v,
        "qk_matmul_output": qk,
    }


def test_all_cases_are_here():
    # As of onnx 1.23.2; more may come with a newer one, and then run too.
    assert len(CASES) >= 93 and len(NAMES) == 2 * len(CASES)


@pytest.mark.parametrize("kernel", ["fused", "reference"])
@pytest.mark.parametrize("name", CASES)
def test_onnx_case(name, kernel):
    case = CASES[name]
    (node,) = case.model.graph.node
    assert node.op_type == "Attention"
    attributes = {a.name: a.f if a.type == a.FLOAT else a.i for a in node.attribute}
    # softmax_precision asks for at least that type; heed's softmax is float32 for these inputs. Asked for
    # double, that still meets the output's tolerance.
    known = {"is_causal", "kv_num_heads", "left_window_size", "q_num_heads", "qk_matmul_output_mode"}
    assert set(attributes) <= known | {"right_window_size", "scale", "softcap", "softmax_precision"}
    for given, expected in case.data_sets:
        inputs = dict(zip([n for n in node.input if n], map(tensor, given), strict=True))
        outputs = attention(inputs, attributes, kernel)
        for output, array in zip([n for n in node.output if n], expected, strict=True):
            want = tensor(array)
            tolerance = TOLERANCE[want.dtype]
            torch.testing.assert_close(
                outputs[output], want, atol=tolerance, rtol=tolerance, msg=lambda text, o=output: f"{o}: {text}"
            )
