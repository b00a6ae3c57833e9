#!/bin/bash
# carom run --view in a headless Chromium (tests/browser/live.mjs): the page follows the run, can go back, and outlives it. Skipped where there
# is no browser or no Node, and under sanitizers, which the browser does not see.
source "$(dirname "$0")/common.bash"
source "$CAROM_SOURCE/tests/cli/export_scenes.bash"

skip() { echo "skipped: $*"; exit 77; }
[ -z "${CAROM_SANITIZED:-}" ] || skip "the pages are looked at in an ordinary build"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "there is no chromium (Debian: apt-get install chromium)"
command -v node > /dev/null || skip "there is no node (Debian: apt-get install nodejs)"
export_scenes all
sed 's/"steps": 4/"steps": 100000000/; s/"position": \[0, 3, 0\] }/"position": [0, 3, 0] }, { "shape": "box", "half_extents": [1, 1, 1], "position": [0, 0, 0], "kind": "static" }, { "shape": "sphere", "radius": 0.5, "position": [0, 1.5, 0] }/' all.json > live.json
node "$CAROM_SOURCE/tests/browser/live.mjs" "$chromium" "$CAROM" live.json
