# What all targets share, and the kernels that are compiled once for each instruction set.
include(CheckCSourceCompiles)

# Language, warnings, include paths. -ffp-contract=off: else gcc and clang give other bits where the machine has fused multiply-add.
function(carom_set_defaults target)
	set_target_properties(${target} PROPERTIES
		C_STANDARD 17 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
		CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
		C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden)
	target_compile_options(${target} PRIVATE -ffp-contract=off -Wall -Wextra $<$<COMPILE_LANGUAGE:C>:-Wshadow>
		$<$<BOOL:${CAROM_WERROR}>:-Werror>)
	target_compile_definitions(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:_POSIX_C_SOURCE=200809L>)
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
set(carom_flags_scalar "")
if(NOT CAROM_SCALAR)
	if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
		carom_probe_isa(sse2 "#include <emmintrin.h>\nint main(void) { return _mm_cvtsi128_si32(_mm_setzero_si128()); }" -msse2)
		carom_probe_isa(avx2 "#include <immintrin.h>\nint main(void) { return _mm256_extract_epi32(_mm256_abs_epi32(_mm256_setzero_si256()), 0); }"
			-mavx2 -mno-fma)
		# No -mno-fma here: clang takes the fused instructions for a part of AVX-512 and would drop it. Contraction is off anyway.
		carom_probe_isa(avx512 "#include <immintrin.h>\nint main(void) { return (int)_mm256_cmp_ps_mask(_mm256_setzero_ps(), _mm256_setzero_ps(), 0); }"
			-mavx512f -mavx512vl -mavx512bw -mavx512dq)
	elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
		carom_probe_isa(neon "#include <arm_neon.h>\nint main(void) { return (int)vgetq_lane_f32(vdupq_n_f32(0), 0); }")
	endif()
endif()

# Compile files (paths below the current folder) once for each instruction set with CR_ISA set to its name, into target.
function(carom_add_kernels target)
	foreach(isa IN LISTS carom_isas)
		set(objects ${target}_${isa})
		add_library(${objects} OBJECT ${ARGN})
		carom_set_defaults(${objects})
		set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ON)
		target_include_directories(${objects} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
		target_compile_definitions(${objects} PRIVATE CR_ISA=${isa} CAROM_BUILDING $<$<BOOL:${BUILD_SHARED_LIBS}>:CAROM_SHARED>)
		target_compile_options(${objects} PRIVATE ${carom_flags_${isa}})
		target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
	endforeach()
endfunction()
