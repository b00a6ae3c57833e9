# The program of a page of docs/guide, in C: blocks "c global" at file scope, blocks "c" in main, in their order. Blocks "c fragment" need
# another program around them, and are left out.
/^```/ {
	mode = $0 == "```c" ? "main" : $0 == "```c global" ? "global" : ""
	if (mode != "")
		text[mode] = text[mode] "#line " NR + 1 " \"" FILENAME "\"\n"
	next
}
mode != "" { text[mode] = text[mode] $0 "\n" }
END {
	print "#include \"preamble.h\"\n"
	printf "%s\nint main(void)\n{\n%s\n\treturn 0;\n}\n", text["global"], text["main"]
}
