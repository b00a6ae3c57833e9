#!/bin/bash
# A strip that is pulled apart: it tears, a restart goes on in equal bits, and exports hold each frame as its file has it.
source "$(dirname "$0")/common.bash"

cat > strip.json << 'END'
{
	"gravity": [0, 0, 0], "steps": 24,
	"deforming": {
		"substeps": 2,
		"movers": [{ "name": "hand", "form": "sphere", "radius": 0.02, "divisions": [8, 6], "position": [0.5, 0, 0], "motion": { "velocity": [0.9, 0, 0] } }],
		"list": [
			{
				"name": "strip", "form": "sheet", "size": [0.6, 0.2], "divisions": [12, 4], "tear_stretch": 0.15,
				"pins": [{ "upper": [-0.29, 9, 9] }, { "lower": [0.29, -9, -9], "to": "hand" }]
			},
			{ "name": "other", "form": "sheet", "size": [0.2, 0.2], "divisions": [2, 2], "position": [0, -1, 0], "pins": [{ "break_force": 500 }] }
		]
	}
}
END

"$CAROM" run strip.json --out whole --no-picture --json > whole.txt || fail "the run"
grep -Eq '"tears":[[:space:]]*[1-9]' whole.txt || fail "nothing tears: $(cat whole.txt)"
grep -Eq '"pins_broken":[[:space:]]*0,' whole.txt || fail "a pin broke: $(cat whole.txt)"
hash=$(grep -o '"hash":[[:space:]]*"[0-9a-f]*"' whole.txt)

"$CAROM" run strip.json --steps 14 --checkpoint 0 --out first --no-picture > out.txt || fail "the first part"
"$CAROM" run strip.json --restart first/checkpoint.h5 --out second --no-picture --json > second.txt || fail "the second part"
[ "$(grep -o '"hash":[[:space:]]*"[0-9a-f]*"' second.txt)" = "$hash" ] || fail "the restart has other bits"

# Files of frames have as many triangles and more and more vertices; a sweep between two of them is refused.
vertices() { grep -a '^element vertex' "$1" | tr -dc 0-9; }
triangles() { grep -a '^element face' "$1" | tr -dc 0-9; }
[ "$(vertices whole/frames/frame_000024.ply)" -gt "$(vertices whole/frames/frame_000000.ply)" ] || fail "no vertex came"
[ "$(triangles whole/frames/frame_000024.ply)" = "$(triangles whole/frames/frame_000000.ply)" ] || fail "triangles came or went"
"$CAROM" ccd whole/frames/*.ply > out.txt 2> err.txt && fail "ccd takes frames of different vertices"
grep -q 'has [0-9]* vertices, but' err.txt || fail "the message of ccd: $(cat err.txt)"

for kind in gltf glb usda html; do
	"$CAROM" export whole -o "model.$kind" > out.txt || fail "export of $kind"
done
command -v python3 > /dev/null || exit 0
python3 - << 'END' || fail "a frame of the model is not that of its file"
import re, struct, sys

def ply(path):
    data = open(path, "rb").read()
    head, body = data.split(b"end_header\n", 1)
    n, t = (int(re.search(rb"element " + what + rb" (\d+)", head).group(1)) for what in (b"vertex", b"face"))
    assert b"binary_little_endian" in head, head
    vertices = [struct.unpack_from("<3f", body, 12 * i) for i in range(n)]
    return vertices, [struct.unpack_from("<3i", body, 12 * n + 13 * i + 1) for i in range(t)]

text = open("model.usda").read()
seen = {}
for part in re.split(r"def Mesh ", text)[1:]:
    name = re.match(r'"([^"]*)"', part).group(1)
    corners = [int(x) for x in re.search(r"faceVertexIndices = \[([^\]]*)\]", part).group(1).split(",")]
    samples = re.search(r"points\.timeSamples = \{(.*?)\n\s*\}", part, re.S)
    still = re.search(r"points = \[([^\]]*)\]", part)
    rows = re.findall(r"([\d.]+): \[([^\]]*)\]", samples.group(1)) if samples else [("0", still.group(1))]
    seen[name] = corners, [[float(x) for x in re.findall(r"[-+.\de]+", row)] for _, row in rows]
names = [n for n in seen if "strip" in n]
assert len(names) == 1, list(seen)
corners, frames = seen[names[0]]
assert len(frames) == 25, len(frames)
for number in (0, 12, 24):
    vertices, faces = ply(f"whole/frames/frame_{number:06d}.ply")
    hand = len(faces) - 12 * 4 * 2 - 8
    for i in range(len(corners)):
        there = vertices[faces[hand + i // 3][i % 3]]
        here = frames[number][3 * corners[i]:3 * corners[i] + 3]
        assert max(abs(a - b) for a, b in zip(there, here)) < 1e-6, (number, i, there, here)
END
