# Writes FILE, a header with the commit of SOURCE, COMPILER and FLAGS; touches it only when something changed.
find_package(Git QUIET)
set(commit "unknown")
if(GIT_FOUND)
	execute_process(COMMAND ${GIT_EXECUTABLE} -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
		OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
	if(NOT failed)
		set(commit "${answer}")
	endif()
endif()
file(CONFIGURE OUTPUT "${FILE}" CONTENT "#define BUILD_COMMIT \"${commit}\"
#define BUILD_COMPILER \"${COMPILER}\"
#define BUILD_FLAGS \"${FLAGS}\"
" @ONLY)
