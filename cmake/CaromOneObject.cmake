# A static library shows the names of all functions that its files call in one another (cr_...), and each may clash with one of the program's.
# So the files are linked into one object (ld -r), and what is not public becomes local to it (objcopy).
# A program that uses little of the library then links all of it, unless the linker drops unused sections (--gc-sections): CAROM_HIDE_NAMES=OFF.

# carom_find_obstacle(VARIABLE): why it cannot be done here; empty where it can.
function(carom_find_obstacle variable)
	set(obstacle "")
	if(NOT CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF" AND NOT MINGW)
		set(obstacle "it was tried on ELF and MinGW alone")
	elseif(NOT CMAKE_LINKER OR NOT CMAKE_OBJCOPY)
		set(obstacle "it needs a linker and objcopy")
	elseif(CMAKE_INTERPROCEDURAL_OPTIMIZATION OR CMAKE_C_FLAGS MATCHES "-flto")
		set(obstacle "objects for link-time optimization hold no code yet")
	elseif(CMAKE_C_FLAGS MATCHES "(^| )-m(32|x32|abi)")
		set(obstacle "the linker would have to be told of a flag for another machine type")
	endif()
	set(${variable} "${obstacle}" PARENT_SCOPE)
endfunction()

# Sets CAROM_NAMES_ARE_HIDDEN: is the library static, and are its internal names to be hidden? (A shared one hides them anyway.)
set(CAROM_NAMES_ARE_HIDDEN OFF)
if(CAROM_HIDE_NAMES AND NOT BUILD_SHARED_LIBS)
	carom_find_obstacle(obstacle)
	if(obstacle STREQUAL "")
		set(CAROM_NAMES_ARE_HIDDEN ON)
	elseif(CAROM_HIDE_NAMES STREQUAL "AUTO")
		message(STATUS "The static library shows its internal names: ${obstacle}")
	else()
		message(FATAL_ERROR "CAROM_HIDE_NAMES is ${CAROM_HIDE_NAMES}, but internal names cannot be hidden here: ${obstacle}")
	endif()
endif()

# carom_join_objects(VARIABLE OBJECT...): the path of one object of them all in which only carom_... are global.
function(carom_join_objects variable)
	set(joined "${CMAKE_CURRENT_BINARY_DIR}/carom_joined_$<CONFIG>${CMAKE_C_OUTPUT_EXTENSION}")
	add_custom_command(OUTPUT "${joined}" DEPENDS ${ARGN} COMMAND_EXPAND_LISTS VERBATIM
		COMMAND "${CMAKE_LINKER}" -r -o "${joined}" ${ARGN}
		COMMAND "${CMAKE_OBJCOPY}" --wildcard "--keep-global-symbol=carom_*" "${joined}"
		COMMENT "Joining the objects of the library, hiding internal names")
	set(${variable} "${joined}" PARENT_SCOPE)
endfunction()
