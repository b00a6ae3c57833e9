#!/bin/bash
# A page's program prints what the page says: its blocks "text", one after the other. Usage: check_output.sh PROGRAM PAGE
set -u
actual=$("$1") || { echo "$2: its program fails"; exit 1; }
expected=$(awk '/^```/ { inside = $0 == "```text"; next } inside' "$2")
diff <(printf '%s\n' "$expected") <(printf '%s\n' "$actual") && echo "$2: the output is as shown"
