# Commands of `dev` that run the real Pallas; it sources this file when one is asked for.
# shellcheck shell=bash

# What the records of tests/pallas were made with.
readonly record_pins=(jax==0.10.2 numpy==2.4.6)

record() {
  begin 2 build
  run_step environment make_environment .venv-record "${record_pins[@]}"
  echo "[2/2] record"
  .venv-record/bin/python -u tests/pallas/record.py "$@"
  .venv-record/bin/python -u tests/import/record.py "$@"
}

sweep() {
  build dev 3 kiln
  run_step kernels compile dev sweep_kernels
  run_step environment make_environment .venv-record "${record_pins[@]}"
  echo "[6/6] sweep"
  exec .venv-record/bin/python -u tests/sweep/megablox_sweep.py "$@"
}

pallas() {
  build dev 2 random_pallas
  run_step environment make_environment .venv-record "${record_pins[@]}"
  echo "[5/5] pallas"
  exec .venv-record/bin/python -u tests/random/pallas/run.py build "$@"
}
