# Commands of `dev` about other machines, other instruction sets and other releases of Highway; it sources this file when
# one is asked for.
# shellcheck shell=bash

# What is run for each instruction set.
readonly target_tests=(runtime_test generated_test records_test soak)

# ---- instruction sets of x86 ----

# By Highway's names, and what /proc/cpuinfo calls what a CPU needs for each.
readonly x86_targets=(SCALAR EMU128 SSE2 SSSE3 SSE4 AVX2 AVX3 AVX3_DL AVX3_SPR)
declare -rA x86_flags=([SCALAR]= [EMU128]= [SSE2]=sse2 [SSSE3]=ssse3 [SSE4]='sse4_2 aes pclmulqdq' [AVX2]='avx2 fma bmi2 f16c aes'
  [AVX3]='avx512f avx512bw avx512dq avx512vl avx512cd' [AVX3_DL]='avx512_vbmi2 avx512_vnni avx512_bf16 avx512_bitalg vpclmulqdq'
  [AVX3_SPR]='avx512_fp16 avx512_vbmi2 avx512_bf16')

# What has those of them that this release of Debian lacks: GCC 12 has no EMU128, and its Highway neither SSE2 nor AVX3_SPR.
readonly newer_suite=sid newer_compiler=clang++-19

# In build-targets/, target by target: the generator is compiled once, and once more for what this release of Debian lacks.
# Another Highway is found by CMAKE_PREFIX_PATH in the environment.
test_targets() {
  local target targets=("$@") missing folder
  (($#)) || targets=("${x86_targets[@]}")
  [[ $(uname -m) == x86_64 ]] || die "test-targets is for x86; test-arm is for aarch64"
  for target in "${targets[@]}"; do
    [[ " ${x86_targets[*]} " == *" $target "* ]] || die "no target \"$target\"; there are: ${x86_targets[*]}"
  done
  begin $((1 + 3 * ${#targets[@]})) build-targets
  run_step packages install_packages "${packages[@]}"
  for target in "${targets[@]}"; do
    missing=$(lacks_for "$target")
    if [[ -n $missing ]]; then
      echo "[$((step += 3))/$steps] $target ... skipped: the CPU has no$missing"
      continue
    fi
    run_step "configure $target" configure_target "$target"
    folder=$(sed -n 's/^configured in //p' "$log")
    if [[ -z $folder ]]; then
      echo "[$((step += 2))/$steps] $target ... skipped: $(tail -n 1 "$log")"
      continue
    fi
    [[ $folder == build-targets ]] || echo "  by $newer_compiler, with Highway of Debian's $newer_suite"
    run_step "build $target" cmake --build "$folder" --target "${target_tests[@]}"
    run_step "test $target" run_target_tests "$folder"
  done
}

run_target_tests() {
  [[ $1 != */newer ]] || export CXX=$newer_compiler  # random specs are compiled while the test runs
  ctest --test-dir "$1" --output-on-failure -R "^($(IFS='|' && echo "${target_tests[*]}"))\$"
}

# lacks_for TARGET: what the CPU lacks for it.
lacks_for() {
  local flag
  for flag in ${x86_flags[$1]}; do
    grep -m1 '^flags' /proc/cpuinfo | grep -qw "$flag" || printf ' %s' "$flag"
  done
}

# configure_target TARGET: says where it is configured, or why neither this machine's compiler and Highway nor newer ones
# have it.
configure_target() {
  try_target "$1" build-targets && return
  install_packages clang-19 dpkg-dev
  fetch_library build-targets/highway "$newer_suite" highway "$PWD/build-targets/root" "${highway_options[@]}"
  try_target "$1" build-targets/newer -DCMAKE_CXX_COMPILER="$newer_compiler" -DCMAKE_PREFIX_PATH="$PWD/build-targets/root" ||
    grep -o "no $1 in Highway .*" build-targets/cmake.log
}

# try_target TARGET FOLDER OPTION...
try_target() {
  local target=$1 folder=$2
  shift 2
  if cmake --preset dev -B "$folder" -DKILN_ONE_TARGET="$target" "$@" 2>&1 | tee build-targets/cmake.log; then
    echo "configured in $folder"
  elif ! grep -q "no $target in Highway " build-targets/cmake.log; then
    exit 1
  else
    return 1
  fi
}

# ---- packages of other releases of Debian ----

# fetch_package KIND FOLDER SUITE PACKAGE: what Debian's SUITE has, unpacked in FOLDER/source: the sources, or the files of
# the package itself (KIND: deb-src, deb). From where this machine takes its packages, whose lists stay as they are.
fetch_package() {
  local kind=$1 folder=$PWD/$2 suite=$3 package=$4 uri options=
  [[ -f $folder/fetched && $(<"$folder/fetched") == "$suite $package" ]] && return
  rm -rf "$folder"
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial"
  uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1)
  [[ -f /usr/share/keyrings/debian-archive-keyring.gpg ]] && options="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
  echo "$kind $options ${uri:?this machine has no packages of Debian} $suite main" >"$folder/apt/sources.list"
  cat >"$folder/apt/conf" <<END
Dir::Etc::sourcelist "$folder/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$folder/apt/lists";
Dir::Cache "$folder/apt";
APT::Sandbox::User "";
END
  (
    cd "$folder"
    export APT_CONFIG=$folder/apt/conf
    apt-get update
    # Sums of sources are those of the signed list, too.
    if [[ $kind == deb ]]; then
      apt-get download "$package"
      dpkg -x ./*.deb source
    else
      apt-get source --download-only --only-source "$package"
      dpkg-source --no-check -x ./*.dsc source
    fi
  )
  rm -rf "$folder/apt"
  echo "$suite $package" >"$folder/fetched"
}

# install_source FOLDER PREFIX OPTION...: builds the sources that fetch_package left in FOLDER.
install_source() {
  local folder=$1 prefix=$2
  shift 2
  cmake --fresh -S "$folder/source" -B "$folder/build" -G Ninja -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_BUILD_TYPE=Release \
    -DBUILD_TESTING=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@"
  cmake --build "$folder/build" --target install
}

readonly highway_options=(-DHWY_ENABLE_CONTRIB=OFF -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_TESTS=OFF)
readonly yaml_options=(-DYAML_CPP_BUILD_TOOLS=OFF -DYAML_CPP_BUILD_TESTS=OFF)

# fetch_library FOLDER SUITE PACKAGE PREFIX OPTION...: both of these, once.
fetch_library() {
  local folder=$1 suite=$2 package=$3 prefix=$4
  shift 4
  fetch_package deb-src "$folder" "$suite" "$package"
  [[ -f $folder/installed && $(<"$folder/installed") == "$prefix" ]] && return
  install_source "$folder" "$prefix" "$@"
  echo "$prefix" >"$folder/installed"
}

# ---- other releases of Highway ----

# Debian's releases after this one, up to the newest that it has.
readonly highway_suites=(trixie sid)

# test_highway [SUITE | FOLDER]...: those tests that depend on it, for what this CPU is dispatched to and compiled natively.
# A FOLDER has sources of Highway.
test_highway() {
  local suite suites=("$@") name
  (($#)) || suites=("${highway_suites[@]}")
  begin $((1 + 4 * ${#suites[@]})) build-highway
  run_step packages install_packages "${packages[@]}" dpkg-dev
  for suite in "${suites[@]}"; do
    name=${suite##*/}
    run_step "fetch $name" get_highway "$suite" "build-highway/$name"
    run_step "configure $name" configure_with_highway "$name"
    echo "  Highway $(sed -n 's/^-- Found Highway //p' "$log")"
    run_step "build $name" cmake --build build-highway --target "${target_tests[@]}"
    run_step "test $name" run_target_tests build-highway
  done
}

get_highway() {
  if [[ -d $1 ]]; then
    mkdir -p "$2"
    ln -sfn "$(cd "$1" && pwd)" "$2/source"
    install_source "$2" "$PWD/$2/root" "${highway_options[@]}"
  else
    fetch_library "$2" "$1" highway "$PWD/$2/root" "${highway_options[@]}"
  fi
}

configure_with_highway() {
  local root=$PWD/build-highway/$1/root
  cmake --preset dev -B build-highway -Uhwy_DIR -UKILN_HIGHWAY_HEADER -DCMAKE_PREFIX_PATH="$root"
  echo "-- Found Highway $(sed -n 's/.*define HWY_\(MAJOR\|MINOR\|PATCH\) //p' "$root/include/hwy/base.h" | paste -sd.)"
}

# ---- other machines ----

# Each has a triple of GNU's, the program that emulates it, and the packages that this takes; and instruction sets by
# Highway's names, with the CPUs that have them: what to call one, and how the emulator does. Each length of SVE is with one of
# the two, as what they share does not depend on which it is.
declare -rA triples=([arm]=aarch64-linux-gnu [newer_arm]=aarch64-linux-gnu [riscv]=riscv64-linux-gnu)
# newer_arm: by clang with the newest Highway of Debian's, as its GCC and its own Highway lack NEON's dots.
# That of RISC-V is of a later Debian: QEMU 7.2 stops at vector instructions (its issue 1441). So is what unwinds: that of
# GCC 12 aborts where an exception passes a function that keeps vectors on its stack.
declare -rA emulators=([arm]=qemu-aarch64 [newer_arm]=qemu-aarch64 [riscv]="$PWD/build-riscv/qemu/source/usr/bin/qemu-riscv64")
declare -rA newer_libraries=([arm]= [newer_arm]= [riscv]="$PWD/build-riscv/libgcc/source/usr/riscv64-linux-gnu/lib:")
declare -rA toolchains=([arm]=aarch64 [newer_arm]=aarch64_clang [riscv]=riscv64)
declare -rA cross_packages=([arm]='g++-aarch64-linux-gnu qemu-user' [newer_arm]='clang-19 g++-aarch64-linux-gnu qemu-user dpkg-dev'
  [riscv]='clang-19 g++-riscv64-linux-gnu dpkg-dev')
declare -rA cross_compilers=([arm]=aarch64-linux-gnu-g++ [newer_arm]='clang++-19 --target=aarch64-linux-gnu'
  [riscv]='clang++-19 --target=riscv64-linux-gnu')
declare -rA cross_targets=([arm]='NEON SVE SVE2' [newer_arm]=NEON_BF16 [riscv]=RVV)
declare -rA cross_cpus=(
  [NEON]='a72:cortex-a72'
  [NEON_BF16]='max:max'
  [SVE]='256:max,sve256=on,sve512=off 512:a64fx'
  [SVE2]='128:max,sve128=on,sve256=off,sve512=off 2048:max'
  [RVV]='128:rv64,v=true,vlen=128,vext_spec=v1.0 256:rv64,v=true,vlen=256,vext_spec=v1.0
    512:rv64,v=true,vlen=512,vext_spec=v1.0 1024:rv64,v=true,vlen=1024,vext_spec=v1.0')
# Libraries of Debian's for aarch64. It has none for riscv64 in this release, and GCC 12 no vectors of it.
readonly arm_libraries=(libhwy-dev libhwy1 libyaml-cpp-dev libyaml-cpp0.7)
# One of so many kernels of the records, and random specs: emulation takes fifty times as long.
readonly cross_records_each=8 cross_specs=24

test_arm() {
  local target old=() newer=()
  (($#)) || old=(NEON SVE SVE2) newer=(NEON_BF16)
  for target in "$@"; do
    if [[ $target == NEON_BF16 ]]; then newer+=("$target"); else old+=("$target"); fi
  done
  ((${#old[@]} == 0)) || test_machine arm "${old[@]}"
  ((${#newer[@]} == 0)) || test_machine newer_arm "${newer[@]}"
}
test_riscv() { test_machine riscv "$@"; }

# test_machine MACHINE [TARGET...]: in build-MACHINE/, an application as docs/embedding.md has it, for all instruction sets
# at once, and then the tests for one after the other. All CPUs are tried, whichever fail.
test_machine() {
  local machine=$1 target cpu cpus targets failed=()
  shift
  read -ra targets <<<"${*:-${cross_targets[$machine]}}"
  for target in "${targets[@]}"; do
    [[ " ${cross_targets[$machine]} " == *" $target "* ]] || die "no target \"$target\"; there are: ${cross_targets[$machine]}"
  done
  build=build-$machine root=$PWD/build-$machine/root
  begin $((6 + $(count_cross_steps "${targets[@]}"))) "$build"
  export KILN_CROSS_LIBRARIES=$root
  cross=(-G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/cross/${toolchains[$machine]}.cmake" -DCMAKE_BUILD_TYPE=Release)

  # shellcheck disable=SC2086
  run_step packages install_packages "${packages[@]}" ${cross_packages[$machine]}
  run_step libraries "get_${machine}_libraries"
  run_step tool compile_tool
  run_step runtime install_cross_runtime
  run_step app build_cross_app
  try_cross_step "run app" run_apps "$machine" "${targets[@]}"
  for target in "${targets[@]}"; do
    run_step "configure $target" configure_cross "$machine" "$target"
    run_step "build $target" cmake --build "$build/tests" --target "${target_tests[@]}" faults_test
    read -rd '' -a cpus <<<"${cross_cpus[$target]}" || true
    for cpu in "${cpus[@]}"; do
      try_cross_step "test $target ${cpu%%:*}" run_cross_tests "$machine" "${cpu#*:}"
      if [[ $cpu == "${cpus[0]}" || $cpu == "${cpus[-1]}" ]]; then
        try_cross_step "faults $target ${cpu%%:*}" run_cross_faults "$machine" "${cpu#*:}"
      fi
    done
  done
  ((${#failed[@]} == 0)) || die "" "failed: ${failed[*]}"
}

count_cross_steps() {
  local target count=0 cpus
  for target in "$@"; do
    read -rd '' -a cpus <<<"${cross_cpus[$target]}" || true
    ((count += 2 + ${#cpus[@]} + (${#cpus[@]} > 1 ? 2 : 1)))
  done
  echo "$count"
}

# A failure is shown, and those after it are run.
try_cross_step() {
  try_step "$@"
  ((status)) || return 0
  failed+=("\"$1\"")
  tail -n 30 "$log"
  echo "(all of it is in $log)"
}

# run_on MACHINE CPU COMMAND...
run_on() {
  local emulator=("${emulators[$1]}" -L "/usr/${triples[$1]}" -cpu "$2")
  # KILN_EMULATOR: with which tests run themselves again, and what they give more time for.
  KILN_EMULATOR="${emulator[*]}" "${emulator[@]}" -E "$(libraries_for "$1")" "${@:3}"
}

# libraries_for MACHINE: where the target's are, as a variable for its programs.
libraries_for() {
  echo "LD_LIBRARY_PATH=${newer_libraries[$1]}$root/usr/lib/${triples[$1]}"
}

# As a user does: the runtime by itself, installed where the target's libraries are, and the tool of this machine.
install_cross_runtime() {
  cmake -S . -B "$build/runtime" "${cross[@]}" -DCMAKE_INSTALL_PREFIX="$root/usr/local" -DBUILD_TESTING=OFF
  cmake --build "$build/runtime" --target install
}

build_cross_app() {
  cmake -S examples/app -B "$build/app" "${cross[@]}" -DKILN_EXECUTABLE="$PWD/build/kiln"
  cmake --build "$build/app"
}

run_apps() {
  local machine=$1 target cpu
  shift
  for target in "$@"; do
    for cpu in ${cross_cpus[$target]}; do
      echo "$cpu"
      run_on "$machine" "${cpu#*:}" "$build/app/app"
    done
  done
}

# The tests need the tool's parts for the target, which are compiled once, and take longer to compile than to run. What is
# generated while building is generated in emulation, on a CPU that has what all of it was compiled for.
configure_cross() {
  local cpus
  read -ra cpus <<<"${cross_cpus[$2]}"
  local emulator="${emulators[$1]};-L;/usr/${triples[$1]};-cpu;${cpus[0]#*:};-E;$(libraries_for "$1")"
  cmake -S . -B "$build/tests" "${cross[@]}" -DKILN_TOOL=ON -DKILN_INSTALL=OFF -DKILN_ONE_TARGET="$2" \
    -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DKILN_RECORDS_EACH="$cross_records_each" -DCMAKE_CROSSCOMPILING_EMULATOR="$emulator"
}

run_cross_tests() {
  local tests=$build/tests/tests
  # Without what these emulators cannot do, and what they take hours for. A filter takes in what hides unless it says so.
  run_on "$1" "$2" "$tests/generated_test" '~[large]'
  run_on "$1" "$2" "$tests/runtime_test" '~[.]~[fork]'
  run_on "$1" "$2" "$tests/records/records_test" 'generated kernels compute*,kernels imported*'
}

# On the CPUs of the shortest and of the longest vectors: random specs are compiled anew for each.
run_cross_faults() {
  local tests=$build/tests/tests
  run_on "$1" "$2" "$tests/faults/faults_test" 'seeded faults*,undefined floats*'
  CXX=${cross_compilers[$1]} run_on "$1" "$2" "$tests/random/soak" \
    --count "$cross_specs" --batch "$cross_specs" --jobs 1 --faults 0.25 --quiet --no-shrink --folder "$build/soak"
}

compile_tool() {
  configure dev
  compile dev kiln
}

# Debian's packages for arm64, which are not installed but unpacked.
get_arm_libraries() { unpack_for_arm "${arm_libraries[@]}"; }

# With the newest Highway of Debian's instead of its own.
get_newer_arm_libraries() {
  unpack_for_arm "${arm_libraries[@]:2}"
  fetch_library "$build/highway" "$newer_suite" highway "$root/usr" "${cross[@]}" "${highway_options[@]}"
}

unpack_for_arm() {
  local debs=$build/debs sudo=()
  [[ -f $root/done ]] && return
  ((EUID)) && sudo=(sudo)
  "${sudo[@]}" dpkg --add-architecture arm64
  "${sudo[@]}" apt-get update
  rm -rf "$root" "$debs"
  mkdir -p "$root/usr/include/dlpack" "$debs"
  (cd "$debs" && apt-get download "${@/%/:arm64}")
  for deb in "$debs"/*.deb; do dpkg -x "$deb" "$root"; done
  cp /usr/include/dlpack/dlpack.h "$root/usr/include/dlpack/"
  touch "$root/done"
}

# The newest Highway of Debian's, and the yaml-cpp of this release; the emulator, which needs no library; and what unwinds.
get_riscv_libraries() {
  fetch_package deb "$build/qemu" trixie qemu-user
  fetch_package deb "$build/libgcc" trixie libgcc-s1-riscv64-cross
  mkdir -p "$root/usr/include/dlpack"
  cp /usr/include/dlpack/dlpack.h "$root/usr/include/dlpack/"
  fetch_library "$build/highway" "$newer_suite" highway "$root/usr" "${cross[@]}" "${highway_options[@]}"
  fetch_library "$build/yaml-cpp" "$(. /etc/os-release && echo "$VERSION_CODENAME")" yaml-cpp "$root/usr" "${cross[@]}" "${yaml_options[@]}"
}
