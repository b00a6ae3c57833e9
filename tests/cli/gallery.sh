#!/bin/bash
# The gallery (./dev gallery): pictures and figures of scenes on one page; a scene that fails is named, one that takes long is cut.
. "$(dirname "$0")/common.bash"
command -v python3 >/dev/null || { echo "gallery.sh: no python3"; exit 77; }
[ -z "${CAROM_SANITIZED:-}" ] || { echo "gallery.sh: it runs the command as other scripts do; release runs it"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
gallery=("$CAROM_SOURCE/packaging/gallery/build.py" "$CAROM")

mkdir scenes
cat > scenes/drop.json <<'END'
{ "description": "A ball & a <box> drop.", "steps": 30, "bodies": { "planes": [{}], "list": [
	{ "shape": "sphere", "radius": 0.5, "position": [0, 2, 0] }, { "shape": "box", "half_extents": [0.5, 0.5, 0.5], "position": [2, 2, 0] }] } }
END
sed 's/"steps": 30/"steps": 100000000/' scenes/drop.json > scenes/endless.json

# Three pictures of a finished run, its words escaped, its figures.
python3 "${gallery[@]}" scenes page --only drop || fail "a good scene failed"
for number in 1 2 3; do
	[ "$(head -c 8 page/runs/drop/$number.png | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || fail "picture $number is no PNG"
	grep -q "runs/drop/$number.png" page/index.html || fail "picture $number is not on the page"
done
cmp -s page/runs/drop/1.png page/runs/drop/3.png && fail "nothing moves in the pictures"
grep -qF 'A ball &amp; a &lt;box&gt; drop.' page/index.html || fail "the description is not on the page"
grep -qE '>30 of 30 steps. 2 bodies; ' page/index.html || fail "the figures are not on the page"

# A finished run is taken as it is; one of another scene file is not.
touch -d '2001-01-01' page/runs/drop/summary.json
python3 "${gallery[@]}" scenes page --only drop
[ "$(date -r page/runs/drop/summary.json +%Y)" = 2001 ] || fail "a finished run was run again"
sed -i 's/"steps": 30/"steps": 31/' scenes/drop.json
python3 "${gallery[@]}" scenes page --only drop
grep -q '31 of 31 steps' page/index.html || fail "the run of an older scene file was taken"

# One that takes too long is interrupted, and the page says how far it came.
python3 "${gallery[@]}" scenes page --only endless --seconds 2 || fail "a scene that takes long failed"
grep -qE '>[0-9]+ of 100000000 steps' page/index.html || fail "the page does not say how far it came"

# A scene that is wrong is named, on the page too, and the others are drawn.
sed 's/"radius": 0.5/"radius": -1/' scenes/drop.json > scenes/bad.json
if python3 "${gallery[@]}" scenes page --only bad --only drop 2> err; then fail "a wrong scene passed"; fi
grep -q 'failed: bad$' err || fail "the wrong scene is not named: $(<err)"
grep -q 'class="failed".*radius' page/index.html || fail "the page does not say what is wrong"
grep -q 'runs/drop/3.png' page/index.html || fail "the other scene is missing"
if python3 "${gallery[@]}" scenes page --only nowhere 2> err; then fail "a scene that is not there passed"; fi
grep -q 'nowhere: scenes has no such scene' err || fail "not told of a scene that is not there: $(<err)"
if python3 "$CAROM_SOURCE/packaging/gallery/build.py" no_carom scenes page 2> err; then fail "a command that is not there passed"; fi
grep -q 'no_carom: no such program' err || fail "not told of a command that is not there: $(<err)"
