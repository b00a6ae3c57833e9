# Graphics devices through Vulkan (src/vulkan). To build them takes the headers of Vulkan and glslangValidator, which makes SPIR-V of the
# kernels; the loader and its drivers are looked for when a program runs. Sets CAROM_HAS_VULKAN and carom_shaders (the headers that are made).
include(CheckIncludeFile)

# carom_find_vulkan_obstacle(VARIABLE): why it cannot be built here; empty where it can.
function(carom_find_vulkan_obstacle variable)
	set(obstacle "")
	find_program(CAROM_GLSLANG glslangValidator)
	find_path(CAROM_VULKAN_INCLUDE vulkan/vulkan_core.h)
	mark_as_advanced(CAROM_GLSLANG CAROM_VULKAN_INCLUDE)
	check_include_file(dlfcn.h CAROM_HAVE_DLFCN)
	if(CMAKE_CROSSCOMPILING)
		set(obstacle "it was tried on the machine of the build alone")
	elseif(NOT CAROM_HAVE_DLFCN)
		set(obstacle "it needs dlopen")
	elseif(NOT CAROM_GLSLANG)
		set(obstacle "glslangValidator was not found (Debian: glslang-tools)")
	elseif(NOT CAROM_VULKAN_INCLUDE)
		set(obstacle "vulkan/vulkan_core.h was not found (Debian: libvulkan-dev)")
	endif()
	set(${variable} "${obstacle}" PARENT_SCOPE)
endfunction()

set(CAROM_HAS_VULKAN OFF)
if(CAROM_VULKAN)
	carom_find_vulkan_obstacle(obstacle)
	if(obstacle STREQUAL "")
		set(CAROM_HAS_VULKAN ON)
	elseif(CAROM_VULKAN STREQUAL "AUTO")
		message(STATUS "Built without graphics devices: ${obstacle}")
	else()
		message(FATAL_ERROR "CAROM_VULKAN is ${CAROM_VULKAN}, but graphics devices cannot be built here: ${obstacle}")
	endif()
endif()

# carom_add_shader(NAME FILE [DEFINITION...]): the kernel NAME of the file shaders/FILE.comp, as an array of words in carom_NAME.spv.h.
set(carom_shaders "")
macro(carom_add_shader name file)
	set(folder "${PROJECT_SOURCE_DIR}/src/vulkan/shaders")
	set(header "${PROJECT_BINARY_DIR}/shaders/carom_${name}.spv.h")
	file(GLOB included "${folder}/*.glsl")
	file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/shaders")
	add_custom_command(OUTPUT "${header}" DEPENDS "${folder}/${file}.comp" ${included} VERBATIM
		COMMAND "${CAROM_GLSLANG}" --quiet -V --target-env vulkan1.2 ${ARGN} --vn carom_${name}_spv -o "${header}" "${folder}/${file}.comp"
		COMMENT "Kernel ${name}")
	list(APPEND carom_shaders "${header}")
endmacro()
