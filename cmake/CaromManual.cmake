# cmake -DCAROM=COMMAND -DOUT=FOLDER -P CaromManual.cmake: the manual pages of the command and its completion for three shells.
file(REMOVE_RECURSE "${OUT}")
file(MAKE_DIRECTORY "${OUT}/man" "${OUT}/completion")

# write(FILE ARGUMENT...): what the command prints.
function(write file)
	execute_process(COMMAND "${CAROM}" ${ARGN} OUTPUT_FILE "${OUT}/${file}" RESULT_VARIABLE status)
	if(NOT status EQUAL 0)
		file(REMOVE_RECURSE "${OUT}")
		message(FATAL_ERROR "${CAROM} ${ARGN}: ${status}")
	endif()
endfunction()

execute_process(COMMAND "${CAROM}" --help=list OUTPUT_VARIABLE names OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REPLACE "\n" ";" names "${names}")
write(man/carom.1 --help=man)
foreach(name IN LISTS names)
	string(REPLACE " " "-" page "${name}")
	string(REPLACE " " ";" words "${name}")
	write("man/carom-${page}.1" ${words} --help=man)
endforeach()
write(completion/carom --help=bash)
write(completion/_carom --help=zsh)
write(completion/carom.fish --help=fish)
