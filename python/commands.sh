# Commands of `dev` about the Python package; it sources this file when one is asked for that needs it.
# shellcheck shell=bash

# What the Python package is tested with; tests of JAX and PyTorch are left out where these are not installed.
readonly python_pins=(numpy==2.4.6 ml_dtypes==0.6.0 pytest==9.2.0 jax==0.10.2)
# PyTorch, and what of its own needs a CPU has: CUDA itself is 2 GB more (python/tests/with_torch/cuda_stand_ins.py).
readonly torch_needs=(filelock==4.2.12 fsspec==2026.9.0 jinja2==3.1.6 networkx==3.6.1 setuptools==84.2.1 sympy==1.14.0
  typing_extensions==4.16.0)
readonly torch_pins=(torch==2.13.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85 nvidia-cufile==1.15.1.6
  nvidia-nvshmem-cu13==3.4.5)
# What JAX's own tests import.
readonly jax_suite_needs=(absl-py==2.5.1 hypothesis==6.170.15)
# What is beside each release of JAX that it is tested with; kernels in old ones import absl.
readonly jax_versions_needs=(numpy==2.4.6 ml_dtypes==0.6.0 pytest==9.2.0 absl-py==2.5.1)
readonly wheel_pins=(scikit-build-core==1.1.2)

test_python() {
  build dev 1 kiln
  echo "[4/4] python"
  python_tests "$@"
}

python_environment() {
  make_environment build/python-env "${python_pins[@]}"
}

# Where PyPI cannot be reached they are left out, with a line that says so.
python_tests() {
  local status
  set +e
  (set -e; python_environment) >build/python-env.log 2>&1
  status=$?
  set -e
  if ((status)); then
    echo "skipped: python/tests, as ${python_pins[*]} cannot be installed (see build/python-env.log)"
    return 0
  fi
  run_pytest build/python-env python/tests "$@"
}

# run_pytest ENVIRONMENT WHAT...: on the package as it stands here, by the program of build/. Its kernels are compiled in half
# the time: how fast they are is nothing to these tests.
run_pytest() {
  CXX="${CXX:-c++} -O1" KILN_TOOL=$PWD/build/kiln XDG_CACHE_HOME=$PWD/build/test-cache PYTHONDONTWRITEBYTECODE=1 \
    "$1/bin/python" -m pytest -q -p no:cacheprovider "${@:2}"
}

test_jax_suite() {
  if [[ " $* " != *" --help "* && " $* " != *" -h "* ]]; then
    build dev 2 kiln
    run_step environment make_environment build/jax-suite-env "${python_pins[@]}" "${jax_suite_needs[@]}"
    echo "[5/5] jax suite"
    CXX="${CXX:-c++} -O1" KILN_TOOL=$PWD/build/kiln XDG_CACHE_HOME=$PWD/build/test-cache PYTHONDONTWRITEBYTECODE=1 \
      exec build/jax-suite-env/bin/python -u tests/jax_suite/run.py "$@"
  fi
  exec python3 tests/jax_suite/run.py "$@"
}

test_jax_versions() {
  if [[ " $* " != *" --help "* && " $* " != *" -h "* ]]; then
    build dev 1 kiln
    echo "[4/4] jax versions"
    KILN_TOOL=$PWD/build/kiln XDG_CACHE_HOME=$PWD/build/test-cache PYTHONDONTWRITEBYTECODE=1 \
      exec python3 -u tests/jax_versions/run.py --with "${jax_versions_needs[*]}" "$@"
  fi
  exec python3 tests/jax_versions/run.py "$@"
}

test_torch() {
  build dev 2 kiln
  run_step environment make_torch_environment build/torch-env
  echo "[5/5] torch"
  run_pytest build/torch-env python/tests/with_torch python/tests/test_docs.py "$@"
}

make_torch_environment() {
  local all="${python_pins[*]} ${torch_needs[*]} ${torch_pins[*]}"
  [[ -f $1/pins && $(<"$1/pins") == "$all" ]] && return
  make_environment "$1" "${python_pins[@]}" "${torch_needs[@]}"
  "$1/bin/pip" install --no-deps "${torch_pins[@]}"
  "$1/bin/python" python/tests/with_torch/cuda_stand_ins.py "$1"/lib/python3*/site-packages
  echo "$all" >"$1/pins"
}

# The wheel is built as pip builds it, in a folder of its own.
test_wheel() {
  begin 4 build
  run_step packages install_packages "${packages[@]}"
  run_step environment make_environment build/wheel-env "${wheel_pins[@]}"
  run_step wheel build_wheel
  echo "[4/4] use"
  python3 -u python/tests/wheel/check.py build/wheel
}

build_wheel() {
  rm -rf build/wheel
  build/wheel-env/bin/pip wheel --no-deps --no-build-isolation -w build/wheel .
}
