"""examples/train and examples/infer, small: the curves coincide, and C++ writes what JAX writes."""

import os
import subprocess
import sys
from xml.etree import ElementTree
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

TRAIN = ROOT / "examples/train"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
STEPS, CONTEXT = 30, 48


def run(*command: object, status: int = 0) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, env=ENVIRONMENT, timeout=300, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """The folder of what a short training wrote."""
    folder = tmp_path_factory.mktemp("trained")
    sizes = {"steps": STEPS, "batch": 4, "width": 32, "hidden": 80, "heads": 2, "layers": 2, "context": CONTEXT}
    print(run(sys.executable, TRAIN / "train.py", "-o", folder, *(f"--{k}={v}" for k, v in sizes.items())))
    return folder


@pytest.fixture(scope="module")
def infer(tmp_path_factory) -> Path:
    """The program, built as its README says, against an installation."""
    folder = tmp_path_factory.mktemp("infer")
    run("cmake", "--install", Path(os.environ["KILN_TOOL"]).parent, "--prefix", folder / "prefix")
    run("cmake", "-S", ROOT / "examples/infer", "-B", folder / "build", "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}")  # fmt: skip
    run("cmake", "--build", folder / "build")
    return folder / "build" / "infer"


def test_the_curves_coincide(trained):
    table = np.genfromtxt(trained / "losses.csv", delimiter=",", names=True)
    assert len(table) == STEPS
    # A rounding of the first step has grown by the last one; it still is 1,000 times less than a batch differs from
    # the next.
    assert np.max(np.abs(table["kiln"] - table["plain"])) < 1e-4
    assert np.mean(table["kiln"][-5:]) < np.mean(table["kiln"][:5]) - 0.5
    curves = ElementTree.parse(trained / "losses.svg").getroot().findall("{*}polyline")
    assert [len(curve.get("points").split()) for curve in curves] == [STEPS, STEPS]


@pytest.mark.parametrize("temperature", ["0", "0.8"])
@pytest.mark.parametrize("prompt", ["HAMLET.\n", "T", "x" * CONTEXT])
def test_cpp_writes_the_text_that_jax_writes(trained, infer, prompt, temperature):
    text = run(infer, trained / "weights.npz", prompt, 1000, temperature, 7)
    assert text.startswith(prompt) and len(text) == CONTEXT + 1
    words = ("--count=1000", f"--temperature={temperature}", "--seed=7")
    for engine in ((), ("--plain",)):
        assert run(sys.executable, TRAIN / "generate.py", trained / "weights.npz", prompt, *words, *engine) == text


def test_what_is_wrong_is_a_message(trained, infer, tmp_path):
    weights = trained / "weights.npz"
    whole = weights.read_bytes()
    arrays = dict(np.load(weights))
    names = ("compressed", "cut", "lacking", "narrow", "thin", "objects")
    compressed, cut, lacking, narrow, thin, objects = (tmp_path / f"{name}.npz" for name in names)
    np.savez_compressed(compressed, **arrays)
    cut.write_bytes(whole[:1000] + whole[2000:])
    np.savez(lacking, **{name: array for name, array in arrays.items() if name != "1.down"})
    np.savez(narrow, **(arrays | {"0.gate": arrays["0.gate"][:, :-1].copy()}))
    np.savez(thin, **(arrays | {"1.qkv": arrays["1.qkv"][:, :-1].copy()}))
    np.savez(objects, **(arrays | {"heads": np.array("two")}))
    for words, said in [
        ((), "usage: infer WEIGHTS"),
        (("none.npz",), "infer: there is no file none.npz"),
        ((compressed,), f"infer: {compressed} is compressed: write it with numpy.savez"),
        ((TRAIN / "train.py",), "train.py is no archive of numpy"),
        ((cut,), "infer: "),
        ((lacking,), "infer: the weights have no 1.down"),
        ((narrow,), "infer: gated: up has shape [32, 80], expected [32, 79]"),
        ((thin,), "infer: the weights do not fit one another"),
        ((objects,), "infer: an array is not row-major, or not of numbers: {'descr': '<U3'"),
        ((weights, ""), "infer: the prompt may have 1 to 48 characters"),
        ((weights, "x" * 49), "infer: the prompt may have 1 to 48 characters"),
        ((weights, "\t"), "infer: the vocabulary has no '\t'"),
    ]:
        message = run(infer, *words, status=2 if not words else 1)
        assert said in message, message
