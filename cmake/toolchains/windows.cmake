# Windows on x86-64, by MinGW (gcc-mingw-w64-x86-64-posix); programs run under Wine.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_CROSSCOMPILING_EMULATOR "${CMAKE_CURRENT_LIST_DIR}/run_windows.sh")
# Programs carry gcc's runtime and the thread library, so that they need no DLL but those of Windows.
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
include("${CMAKE_CURRENT_LIST_DIR}/foreign.cmake")
