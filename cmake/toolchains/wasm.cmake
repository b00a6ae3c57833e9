# WebAssembly (32 bits, WASI), by clang and Debian's wasi-libc; programs run under Node. Scalar kernels, one thread.
set(CMAKE_SYSTEM_NAME Generic) # CMake 3.25 knows no WASI
set(CMAKE_SYSTEM_PROCESSOR wasm32)
# clang 16 where it is installed: only from it on are vectors written by hand right (src/math/simd.h).
find_program(CAROM_WASM_CLANG NAMES clang-16 clang)
set(CMAKE_C_COMPILER "${CAROM_WASM_CLANG}")
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_AR llvm-ar)
set(CMAKE_RANLIB llvm-ranlib)
set(CMAKE_EXECUTABLE_SUFFIX_C .wasm)
# With threads of its own, Node 20 dies by a segmentation fault at the end of one run in ten; while it marks garbage in small steps, it dies
# when a program asks for more memory.
set(CMAKE_CROSSCOMPILING_EMULATOR node --no-warnings --single-threaded --no-incremental-marking "${CMAKE_CURRENT_LIST_DIR}/run_wasm.mjs")
# The tests put meshes of some hundred kilobytes on the stack.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-z,stack-size=8388608")
include("${CMAKE_CURRENT_LIST_DIR}/foreign.cmake")
