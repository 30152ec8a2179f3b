"""A shared library that a CMake project made with kiln_add_kernel and kiln_add_module."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

import kiln

PROJECT = f"""\
cmake_minimum_required(VERSION 3.25)
project(mine LANGUAGES CXX)
find_package(Kiln REQUIRED)
kiln_add_kernel(sum_rows SPEC {ROOT}/specs/sum_rows.yaml TARGETS NATIVE)
kiln_add_kernel(add_2d SPEC {ROOT}/specs/add_2d.yaml TARGETS NATIVE)
kiln_add_kernel(doubled SPEC multiplied.yaml SET by=2 TARGETS NATIVE)
kiln_add_module(mine sum_rows add_2d doubled)
"""

MULTIPLIED = """\
kernel: multiplied
params: {by: 3}
scalars: {more: f32}
inputs: {x: "f32[n]"}
outputs: {o: "f32[n]"}
body: o = x * f32(by) + more
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    folder = tmp_path_factory.mktemp("module")
    (folder / "CMakeLists.txt").write_text(PROJECT)
    (folder / "multiplied.yaml").write_text(MULTIPLIED)
    build = Path(os.environ["KILN_TOOL"]).parent
    for command in (
        ["cmake", "--install", build, "--prefix", folder / "prefix"],
        ["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}"],
        ["cmake", "--build", folder / "build"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build" / "mine.so"


def test_its_kernels_are_called(module):
    x = np.random.default_rng(1).standard_normal((100, 700)).astype(np.float32)
    sums = kiln.load_library(module, "specs/sum_rows.yaml")
    assert np.allclose(sums(x), x.sum(axis=1), rtol=1e-5, atol=1e-4)
    assert np.array_equal(sums(x, cores=2), sums(x))
    add = kiln.load_library(module, "specs/add_2d.yaml")
    assert np.array_equal(add(x, x), x + x)
    with pytest.raises(kiln.Error, match="sum_rows: x is f64, expected f32"):
        sums(x.astype(np.float64))


def test_under_the_name_that_the_project_gave_it(module):
    spec = module.parents[1] / "multiplied.yaml"
    doubled = kiln.load_library(module, spec, name="doubled", by=2)
    assert str(doubled.signature) == "doubled(more: f32, x: f32[n]) -> o: f32[n]"
    assert np.array_equal(doubled(0.5, np.float32([1, 2])), np.float32([2.5, 4.5]))
    with pytest.raises(kiln.Error, match="mine.so is no library with the kernel kiln_multiplied"):
        kiln.load_library(module, spec, by=2)


def test_it_exports_the_c_interface_alone(module):
    shown = subprocess.run(["nm", "-D", "--defined-only", module], capture_output=True, text=True, check=True)
    names = {line.split()[2] for line in shown.stdout.splitlines()}
    header = (ROOT / "runtime/kiln/call/c.h").read_text(encoding="utf-8")
    interface = set(re.findall(r"\b(kiln_\w+)\(", header)) - {"kiln_k"}  # an example
    assert "kiln_context_new" in interface
    kernels = {f"kiln_{way}{kernel}" for way in ("", "packed_") for kernel in ("sum_rows", "add_2d", "doubled")}
    assert names == interface | kernels


UNLOADED = '''
import ctypes, sys, time
import numpy as np
from _ctypes import dlclose

class Tensor(ctypes.Structure):  # DLTensor
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]

x, z = np.ones((2000, 700), np.float32), np.zeros((2000, 700), np.float32)
shape = (ctypes.c_int64 * 2)(*x.shape)
tensor = lambda a: Tensor(a.ctypes.data, (ctypes.c_int32 * 2)(1, 0), 2, 2, 32, 1, ctypes.addressof(shape), None, 0)
for turn in range(3):
    module = ctypes.CDLL(sys.argv[1])
    status = ctypes.create_string_buffer(1024)
    given = [ctypes.byref(tensor(a)) for a in (x, x, z)]
    assert module.kiln_add_2d(*given, None, status) == 0, status.raw
    assert (z == 2).all()
    dlclose(module._handle)
    assert sys.argv[1] not in open("/proc/self/maps").read()
time.sleep(0.1)
'''


def test_it_is_unloaded_with_its_threads(module):
    done = subprocess.run([sys.executable, "-c", UNLOADED, module], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_inside_jit(module):
    """JAX calls it by an array of arguments."""
    jax = pytest.importorskip("jax")
    x = np.random.default_rng(1).standard_normal((100, 700)).astype(np.float32)
    sums = kiln.load_library(module, "specs/sum_rows.yaml")
    assert np.array_equal(jax.jit(lambda a: sums(a * 2))(x), sums(x * 2))
    doubled = kiln.load_library(module, module.parents[1] / "multiplied.yaml", name="doubled", by=2)
    assert np.array_equal(jax.jit(doubled)(0.5, np.float32([1, 2])), np.float32([2.5, 4.5]))


def test_a_kernel_that_is_not_in_it(module):
    with pytest.raises(kiln.Error, match="mine.so is no library with the kernel kiln_conv1d"):
        kiln.load_library(module, "specs/conv1d.yaml")


def test_a_file_that_is_no_library(tmp_path):
    (tmp_path / "mine.so").write_text("not a library")
    with pytest.raises(kiln.Error, match="mine.so is no library with the kernel kiln_add_2d: "):
        kiln.load_library(tmp_path / "mine.so", "specs/add_2d.yaml")
