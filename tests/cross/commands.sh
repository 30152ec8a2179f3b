# Commands of `dev` about other machines and other instruction sets; it sources this file when one is asked for.
# shellcheck shell=bash

# ---- instruction sets of x86 ----

# Instruction sets of x86 by Highway's names, and what /proc/cpuinfo calls what a CPU needs for each.
readonly x86_targets=(SCALAR EMU128 SSE2 SSSE3 SSE4 AVX2 AVX3 AVX3_DL AVX3_SPR)
declare -rA x86_flags=([SCALAR]= [EMU128]= [SSE2]=sse2 [SSSE3]=ssse3 [SSE4]='sse4_2 aes pclmulqdq' [AVX2]='avx2 fma bmi2 f16c aes'
  [AVX3]='avx512f avx512bw avx512dq avx512vl avx512cd' [AVX3_DL]='avx512_vbmi2 avx512_vnni avx512_bf16 avx512_bitalg vpclmulqdq'
  [AVX3_SPR]='avx512_fp16 avx512_vbmi2 avx512_bf16')
# What is run on each.
readonly target_tests=(runtime_test generated_test records_test soak)

# In build-targets/, target by target: the generator is compiled once. Another Highway is found by CMAKE_PREFIX_PATH in the
# environment.
test_targets() {
  local target targets=("$@") missing
  (($#)) || targets=("${x86_targets[@]}")
  [[ $(uname -m) == x86_64 ]] || die "test-targets is for x86; test-arm is for aarch64"
  for target in "${targets[@]}"; do
    [[ " ${x86_targets[*]} " == *" $target "* ]] || die "no target \"$target\"; there are: ${x86_targets[*]}"
  done
  begin $((1 + 2 * ${#targets[@]})) build-targets
  run_step packages install_packages "${packages[@]}"
  for target in "${targets[@]}"; do
    missing=$(lacks_for "$target")
    if [[ -n $missing ]]; then
      echo "[$((step += 2))/$steps] $target ... skipped: $missing"
      continue
    fi
    run_step "build $target" cmake --build build-targets --target "${target_tests[@]}"
    run_step "test $target" ctest --test-dir build-targets --output-on-failure -R "^($(IFS='|' && echo "${target_tests[*]}"))\$"
  done
}

# lacks_for TARGET: what this machine lacks for it. Nothing: a build for it is configured.
lacks_for() {
  local flag missing= log="build-targets/configure $1.log"
  for flag in ${x86_flags[$1]}; do
    grep -m1 '^flags' /proc/cpuinfo | grep -qw "$flag" || missing+=" $flag"
  done
  if [[ -n $missing ]]; then
    echo "the CPU has no$missing"
  elif ! cmake --preset dev -B build-targets -DKILN_ONE_TARGET="$1" >"$log" 2>&1; then
    grep -o "no $1 in Highway .*" "$log" || die "$(tail -n 40 "$log")"
  fi
}

# ---- aarch64 ----

# What compiles for aarch64 and runs it, and the libraries of that machine.
readonly arm_packages=(g++-aarch64-linux-gnu qemu-user)
readonly arm_libraries=(libhwy-dev libhwy1 libyaml-cpp-dev libyaml-cpp0.7)
# With vectors of NEON alone, and of SVE with 128, 256, 512 and 2048 bits.
readonly arm_cpus=(cortex-a72 max,sve128=on,sve256=off,sve512=off max,sve256=on,sve512=off max,sve512=on,sve1024=off max)

test_arm() {
  local cpu
  begin 7 build-arm
  run_step packages install_packages "${packages[@]}" "${arm_packages[@]}"
  run_step libraries unpack_arm_libraries build-arm/root
  run_step tool compile_tool
  export KILN_CROSS_LIBRARIES=$PWD/build-arm/root
  local cross=(-G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/cross/aarch64.cmake" -DKILN_EXECUTABLE="$PWD/build/kiln")
  run_step configure cmake -S . -B build-arm "${cross[@]}" -DKILN_TOOL=ON -DCMAKE_INSTALL_PREFIX="$PWD/build-arm/root/usr/local"
  run_step build cmake --build build-arm --target runtime_test generated_test
  run_step app build_arm_app "${cross[@]}"
  echo "[7/7] run"
  for cpu in "${arm_cpus[@]}"; do
    echo "$cpu"
    run_on_arm "$cpu" build-arm/app/app
    run_on_arm "$cpu" build-arm/tests/generated_test
    # Without what this emulator cannot do, and what it takes hours for.
    run_on_arm "$cpu" build-arm/tests/runtime_test '~[fork]' '~Functions of every*'
  done
}

run_on_arm() {
  local emulator=(qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu "$1")
  # With which tests run themselves again.
  KILN_EMULATOR="${emulator[*]}" "${emulator[@]}" -E LD_LIBRARY_PATH="$PWD/build-arm/root/usr/lib/aarch64-linux-gnu" "${@:2}"
}

# Debian's packages for arm64, which are not installed but unpacked.
unpack_arm_libraries() {
  local folder=$PWD/$1 debs=build-arm/debs sudo=()
  [[ -f $folder/done ]] && return
  ((EUID)) && sudo=(sudo)
  "${sudo[@]}" dpkg --add-architecture arm64
  "${sudo[@]}" apt-get update
  rm -rf "$folder" "$debs"
  mkdir -p "$folder/usr/include/dlpack" "$debs"
  (cd "$debs" && apt-get download "${arm_libraries[@]/%/:arm64}")
  for deb in "$debs"/*.deb; do dpkg -x "$deb" "$folder"; done
  cp /usr/include/dlpack/dlpack.h "$folder/usr/include/dlpack/"
  touch "$folder/done"
}

compile_tool() {
  configure dev
  compile dev kiln
}

build_arm_app() {
  cmake --install build-arm
  cmake -S examples/app -B build-arm/app "$@" -DCMAKE_BUILD_TYPE=Release
  cmake --build build-arm/app
}
