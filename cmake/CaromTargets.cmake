# What all targets share, and the kernels that are compiled once for each instruction set.
include(CheckCSourceCompiles)

# The flags of every target, in the words of the compiler: gcc, clang (Apple's too), or clang that takes the options of Microsoft's.
# Without fused multiply-add, else compilers give other bits where the machine has it.
if(CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang|AppleClang)$" AND NOT CMAKE_C_COMPILER_FRONTEND_VARIANT STREQUAL "MSVC")
	set(carom_result_flags -ffp-contract=off)
	# gcc 12.2 leaves out the roundings of (double)(float)x where it joins some of them to a vector of a basic block. Then
	# collide.hulls_of_doubles_are_those_of_their_floats fails.
	if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
		list(APPEND carom_result_flags -fno-tree-slp-vectorize)
	endif()
	set(carom_options ${carom_result_flags} -Wall -Wextra $<$<COMPILE_LANGUAGE:C>:-Wshadow> $<$<BOOL:${CAROM_WERROR}>:-Werror>)
	set(carom_definitions $<$<COMPILE_LANGUAGE:C>:_POSIX_C_SOURCE=200809L>)
elseif(CMAKE_C_COMPILER_ID STREQUAL "Clang")
	set(carom_options /clang:-ffp-contract=off /W4 $<$<COMPILE_LANGUAGE:C>:-Wshadow> $<$<BOOL:${CAROM_WERROR}>:/WX>)
	set(carom_definitions _CRT_SECURE_NO_WARNINGS)
else()
	message(FATAL_ERROR "Carom is compiled by gcc or clang, on Windows by MinGW's gcc or clang-cl (Visual Studio: -T ClangCL), "
		"not by ${CMAKE_C_COMPILER_ID}: nothing is known of the flags that make its results the same bits.")
endif()
# One compilation for several machines would get the kernels of one of them only.
list(LENGTH CMAKE_OSX_ARCHITECTURES architecture_count)
if(architecture_count GREATER 1 AND NOT CAROM_SCALAR)
	message(FATAL_ERROR "CMAKE_OSX_ARCHITECTURES is \"${CMAKE_OSX_ARCHITECTURES}\": kernels are built for one architecture at a time. "
		"Build Carom once for each and join the libraries with lipo, or set CAROM_SCALAR=ON.")
endif()

# Language, warnings, visibility.
function(carom_set_defaults target)
	set_target_properties(${target} PROPERTIES
		C_STANDARD 17 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
		CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
		C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden)
	target_compile_options(${target} PRIVATE ${carom_options})
	target_compile_definitions(${target} PRIVATE ${carom_definitions})
endfunction()

# carom_add_part(NAME SOURCE...): a static library of the surroundings (sim/, io/, scene/, view/), a folder each. Its headers are included
# by their path from the root. It is not installed.
function(carom_add_part name)
	add_library(${name} STATIC ${ARGN})
	carom_set_defaults(${name})
	if(CAROM_PYTHON)
		set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON) # carom/_sim.abi3.so links them
	endif()
	target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}" PRIVATE "${PROJECT_SOURCE_DIR}/include")
endfunction()

# Readers and writers of mesh files, and the meshes that they fill, for builds without packages: the Python package and LAMMPS' styles.
set(carom_plain_readers "")
foreach(file bindings/foreign_absent io/baked_file io/face_list io/input_file io/mesh_file io/mesh_text io/obj_file io/off_file io/output_file io/ply_file
	io/ply_reader io/polygon io/stl_file sim/base/rotations sim/base/sim_error sim/shapes/form sim/shapes/shape_blocks sim/shapes/shape_gear
	sim/shapes/shape_lumpy sim/shapes/shape_sphere sim/shapes/shape_tube sim/shapes/shapes)
	list(APPEND carom_plain_readers "${PROJECT_SOURCE_DIR}/${file}.c")
endforeach()

# Most bytes of stack that one function of the library may take of CAROM_STACK_BYTES (carom/base.h), in an optimized build.
# The test "stack" measures whole calls.
set(CAROM_MAX_FRAME 20480)
function(carom_limit_frames target)
	target_compile_options(${target} PRIVATE
		$<$<AND:$<CONFIG:Release,RelWithDebInfo>,$<COMPILE_LANG_AND_ID:C,GNU,Clang>>:-Wframe-larger-than=${CAROM_MAX_FRAME}>)
endfunction()

# carom_probe_isa(ISA INTRINSIC_PROGRAM FLAG...): append ISA to carom_isas and set carom_flags_ISA when the compiler takes the flags.
macro(carom_probe_isa isa program)
	set(CMAKE_REQUIRED_FLAGS "${ARGN}")
	string(REPLACE ";" " " CMAKE_REQUIRED_FLAGS "${CMAKE_REQUIRED_FLAGS}")
	check_c_source_compiles("${program}" CAROM_COMPILER_HAS_${isa})
	unset(CMAKE_REQUIRED_FLAGS)
	if(CAROM_COMPILER_HAS_${isa})
		list(APPEND carom_isas ${isa})
		set(carom_flags_${isa} ${ARGN})
	endif()
endmacro()

set(carom_isas scalar)
set(CAROM_SCALAR_OPTIONS "" CACHE STRING "Further options of the compiler for the scalar kernels")
set(carom_flags_scalar ${CAROM_SCALAR_OPTIONS})
if(NOT CAROM_SCALAR)
	# The compiler is asked what it compiles for: CMAKE_SYSTEM_PROCESSOR is this machine's on macOS, whatever CMAKE_OSX_ARCHITECTURES says.
	set(on_x86_64 "#if !defined(__x86_64__) && !defined(_M_X64)\n#error not x86-64\n#endif\n#include <immintrin.h>\n")
	carom_probe_isa(sse2 "${on_x86_64}int main(void) { return _mm_cvtsi128_si32(_mm_setzero_si128()); }" -msse2)
	carom_probe_isa(avx2 "${on_x86_64}int main(void) { return _mm256_extract_epi32(_mm256_abs_epi32(_mm256_setzero_si256()), 0); }"
		-mavx2 -mno-fma -mbmi -mbmi2)
	# No -mno-fma here: clang takes the fused instructions for a part of AVX-512 and would drop it. Contraction is off anyway.
	carom_probe_isa(avx512 "${on_x86_64}int main(void) { return (int)_mm256_cmp_ps_mask(_mm256_setzero_ps(), _mm256_setzero_ps(), 0); }"
		-mavx512f -mavx512vl -mavx512bw -mavx512dq -mbmi -mbmi2)
	# Only 64-bit ARM divides and takes roots of whole vectors.
	carom_probe_isa(neon "#include <arm_neon.h>\nint main(void) { return (int)vgetq_lane_f32(vsqrtq_f32(vdupq_n_f32(0)), 0); }")
endif()

# Kernels of the library may be fewer than the compiler can make, to build sooner. Tests of the SIMD wrapper itself have all.
set(carom_all_isas ${carom_isas})
set(CAROM_KERNELS "" CACHE STRING "Instruction sets of the kernels beside scalar ones; empty: all that the compiler has")
if(CAROM_KERNELS)
	foreach(isa IN LISTS carom_all_isas)
		if(NOT isa IN_LIST CAROM_KERNELS AND NOT isa STREQUAL "scalar")
			list(REMOVE_ITEM carom_isas ${isa})
		endif()
	endforeach()
endif()

# Compile files (paths below the current folder) once for each instruction set with CR_ISA set to its name; NAME_objects gets all of them,
# and NAME_kernel_targets the targets that make them.
function(carom_add_kernels name)
	set(all "")
	set(targets "")
	foreach(isa IN LISTS carom_isas)
		set(objects ${name}_${isa})
		add_library(${objects} OBJECT ${ARGN})
		carom_set_defaults(${objects})
		carom_limit_frames(${objects})
		set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ON)
		target_include_directories(${objects} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
		target_compile_definitions(${objects} PRIVATE CR_ISA=${isa} CAROM_BUILDING $<$<BOOL:${BUILD_SHARED_LIBS}>:CAROM_SHARED>)
		target_compile_options(${objects} PRIVATE ${carom_flags_${isa}})
		# Lanes of the scalar set are plain loops, which that pass makes vectors of. Kernels round no double to float and back.
		if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
			target_compile_options(${objects} PRIVATE -ftree-slp-vectorize)
		endif()
		list(APPEND all $<TARGET_OBJECTS:${objects}>)
		list(APPEND targets ${objects})
	endforeach()
	set(${name}_kernel_targets "${targets}" PARENT_SCOPE)
	set(${name}_objects "${all}" PARENT_SCOPE)
endfunction()
