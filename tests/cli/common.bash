# What the scripts of the command line tests share. Each runs in an empty folder; CAROM is the path of the command.
set -euo pipefail
: "${CAROM:?is the path of the command}"

script=$(basename "$0")
trap 'echo "$script: line $LINENO ended with $?" >&2' ERR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() { echo "$script: $*" >&2; exit 1; }

# expect CODE STREAM PATTERN ARGUMENT...: carom with these arguments must end with this code and print a line that matches the
# extended regular expression on that stream (out or err). A failure prints on stdout only with --json, and then an object.
expect() {
	local code=$1 stream=$2 pattern=$3 status=0 words
	shift 3
	words=" $*"
	words=${words%% -- *}
	"$CAROM" "$@" > out 2> err || status=$?
	[ "$status" = "$code" ] || fail "exit code $status instead of $code: carom $* ($(head -c 600 err))"
	grep -qE -- "$pattern" "$stream" || fail "no '$pattern' on std$stream: carom $* ($(head -c 600 "$stream"))"
	if [ "$code" != 0 ] && [[ "$words " = *" --json "* ]]; then
		grep -q '^[{]' out || fail "a failure with --json printed no object: carom $*"
	else
		[ "$code" = 0 ] || [ ! -s out ] || fail "a failure printed on stdout: carom $*"
	fi
	[ "$code" != 1 ] || grep -q '^carom: error: ' err || fail "the message does not begin with 'carom: error: ': $(cat err)"
	[ "$code" != 2 ] || grep -q '^Try `carom' err || fail "wrong use does not point to the help: $(cat err)"
}

# wait_for PROCESS COMMAND...: until the command succeeds, such as a test of a file. The process in the background must live until then.
wait_for() {
	local process=$1
	shift
	until "$@"; do
		kill -0 "$process" 2> /dev/null || "$@" || fail "a command in the background has ended before: $*"
		sleep 0.02
	done
}

# has_lines FILE COUNT: has a file as many lines, or more?
has_lines() { [ -e "$1" ] && [ "$(wc -l < "$1")" -ge "$2" ]; }

# field NAME FILE: the value of a field of a JSON file that was printed a field a line.
field() { sed -nE "s/^[[:space:]]*\"$1\":[[:space:]]*\"?([^\",]*)\"?,?\$/\\1/p" "$2" | head -n 1; }

# same WHAT A B
same() { [ "$2" = "$3" ] || fail "$1: $2 instead of $3"; }

# cube FILE X: an OBJ cube of side 2 with its middle at x = X.
cube() {
	local s x y z
	for s in "-1 -1 -1" "1 -1 -1" "1 1 -1" "-1 1 -1" "-1 -1 1" "1 -1 1" "1 1 1" "-1 1 1"; do
		read -r x y z <<< "$s"
		echo "v $((x + $2)) $y $z"
	done > "$1"
	printf 'f %s\n' "1 4 3 2" "5 6 7 8" "1 2 6 5" "2 3 7 6" "3 4 8 7" "4 1 5 8" >> "$1"
}
