# aarch64 on a Debian machine of another kind: its cross-compiler, the target's libraries in LIBRARIES (as `dpkg -x`
# leaves them), and an emulator to run what comes out.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(LIBRARIES "$ENV{KILN_CROSS_LIBRARIES}" CACHE PATH "Where the target's libraries are")
set(CMAKE_FIND_ROOT_PATH "${LIBRARIES}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
