# cmake -DOUTPUT=FILE.c -DFILES=a;b -P CaromEmbed.cmake: write the files as arrays of bytes, web_file_NAME with web_file_NAME_size, where
# NAME is the file's name with _ for the dot.
set(text "// Made by cmake/CaromEmbed.cmake.\n#include <stddef.h>\n\n#include \"web/viewer_files.h\"\n")
foreach(path IN LISTS FILES)
	get_filename_component(name "${path}" NAME)
	string(MAKE_C_IDENTIFIER "${name}" name)
	file(READ "${path}" hex HEX)
	string(LENGTH "${hex}" length)
	math(EXPR size "${length} / 2")
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
	string(APPEND text "const unsigned char web_file_${name}[] = { ${hex} 0 };\nconst size_t web_file_${name}_size = ${size};\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}")
