#!/bin/bash
# Pages of carom export, and carom run --view, in Chromium and Firefox, whichever there are (tests/browser/shown.mjs). Skipped where there is
# neither, or no Node, and under sanitizers, which a browser does not see.
source "$(dirname "$0")/common.bash"
source "$CAROM_SOURCE/tests/cli/export_scenes.bash"

skip() { echo "skipped: $*"; exit 77; }
[ -z "${CAROM_SANITIZED:-}" ] || skip "the pages are looked at in an ordinary build"
browsers=$(browsers)
[ -n "$browsers" ] || skip "there is no browser (Debian: apt-get install chromium, or firefox-esr xvfb)"
command -v node > /dev/null || skip "there is no node (Debian: apt-get install nodejs)"
export_scenes bodies cloth spheres many
"${RECORD_CALLS:?is the path of the program that records}" calls.rec > recorded && "$CAROM" export calls.rec -o calls.html 2> err || fail "calls: $(cat err)"
for name in bodies cloth spheres; do "$CAROM" export $name -o $name.html 2> err || fail "$name: $(cat err)"; done
"$CAROM" run bodies.json --steps 70 --out long --no-picture > run.out 2> run.err || fail "long does not run: $(cat run.err)"
"$CAROM" export long -o long.html 2> err || fail "long: $(cat err)"
sed 's/"position": \[3, 0.3, 0\]/"position": [3, 0.6, 0]/' bodies.json > moved.json
"$CAROM" run moved.json --out moved --contacts --no-picture > run.out 2> run.err || fail "moved does not run: $(cat run.err)"
"$CAROM" export bodies moved -o two.html 2> err || fail "two: $(cat err)"
"$CAROM" export bodies bodies -o same.html 2> err || fail "same: $(cat err)"
"$CAROM" export many --max-mb 0.5 -o thin.html 2> err || fail "thin: $(cat err)"
sed 's/"steps": 4/"steps": 100000000/; s/"position": \[0, 3, 0\] }/"position": [0, 3, 0] }, { "shape": "box", "half_extents": [1, 1, 1], "position": [0, 0, 0], "kind": "static" }, { "shape": "sphere", "radius": 0.5, "position": [0, 1.5, 0] }/' all.json > live.json
# shellcheck disable=SC2086 # a word for each
node "$CAROM_SOURCE/tests/browser/shown.mjs" "$work" "$CAROM" live.json $browsers
