"""Every dtype, every layout, and arrays that are wrong: right, or an exception, and never a crash."""

import ctypes
import os
import threading

import ml_dtypes
import numpy as np
import pytest
from shared_specs import SPREAD
from stress import assert_nothing_is_kept, run_threads

import kiln
from kiln import errors
from kiln._tensors import DTYPES, numpy_dtype


@pytest.fixture(scope="module")
def spread():
    return kiln.compile(SPREAD)


@pytest.fixture(scope="module")
def rows():
    return kiln.load("specs/sum_rows.yaml", bm=64, bn=128)


# dtypes ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def every_dtype():
    """Gives back each of its inputs, one of every dtype."""

    def operands(letter: str) -> str:
        return ", ".join(f"{letter}_{name}: '{name}[n]'" for name in DTYPES)

    stores = "".join(f"  o_{name} = x_{name}\n" for name in DTYPES)
    return kiln.compile(
        f"kernel: every_dtype\ninputs: {{{operands('x')}}}\noutputs: {{{operands('o')}}}\nbody: |\n{stores}"
    )


def values(name: str) -> np.ndarray:
    """A hundred of them, the special ones among these."""
    dtype = numpy_dtype(name)
    if name == "bool":
        return np.arange(100) % 3 == 0
    if name in ("i4", "u4"):
        return (np.arange(100) % 16 - (8 if name == "i4" else 0)).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.linspace(info.min, info.max, 100, dtype=np.float64).clip(info.min, info.max * 0.99).astype(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30], np.float64)
    return np.concatenate([special, np.linspace(-300, 300, 94)]).astype(dtype)


@pytest.mark.parametrize("mode", ["direct", "emulate", "interpret"])
def test_every_dtype_passes_unchanged(every_dtype, mode):
    inputs = [values(name) for name in DTYPES]
    for x, o in zip(inputs, every_dtype(*inputs, mode=mode), strict=True):
        assert o.dtype == x.dtype
        wide = np.float64 if x.dtype.kind not in "iub" else x.dtype
        assert np.array_equal(x.astype(wide), o.astype(wide), equal_nan=wide is np.float64), x.dtype
        assert np.array_equal(np.signbit(x.astype(np.float64)), np.signbit(o.astype(np.float64))) or x.dtype.kind == "b"


@pytest.mark.parametrize("name", ["f8e4m3fn", "f8e5m2", "f8e8m0fnu"])
def test_floats_of_8_bits_round_as_in_ml_dtypes(name):
    k = kiln.compile(
        f"kernel: twice_{name}\ninputs: {{x: '{name}[m, n]'}}\noutputs: {{o: '{name}[m, n]'}}\n"
        f"body: |\n  o = {name}(x + x)\n"
    )
    dtype = numpy_dtype(name)
    x = np.arange(256, dtype=np.uint8).view(dtype).reshape(16, 16)  # all there are
    with np.errstate(all="ignore"):
        want = (x.astype(np.float32) * 2).astype(dtype).astype(np.float32)
    out = np.empty((16, 16), dtype)
    assert k(x, out=out) is out
    assert np.array_equal(out.astype(np.float32), want, equal_nan=True)
    assert np.array_equal(k(x, mode="interpret").astype(np.float32), want, equal_nan=True)


@pytest.mark.parametrize("name", ["i4", "u4"])
@pytest.mark.parametrize("mode", ["direct", "emulate", "interpret"])
def test_integers_of_4_bits_have_rows_of_any_length(name, mode):
    k = kiln.compile(
        f"kernel: {name}_rows\ngrid: {{i: 'cdiv(m, 4)', j: 'cdiv(n, 8)'}}\n"
        f"inputs:\n  x: {{array: '{name}[m, n]', block: '4, 8', index: 'i, j'}}\n"
        f"outputs:\n  o: {{array: '{name}[m, n]', block: '4, 8', index: 'i, j'}}\n"
        f"  w: {{array: 'i32[m, n]', block: '4, 8', index: 'i, j'}}\nbody: |\n  o = {name}(x * 3)\n  w = i32(x)\n"
    )
    dtype = numpy_dtype(name)
    x = np.random.default_rng(1).integers(-8, 8, (7, 21), np.int8).astype(dtype)
    assert len(set(x.ravel().tolist())) == 16
    want = (x.astype(np.int32) * 3).astype(dtype)
    o, w = k(x, mode=mode)
    assert o.dtype == dtype and np.array_equal(o, want) and np.array_equal(w, x.astype(np.int32))
    for layout in (x[::-1], x[:, ::2], x.T, x[:, :1], x[:0]):
        o, w = k(layout, mode=mode)
        assert np.array_equal(o, (layout.astype(np.int32) * 3).astype(dtype)) and np.array_equal(w, layout)
    out = np.zeros((14, 42), dtype)
    k(x, out=[out[::2, 1::2], np.empty((7, 21), np.int32)], mode=mode)
    assert np.array_equal(out[::2, 1::2], want) and not out[1::2].astype(bool).any() and not out[:, ::2].astype(bool).any()


def test_the_wrong_type_of_8_bits_is_named(every_dtype):
    inputs = [values(name) for name in DTYPES]
    place = list(DTYPES).index("f8e4m3fn")
    for other, named in ((ml_dtypes.float8_e5m2, "f8e5m2"), (np.uint8, "u8"), (np.bool_, "bool")):
        wrong = [*inputs[:place], inputs[place].view(np.uint8).view(other), *inputs[place + 1 :]]
        with pytest.raises(errors.CallError, match=f"every_dtype: x_f8e4m3fn is {named}, expected f8e4m3fn"):
            every_dtype(*wrong)
    with pytest.raises(errors.CallError, match="x_f8e4m3fn cannot be passed without a copy"):
        every_dtype(*inputs[:place], inputs[place].astype(ml_dtypes.float8_e4m3b11fnuz), *inputs[place + 1 :])


# layouts -----------------------------------------------------------------------------------------


X = np.random.default_rng(1).standard_normal((70, 300)).astype(np.float32)

READABLE = {
    "rows with gaps": X[:, 3:203],
    "every third row": X[::3],
    "rows backwards": X[::-1],
    "one row again and again": np.broadcast_to(X[0], (70, 300)),
    "a column": X[:, :1],
    "one row of a transposed array": X.T[:1, :].T[:1],
    "not aligned to vectors": X.ravel()[1:20001].reshape(100, 200),
    "no rows": X[:0],
}


@pytest.mark.parametrize("name", READABLE)
def test_layouts_that_are_read_in_place(rows, name):
    x = READABLE[name]
    assert np.array_equal(rows(x), rows(np.ascontiguousarray(x)))


def test_an_output_that_no_step_stores_is_not_returned(rows):
    with pytest.raises(errors.CoverageError, match="no step visits the blocks of 70 of the 70 elements of"):
        rows(X[:, :0])


REFUSED = {
    "columns backwards": (X[:, ::-1], "x has stride -1 in its last dimension, expected 1"),
    "every second column": (X[:, ::2], "x has stride 2 in its last dimension, expected 1"),
    "transposed": (X.T, "x has stride 300 in its last dimension, expected 1"),
    "one column again and again": (np.broadcast_to(X[:, :1], (70, 9)), "x has stride 0 in its last dimension"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_layouts_that_are_refused(rows, name):
    x, message = REFUSED[name]
    with pytest.raises(errors.CallError, match=f"sum_rows: {message}"):
        rows(x)


def test_an_output_with_gaps_is_written_inside_them(spread):
    x = np.arange(5, dtype=np.float32)
    wide = np.full((5, 9), 7, np.float32)
    spread(x, out=wide[:, 2:6])
    assert np.array_equal(wide[:, 2:6], np.repeat(x, 4).reshape(5, 4))
    assert (wide[:, :2] == 7).all() and (wide[:, 6:] == 7).all()


@pytest.mark.parametrize(
    "out, message",
    [
        (np.zeros((4, 5), np.float32).T, "o has stride 5 in its last dimension, expected 1"),
        (np.zeros((5, 4), np.float32)[::-1], "o has stride -4 in dimension 0: an output needs positive ones"),
        (np.lib.stride_tricks.as_strided(np.zeros(9, np.float32), (5, 4), (4, 4)), "o has stride 1 in dimension 1: elements that overlap"),
        (np.broadcast_to(np.zeros(4, np.float32), (5, 4)), "o is read-only, and the kernel writes it"),
        (np.zeros((5, 4), np.float64), "o is f64, expected f32"),
        (np.zeros((6, 4), np.float32), r"o has shape \[6, 4\], expected \[5, 4\]"),
        (np.zeros(20, np.float32), r"o has shape \[20\], which has no dimension 1"),
        (b"12345678", "o is a bytes, expected an array of numpy, torch or JAX"),
    ],
)
def test_outputs_that_are_refused(spread, out, message):
    with pytest.raises(errors.CallError, match=f"spread: {message}"):
        spread(np.arange(5, dtype=np.float32), out=out)


# sizes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2**40, 2**61, 2**62, 2**70])
def test_an_output_that_no_memory_holds(spread, n):
    with pytest.raises(errors.MemoryError, match=rf"spread: there is no memory for o: o would have shape \[3, {n}\]"):
        spread(np.ones(3, np.float32), n=n)


def test_a_huge_input_that_is_one_element_again_and_again(rows):
    x = np.broadcast_to(np.zeros(1, np.float32), (2**45, 1))
    with pytest.raises(kiln.Error):
        rows(x)
    with pytest.raises(errors.CallError, match=r"sum_rows: o has shape \[1\], expected \[35184372088832\]"):
        rows(x, out=np.zeros(1, np.float32))


def test_dimensions_by_name(spread):
    x = np.ones(3, np.float32)
    assert spread(x, n=0).shape == (3, 0)
    assert spread(np.ones(0, np.float32), n=np.int64(4)).shape == (0, 4)
    with pytest.raises(errors.CallError, match=r"spread: o would have shape \[3, -1\]"):
        spread(x, n=-1)
    with pytest.raises(errors.CallError, match=r"spread: the dimension n is 1.5, expected an integer"):
        spread(x, n=1.5)
    with pytest.raises(errors.CallError, match=r"spread: the inputs do not determine n: pass n=… or out=…"):
        spread(x)


# tensors made by hand ----------------------------------------------------------------------------


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    ]  # fmt: skip


class Foreign:
    """An array of a library that nobody has heard of."""

    def __init__(self, shape=(3,), strides=None, name=b"dltensor", **members):
        self.shape = shape if all(0 <= s < 2**60 for s in shape) else (3,)  # for the output's own
        self._extents = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self._data = (ctypes.c_float * 64)(*range(64))
        default = {
            "data": ctypes.addressof(self._data), "device_type": 1, "ndim": len(shape), "code": 2, "bits": 32,
            "lanes": 1, "shape": ctypes.addressof(self._extents),
            "strides": None if strides is None else ctypes.addressof(self._strides),
        }  # fmt: skip
        self._tensor = DLTensor(**{**default, **members})
        self._name = name

    def __dlpack__(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self._tensor), self._name, None)


def test_an_array_of_any_library(spread):
    assert np.array_equal(spread(Foreign(), n=2), [[0, 0], [1, 1], [2, 2]])
    assert np.array_equal(spread(Foreign(strides=(1,), byte_offset=8), n=1), [[2], [3], [4]])


@pytest.mark.parametrize(
    "members, message",
    [
        ({"device_type": 2}, r"x is on a device of type 2, expected the CPU \(1\)"),
        ({"data": None}, "x has no data"),
        ({"shape": None}, "x has no shape"),
        ({"ndim": -1}, "x has -1 dimensions, expected at most 8"),
        ({"ndim": 2**30}, "x has 1073741824 dimensions, expected at most 8"),
        ({"lanes": 4}, "x is f32x4, expected f32"),
        ({"lanes": 0}, "x is f32x0, expected f32"),
        ({"code": 5, "bits": 64}, "x is c64, expected f32"),
        ({"code": 77, "bits": 3}, "x is an unknown type of 3 bits, expected f32"),
        ({"byte_offset": 2}, "x is not aligned to its elements of 4 bytes"),
        ({"shape": (-3,)}, "x has a negative extent"),
        ({"shape": (2**62,), "strides": (1,)}, "x is larger than any memory"),
        ({"shape": (2,), "strides": (2**62,)}, "x has stride 4611686018427387904 in its last dimension"),
        ({"name": b"used_dltensor"}, r"x.__dlpack__\(\) gives no tensor, but a PyCapsule"),
    ],
    ids=str,
)
def test_a_wrong_tensor_of_another_library(spread, members, message):
    if isinstance(members.get("shape"), tuple):
        x = Foreign(**members)
    elif "shape" in members:
        x = Foreign()
        x._tensor.shape = None
    else:
        x = Foreign(**members)
    with pytest.raises(kiln.Error, match=f"spread: {message}"):
        spread(x, out=np.zeros((3, 2), np.float32))


@pytest.mark.parametrize("gives", [None, 3, object()])
def test_what_gives_no_capsule(spread, gives):
    class Odd:
        shape = (3,)

        def __dlpack__(self):
            return gives

    with pytest.raises(errors.CallError, match=r"spread: x.__dlpack__\(\) gives no tensor, but a \w+"):
        spread(Odd(), n=2)


# threads, processes, memory ----------------------------------------------------------------------


def test_threads_that_call_and_fail_at_once(rows, spread):
    x, y = X[:40], np.ones(3, np.float32)
    want = rows(x)
    wrong = []

    def work(number):
        for i in range(150):
            if number % 2:
                if not np.array_equal(rows(x, cores=1 + i % 2), want):
                    wrong.append("rows")
            elif i % 3:
                if not (spread(y, n=4) == 1).all():
                    wrong.append("spread")
            else:
                try:
                    spread(y.astype(np.float64), n=4)
                    wrong.append("no error")
                except errors.CallError as error:
                    if str(error) != "spread: x is f64, expected f32":
                        wrong.append(str(error))

    run_threads(work)
    assert not wrong


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_while_other_threads_call(rows):
    x = X[:40]
    want = rows(x)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            rows(x, cores=2)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                os._exit(0 if np.array_equal(rows(x, cores=2), want) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_calls_that_fail_keep_nothing(spread):
    good, bad = np.ones(3, np.float32), np.ones(3, np.float64)
    foreign, out = Foreign(device_type=2), np.zeros((3, 2), np.float32)

    def calls(count):
        for _ in range(count):
            for wrong in (bad, foreign, [1.0]):
                with pytest.raises(errors.CallError):
                    spread(wrong, out=out)
            with pytest.raises(errors.CallError):
                spread(good, out=bad)

    assert_nothing_is_kept(calls, 300, 3000, 2000, good, bad, foreign, out)
