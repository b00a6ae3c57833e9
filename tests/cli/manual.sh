#!/bin/bash
# The manual pages of the command and its completion for bash, zsh and fish: each command and each option of --help is in all of them, the
# shells complete by them, and man warns about nothing.
source "${CAROM_SOURCE:?names the repository}/tests/cli/common.bash" || exit

expect 2 err '--help=pdf: must be one of man, bash, zsh, fish, list' --help=pdf
expect 2 err '--help=list: must be one of man, bash, zsh, fish$' run --help=list
"$CAROM" --help=list > commands
for form in man bash zsh fish; do "$CAROM" --help=$form > $form; done
[ "$(sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p' <("$CAROM" --help) | wc -l)" = "$(grep -vc ' ' commands)" ] || fail "the list lacks commands"

# part COMMAND FORM: what a completion says about one command.
part() {
	case $2 in
	bash) sed -n "/^	\"$1\")\$/,/^		;;/p" bash ;;
	zsh) sed -n "/^_carom_${1// /_}()/,/^}/p" zsh ;;
	fish) grep -F "__carom_is '$1'" fish ;;
	esac
}

# Options as the help shows them: "-s --steps".
options_of() { "$CAROM" $1 --help | sed -nE 's/^  (-[a-z]|  )[, ] (--[a-z-]+).*/\1 \2/p'; }

count=0
while read -r command; do
	# shellcheck disable=SC2086
	"$CAROM" $command --help=man > page
	grep -qF "\\fBcarom $command\\fR" page || fail "the page of $command has no synopsis"
	grep -qF "carom\\-${command// /-} \\- " page || fail "the page of $command has no name"
	grep -qF "\\fB$command\\fR" man || fail "carom(1) lacks $command"
	grep -q '^"$' page && fail "the page of $command has an odd line"
	if command -v man > /dev/null && man --warnings -l page > shown 2> warnings; then
		[ ! -s warnings ] || fail "man about $command: $(cat warnings)"
	fi
	text=$(< page)
	for shell in bash zsh fish; do part "$command" $shell > part.$shell; [ -s part.$shell ] || fail "$shell lacks $command"; done
	in_bash=$(< part.bash) in_zsh=$(< part.zsh) in_fish=$(< part.fish)
	for option in $(options_of "$command"); do # without a process for each: there are many
		[[ $text == *"\\fB${option//-/\\-}\\fR"* ]] || fail "the page of $command lacks $option"
		[[ $in_bash =~ options=[^$'\n']*[\"\ ]$option[\"\ ] ]] || fail "bash: $command lacks $option"
		[[ $in_zsh =~ [{\',\)]$option[+=]*[],}[] ]] || fail "zsh: $command lacks $option"
		case $option in
		--*) [[ $in_fish == *" -l ${option#--} "* ]] || fail "fish: $command lacks $option" ;;
		*) [[ $in_fish == *" -s ${option#-} "* ]] || fail "fish: $command lacks $option" ;;
		esac
		count=$((count + 1))
	done
done < commands
[ $count -gt 150 ] || fail "only $count options were compared"

# bash: words, values, values behind an equals sign, files, and the command of two words.
cat > ask.bash <<'END'
source ./bash
ask() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _carom; echo "${COMPREPLY[*]}"; }
ask "$@"
END
asked() { local wanted=$1; shift; same "bash: $*" "$(bash ask.bash carom "$@")" "$wanted"; }
mkdir folder
touch folder/a.json scene.json
asked "replay render" re
asked "--version" --v
asked "--steps --snapshots --simd" run --s
asked "scalar sse2" run x --simd s
asked "scalar sse2" run x --simd = s
asked "" run --steps ""
asked "folder" run --out f
asked "scene.json" run sc
asked "--max-radius" make spheres --max
asked "" make --max
asked "spheres-table-1" bench spheres-t
"$CAROM" make --list --json | grep -q '"name"' || fail "there are no shapes"
[ -n "$(bash ask.bash carom make "")" ] || fail "bash completes no shape"

if command -v fish > /dev/null; then
	export HOME=$work
	suggest() { fish --no-config -c "source ./fish; complete -C 'carom $1'" | cut -f 1 | tr '\n' ' '; }
	same "fish: options" "$(suggest 'run --sn')" "--snapshots "
	same "fish: values" "$(suggest 'run --simd=sc')" "--simd=scalar "
	same "fish: commands" "$(suggest 'ex')" "export "
	same "fish: two words" "$(suggest 'make spheres --max')" "--max-radius "
else
	echo "fish is not there: its completion was read, not run"
fi
if command -v zsh > /dev/null; then
	# Each argument of _arguments has a form that zsh takes.
	zsh -fc '_describe() { : }; _arguments() { print -rl -- "$@" }; source ./zsh >/dev/null; _carom_replay; _carom_make_spheres' > specs
	grep -qvE -- '^-s$|^(\*|\([-a-z ]+\))?--?[a-z-]+[+=]?\[([^]\\[]|\\.)*\](:([^:\\]|\\.)*:.*)?$|^\*:argument:' specs &&
		fail "zsh: $(grep -vE -- '^-s$|^(\*|\([-a-z ]+\))?--?[a-z-]+[+=]?\[([^]\\[]|\\.)*\](:([^:\\]|\\.)*:.*)?$|^\*:argument:' specs)"
	grep -qF -- '(-m --mesh)--mesh=[mesh of the bodies (needed for .rbt.gz)]:FILE:_files' specs || fail "zsh: $(head specs)"
else
	echo "zsh is not there: its completion was read, not run"
fi
echo "$count options in four forms"
