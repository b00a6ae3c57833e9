# The packages that the simulation and the command need, as imported targets carom_package_NAME.
find_package(PkgConfig REQUIRED)

# carom_find_package(NAME DEBIAN_PACKAGE MODULE...): the first of the pkg-config modules that is there.
function(carom_find_package name debian_package)
	pkg_search_module(CAROM_${name} QUIET IMPORTED_TARGET ${ARGN})
	if(NOT CAROM_${name}_FOUND)
		message(FATAL_ERROR "${name} was not found (Debian: apt-get install ${debian_package}, or ./dev setup for all). "
			"It is needed by the command; -DCAROM_BUILD_TOOLS=OFF builds the library alone.")
	endif()
	add_library(carom_package_${name} INTERFACE)
	target_link_libraries(carom_package_${name} INTERFACE PkgConfig::CAROM_${name})
endfunction()

carom_find_package(ode libode-dev ode)
carom_find_package(hdf5 libhdf5-dev hdf5 hdf5-serial)
carom_find_package(cjson libcjson-dev libcjson)
carom_find_package(assimp libassimp-dev assimp)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
