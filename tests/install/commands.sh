# Commands of `dev` about packages, and about projects that have Kiln; it sources this file when one is asked for.
# shellcheck shell=bash

package() {
  begin "${1:-4}" build-package
  run_step packages install_packages "${packages[@]}" dpkg-dev
  run_step configure cmake --preset release -B build-package -DCMAKE_INSTALL_PREFIX=/usr -DBUILD_TESTING=OFF
  run_step build cmake --build build-package --target kiln kiln_runtime
  run_step package write_packages
  ls build-package/packages/*.deb
}

write_packages() {
  rm -rf build-package/packages
  (cd build-package && cpack)
}

test_package() {
  package 6
  run_step lintian install_packages lintian
  run_step use tests/install/package.sh build-package/packages
}

# Clang is a second compiler, of two ages: where one cannot be installed, the others are left.
test_embed() {
  begin 7 build-embed
  run_step packages install_packages "${packages[@]}" make pkg-config
  local compiler
  for compiler in clang clang-19; do
    try_step "$compiler" install_packages "$compiler"
    ((status == 0)) || echo "skipped: all cases by $compiler, as it cannot be installed (see $log)"
  done
  run_step configure configure dev
  run_step build compile dev kiln
  run_step runner compile dev kiln_runner
  echo "[7/7] embed"
  exec python3 -Bu tests/embed/run.py build build-embed "$@"
}
