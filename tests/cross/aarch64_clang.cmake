# aarch64 on a Debian machine of another kind by clang, for instruction sets that its GCC does not know: with the libraries of
# GCC's cross-compiler, and the target's other libraries in LIBRARIES.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(LIBRARIES "$ENV{KILN_CROSS_LIBRARIES}" CACHE PATH "Where the target's libraries are")
set(CMAKE_FIND_ROOT_PATH "${LIBRARIES}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
