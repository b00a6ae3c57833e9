# Windows on x86-64, by clang with the options of Microsoft's compiler. There is no Windows SDK here: the library is compiled against
# declarations of our own (clang_cl_headers), and nothing is linked or run.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_C_COMPILER clang-cl-14)
set(CMAKE_C_COMPILER_TARGET x86_64-pc-windows-msvc)
set(CMAKE_C_FLAGS_INIT "-imsvc \"${CMAKE_CURRENT_LIST_DIR}/clang_cl_headers\"")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER_LAUNCHER "") # ccache 4.7 leaves no object file behind
