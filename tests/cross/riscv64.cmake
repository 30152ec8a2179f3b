# riscv64 with vectors, on a Debian machine of another kind: clang with the libraries of GCC's cross-compiler, as GCC before
# 14 has no vectors of it, and the target's other libraries in LIBRARIES.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_CXX_COMPILER_TARGET riscv64-linux-gnu)
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_C_COMPILER_TARGET riscv64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE riscv64-linux-gnu)
set(CMAKE_CXX_FLAGS_INIT -march=rv64gcv)

set(LIBRARIES "$ENV{KILN_CROSS_LIBRARIES}" CACHE PATH "Where the target's libraries are")
set(CMAKE_FIND_ROOT_PATH "${LIBRARIES}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
