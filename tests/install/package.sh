#!/usr/bin/env bash
# package.sh FOLDER: what the Debian packages in it promise: lintian has nothing to say, and their files
# are enough, together and, with the tool from elsewhere, those of libkiln-dev alone. They are unpacked
# into a folder and not installed, so that this machine stays as it is.
set -euo pipefail
packages=$(cd "$1" && pwd)
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache

# Whose address the packages have is up to who builds them.
lintian --allow-root --fail-on error,warning --tag-display-limit 0 \
  --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$packages"/*.deb

for package in kiln libkiln-dev; do
  dpkg-deb -x "$packages/$package"_*.deb "$work/both"
done
dpkg-deb -x "$packages"/libkiln-dev_*.deb "$work/dev"
rm -rf "$work/dev/usr/share/doc"

# The tool compiles a kernel with what lies beside it, and takes it for right.
"$work/both/usr/bin/kiln" run "$source/specs/add_2d.yaml" x=random:1 y=random:2 m=33 n=17 --mode=direct --compare

mkdir "$work/app"
cp "$source/specs/add_2d.yaml" "$work/app/"
cat >"$work/app/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES CXX)
find_package(Kiln 0.1 REQUIRED)
kiln_add_kernel(add SPEC add_2d.yaml)
add_executable(app app.cc)
target_link_libraries(app PRIVATE add)
END
cat >"$work/app/app.cc" <<'END'
#include <cstdio>
#include <vector>

#include "add.h"

int main() {
  std::vector<float> x(6, 1), y(6, 2), z(6);
  const kiln::Status status =
      kiln::add({x.data(), {2, 3}}, {y.data(), {2, 3}}, {z.data(), {2, 3}});
  if (!status.ok() || z != std::vector<float>(6, 3)) return 1;
  std::puts("1 + 2 = 3");
}
END
# build NAME PREFIX [OPTIONS...]: configures, builds and runs the program.
build() {
  cmake -S "$work/app" -B "$work/$1" -DCMAKE_PREFIX_PATH="$2/usr" "${@:3}" >"$work/log" &&
    cmake --build "$work/$1" >>"$work/log" && "$work/$1/app" || { cat "$work/log"; exit 1; }
}
build with_tool "$work/both"
build without_tool "$work/dev" -DKILN_EXECUTABLE="$work/both/usr/bin/kiln"
