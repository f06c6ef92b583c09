"""The node cases that the onnx package ships, by the module that holds an operator's.

onnx's own ``collect_testcases(op)`` imports the modules of all operators but keeps the cases of one, so a
second call with another operator finds nothing; and it takes 14 s.
"""

import importlib
import warnings


def onnx_cases(module):
    """All cases of ``onnx.backend.test.case.node.<module>`` by name, the expanded ones included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # onnx's own NumPy code meets the infinities it tests
        node = importlib.import_module("onnx.backend.test.case.node")
        importlib.import_module(f"onnx.backend.test.case.node.{module}")
    return {case.name: case for case in node._NodeTestCases if case.name.startswith(f"test_{module}")}
