# A build for one instruction set, whatever this machine has besides: of the runtime, of the kernels that tests are compiled
# with, and of those that the tool compiles to run them. `./dev test-targets` makes one of each; programs say TARGETS to
# kiln_add_kernel. `./dev test-arm` and `./dev test-riscv` do the same with a cross-compiler.
set(KILN_ONE_TARGET "" CACHE STRING "The one instruction set of this build, by Highway's name; for tests")
mark_as_advanced(KILN_ONE_TARGET)

set(KILN_ONE_TARGET_OPTIONS "")
if(KILN_ONE_TARGET)
  set(options_SCALAR -DHWY_COMPILE_ONLY_SCALAR)
  set(options_EMU128 -DHWY_COMPILE_ONLY_EMU128)
  set(options_SSE2 -march=x86-64)
  set(options_SSSE3 -march=x86-64 -mssse3)
  set(options_SSE4 -march=x86-64-v2 -maes -mpclmul)
  set(options_AVX2 -march=haswell -maes)
  set(options_AVX3 -march=skylake-avx512)
  set(options_AVX3_DL -march=icelake-server -mavx512bf16 -DHWY_BASELINE_TARGETS=HWY_AVX3_DL)
  set(options_AVX3_SPR -march=sapphirerapids)
  set(options_NEON -march=armv8-a+crypto)
  set(options_NEON_BF16 -march=armv8.6-a+fp16+crypto)
  set(options_SVE -march=armv8.2-a+sve)
  set(options_SVE2 -march=armv8.5-a+sve2+sve2-aes+bf16)
  set(options_RVV -march=rv64gcv)
  if(NOT DEFINED options_${KILN_ONE_TARGET})
    message(FATAL_ERROR "KILN_ONE_TARGET is no instruction set that is known here: ${KILN_ONE_TARGET}")
  endif()
  # Also those that kernels have no code for otherwise (runtime/kiln/core/targets.h).
  set(KILN_ONE_TARGET_OPTIONS ${options_${KILN_ONE_TARGET}} -DHWY_DISABLED_TARGETS=0)
  if(NOT KILN_ONE_TARGET MATCHES "^(SCALAR|EMU128)$")
    list(APPEND KILN_ONE_TARGET_OPTIONS -DHWY_COMPILE_ONLY_STATIC)
  endif()

  # That it is what is asked for, and not the next best that this Highway knows.
  find_package(hwy REQUIRED)
  include(CheckCXXSourceCompiles)
  list(JOIN KILN_ONE_TARGET_OPTIONS " " CMAKE_REQUIRED_FLAGS)
  set(CMAKE_REQUIRED_LIBRARIES hwy::hwy)
  check_cxx_source_compiles("
    #include \"hwy/detect_targets.h\"
    #ifndef HWY_${KILN_ONE_TARGET}
    #error
    #endif
    int main() { static_assert(HWY_TARGETS == HWY_${KILN_ONE_TARGET} && HWY_STATIC_TARGET == HWY_TARGETS); }"
    KILN_HAS_${KILN_ONE_TARGET})
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(NOT KILN_HAS_${KILN_ONE_TARGET})
    set(with "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
    message(FATAL_ERROR "no ${KILN_ONE_TARGET} in Highway ${hwy_VERSION} with ${with}")
  endif()
endif()
