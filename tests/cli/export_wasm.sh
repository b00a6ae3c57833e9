#!/bin/bash
# The npm package in Node, its recordings in the command, and pages whose contacts it finds again: equal, bit for bit, to those that the command
# finds. Skipped unless ./dev wasm has made the module. CAROM_PACKAGE: its folder.
source "$(dirname "$0")/common.bash"
source "$CAROM_SOURCE/tests/cli/export_scenes.bash"

skip() { echo "skipped: $*"; exit 77; }
package=${CAROM_PACKAGE:-$CAROM_SOURCE/build/wasm-package/package}
[ -z "${CAROM_SANITIZED:-}" ] || skip "an ordinary build does this"
[ -s "$package/carom.wasm" ] || skip "there is no $package/carom.wasm: ./dev wasm makes it"
command -v node > /dev/null || skip "there is no node (Debian: apt-get install nodejs)"
export_scenes
"$CAROM" run "$CAROM_SOURCE/scenes/convex.json" --steps 40 --out convex --no-picture > run.out 2> run.err || fail "convex does not run: $(cat run.err)"
for name in bodies convex; do "$CAROM" export $name --module "$package/carom.wasm" --checks 8 -o $name.html 2> err || fail "$name: $(cat err)"; done
node "$CAROM_SOURCE/tests/wasm/package.mjs" "$package" bodies.html convex.html

# Worlds with cloth, solids and spheres: what they record the command replays, hash for hash, and the other way about.
node "$CAROM_SOURCE/tests/wasm/layouts.mjs" "$package" "$CAROM_SOURCE"
expect 0 out '.' replay convex/recording.h5 --record convex_calls.rec
node "$CAROM_SOURCE/tests/wasm/bundles.mjs" "$package" ${CAROM_BUNDLERS:+"$CAROM_BUNDLERS"} # a folder node_modules with bundlers in it
node "$CAROM_SOURCE/tests/wasm/misuse.mjs" "$package"
node "$CAROM_SOURCE/tests/wasm/columns.mjs" "$package"
node "$CAROM_SOURCE/tests/wasm/queries.mjs" "$package"
node "$CAROM_SOURCE/tests/wasm/shapes.mjs" "$package" "$work"
cube cube.obj 0
expect 0 out '.' bake cube.obj -o cube.cmesh
same "baked meshes" "$(cksum < cube.cmesh)" "$(cksum < cube_here.cmesh)"
python=$(dirname "$CAROM")/../../bindings/python
if [ -e "$python/carom/_carom.abi3.so" ]; then /usr/bin/python3 "$CAROM_SOURCE/tests/wasm/native_queries.py" "$python" queries.json; fi
if command -v tsc > /dev/null; then
	cp "$CAROM_SOURCE/tests/wasm/types.ts" . && cp "$package/carom.d.ts" . && tsc --noEmit --strict --target es2020 --module esnext --moduleResolution node types.ts || fail "the types are wrong"
	tsc --noEmit --strict --exactOptionalPropertyTypes --target es2022 --lib es2022 --module nodenext --moduleResolution nodenext types.ts || fail "the types need lib dom"
fi
node "$CAROM_SOURCE/tests/wasm/world.mjs" "$package" "$work" convex_calls.rec
while read -r name hash; do expect 0 out "with the recorded results, hash $hash" replay "$name.rec"; done < hashes.txt
same "recordings replayed" "$(wc -l < hashes.txt)" 5

expect 1 err 'bodies.json: is no module of WebAssembly' export bodies --module bodies.json -o page.html
expect 1 err 'nowhere.wasm' export bodies --module nowhere.wasm -o page.html
[ ! -e page.html ] || fail "a failure leaves a page"

# In a browser: the layers and the check of a frame.
browsers=$(browsers)
[ -n "$browsers" ] || { echo "without a browser: the check is not tried in a page"; exit 0; }
for browser in $browsers; do node "$CAROM_SOURCE/tests/browser/detector.mjs" "$browser" "$work"; done

# The playground.
node "$CAROM_SOURCE/bindings/wasm/playground/build.mjs" "$package/carom.wasm" playground.html
for browser in $browsers; do node "$CAROM_SOURCE/tests/browser/playground.mjs" "$browser" "$work/playground.html"; done
