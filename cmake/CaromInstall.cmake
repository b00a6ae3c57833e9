# Install: headers, library, command, and how other builds find them (find_package, pkg-config).
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/carom")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/carom" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h"
	PATTERN "lab.h" EXCLUDE)
install(TARGETS carom EXPORT carom-targets)
install(EXPORT carom-targets NAMESPACE carom:: DESTINATION "${package_folder}")
# README.md and docs/ name files, so these lie beside them under the names that they have here; but headers are where all headers are.
file(RELATIVE_PATH headers "${CMAKE_INSTALL_FULL_DOCDIR}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}/carom")
file(READ "${PROJECT_SOURCE_DIR}/README.md" readme)
string(REPLACE "](include/carom)" "](${headers})" readme "${readme}")
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/README.md" CONTENT "@readme@" @ONLY)
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/README.md")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_BINARY_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
	"${PROJECT_SOURCE_DIR}/CONTRIBUTING.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/bindings/python/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}/bindings/python"
	PATTERN "__pycache__" EXCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/packaging/paraview/carom_macro.py" DESTINATION "${CMAKE_INSTALL_DOCDIR}/packaging/paraview")
if(TARGET carom_cli)
	install(TARGETS carom_cli)
	if(TARGET carom_mpi)
		install(TARGETS carom_mpi)
	endif()
	if(TARGET carom_late)
		install(TARGETS carom_module_hdf5 carom_module_assimp LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/carom")
	endif()
	# With it pages of `carom export` find contacts. ./dev wasm makes it and puts it beside the command.
	install(FILES "${PROJECT_BINARY_DIR}/tools/carom/carom.wasm" DESTINATION "${CMAKE_INSTALL_DATADIR}/carom" OPTIONAL)
	# Where `carom bench` looks for them from its own place.
	install(DIRECTORY "${PROJECT_SOURCE_DIR}/scenes" DESTINATION "${CMAKE_INSTALL_DATADIR}/carom" FILES_MATCHING PATTERN "*.json")
	if(CAROM_MANUAL_DIR)
		install(DIRECTORY "${CAROM_MANUAL_DIR}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
		install(FILES "${CAROM_MANUAL_DIR}/completion/carom" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
		install(FILES "${CAROM_MANUAL_DIR}/completion/_carom" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
		install(FILES "${CAROM_MANUAL_DIR}/completion/carom.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
	endif()
endif()

# Programs of LAMMPS with Carom's styles, which are under the GPL, and the plug-in. Off unless asked for (CAROM_LAMMPS).
foreach(program carom_lammps carom_lmp)
	if(TARGET ${program})
		install(TARGETS ${program} COMPONENT lammps)
	endif()
endforeach()
if(TARGET caromplugin)
	install(TARGETS caromplugin LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/carom" COMPONENT lammps)
endif()

set(CAROM_PACKAGE_NEEDS_THREADS OFF) # of those who link it: a shared library brings them itself
if(CAROM_THREADS AND NOT BUILD_SHARED_LIBS)
	set(CAROM_PACKAGE_NEEDS_THREADS ON)
endif()
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/carom-config.cmake.in" "${PROJECT_BINARY_DIR}/carom-config.cmake"
	INSTALL_DESTINATION "${package_folder}")
# Before 1.0 a minor version may break its users.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/carom-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/carom-config.cmake" "${PROJECT_BINARY_DIR}/carom-config-version.cmake"
	DESTINATION "${package_folder}")

set(pc_libs_private "-lm")
if(CAROM_THREADS AND CMAKE_USE_PTHREADS_INIT)
	string(APPEND pc_libs_private " -pthread")
endif()
set(pc_cflags "")
set(pc_libs_public "")
if(BUILD_SHARED_LIBS)
	set(pc_cflags "-DCAROM_SHARED")
else()
	# Only the archive was installed: whoever links it needs what it needs, with or without --static.
	set(pc_libs_public " ${pc_libs_private}")
	set(pc_libs_private "")
endif()
# Relative to the file itself, so that cmake --install --prefix may go anywhere.
file(RELATIVE_PATH pc_up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/carom.pc.in" "${PROJECT_BINARY_DIR}/carom.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/carom.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
