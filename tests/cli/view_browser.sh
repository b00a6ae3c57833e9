#!/bin/bash
# carom run --view in Chromium and Firefox (tests/browser/live.mjs): the page follows the run, can go back, and outlives it. Skipped where there
# is neither, or no Node, and under sanitizers, which a browser does not see.
source "$(dirname "$0")/common.bash"
source "$CAROM_SOURCE/tests/cli/export_scenes.bash"

skip() { echo "skipped: $*"; exit 77; }
[ -z "${CAROM_SANITIZED:-}" ] || skip "the pages are looked at in an ordinary build"
browsers=$(browsers)
[ -n "$browsers" ] || skip "there is no browser (Debian: apt-get install chromium, or firefox-esr xvfb)"
command -v node > /dev/null || skip "there is no node (Debian: apt-get install nodejs)"
export_scenes all
sed 's/"steps": 4/"steps": 100000000/; s/"position": \[0, 3, 0\] }/"position": [0, 3, 0] }, { "shape": "box", "half_extents": [1, 1, 1], "position": [0, 0, 0], "kind": "static" }, { "shape": "sphere", "radius": 0.5, "position": [0, 1.5, 0] }/' all.json > live.json
for browser in $browsers; do node "$CAROM_SOURCE/tests/browser/live.mjs" "$browser" "$CAROM" live.json; done
