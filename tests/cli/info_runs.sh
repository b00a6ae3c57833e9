#!/bin/bash
# carom info of scenes, of a run's folder, and of the files that a run leaves: what it tells is what the run has.
source "${CAROM_SOURCE:?names the repository}/tests/cli/common.bash" || exit

cat > scene.json << 'END'
{
	"name": "mix", "time_step": 0.01, "steps": 20,
	"meshes": { "ring": { "shape": "torus", "triangles": 200, "fit": [1, 1, 1] }, "gone": { "file": "gone.obj" }, "cube": { "file": "cube.obj" } },
	"bodies": { "planes": [{}], "grids": [{ "mesh": "ring", "count": [2, 2, 1], "position": [0, 0.3, 0] }], "sources": [{ "shape": "sphere", "radius": 0.1, "start": 0.05 }] },
	"deforming": { "movers": [{ "form": "sphere", "radius": 0.3, "divisions": [12, 8], "position": [4, 1, 0] }],
		"list": [{ "form": "sheet", "size": [0.8, 0.8], "divisions": [12, 12], "position": [4, 1.33, 0] }] },
	"spheres": { "substeps": 20, "box": { "lower": [-3, 0, -1], "upper": [-1, 2, 1] }, "material": { "density": 500, "stiffness": 2000 },
		"list": [{ "random": 200, "radius": [0.05, 0.08] }] },
	"output": { "frames": 10, "snapshots": 10 }
}
END
cube cube.obj 0
expect 0 out '^scene.json: a scene' info scene.json
expect 0 out '^  bodies +dynamic 5, kinematic 0, static 1, from_sources 1, shapes 6' info scene.json
expect 0 out '^  deforming +bodies 1, movers 1, obstacles 0, triangles 480, substeps 1' info scene.json
expect 0 out '^  spheres +count 200, sources 1' info scene.json
expect 0 out '^ +name gone, from file, file .*gone.obj, error .*gone.obj' info scene.json
expect 0 out '"kind":[[:space:]]*"scene"' info scene.json --json
same steps "$(field steps out)" 20
grep -q '"triangles":[[:space:]]*12$' out || fail "the cube's triangles are not counted: $(cat out)"
[ "$(field memory_estimate out)" -gt 8000000 ] || fail "no memory: $(cat out)"
expect 0 out '^/dev/stdin: a scene' info /dev/stdin < scene.json
# An estimate is of the size that a run takes: measured where there is /usr/bin/time.
if [ -x /usr/bin/time ] && [ -z "${CAROM_SANITIZED:-}" ]; then
	for scene in "freefall --count 300000" "cloth_ball"; do
		read -r name options <<< "$scene"
		sed "s/\"random\": [0-9]*/\"random\": 300000/" "$CAROM_SOURCE/scenes/$name.json" > measured.json
		"$CAROM" info measured.json --json > out
		/usr/bin/time -f %M -o peak "$CAROM" run measured.json $options --steps 1 --threads 1 > /dev/null 2>&1 || fail "$name does not run"
		awk -v kb="$(cat peak)" -v bytes="$(field memory_estimate out)" 'BEGIN { part = 1024 * kb / bytes; exit !(part > 0.5 && part < 2) }' ||
			fail "$name takes $(cat peak) KiB, and $(field memory_estimate out) bytes are told"
	done
fi
sed 's/"steps"/"stebs"/' scene.json > bad.json
expect 1 err 'bad.json:2: field "stebs": .*did you mean "steps"' info bad.json
echo '{ "name": ' > cut.json
expect 1 err 'cut.json:' info cut.json

# What the run leaves.
sed 's/, "gone": { "file": "gone.obj" }//' scene.json > run.json
expect 0 out . run run.json --out run --no-picture --checkpoint 0
expect 0 out '^  rigid bodies +6, frames: 20, from 0 s to 0.19 s$' info run
expect 0 out '^  deforming +[0-9]+ vertices, frames: 3, from 0 s' info run
expect 0 out '^  spheres +200, frames: 3, from 0 s to 0.2 s$' info run
expect 0 out '"kind":[[:space:]]*"run"' info run --json
same "hash of the run" "$(field hash out)" "$(tail -5 run/summary.json | sed -n 's/.*"hash":[^"]*"\([0-9a-f]*\)".*/\1/p')"
expect 0 out '^run/checkpoint.h5: a checkpoint' info run/checkpoint.h5
expect 0 out '^  sections +bodies, deforming, spheres$' info run/checkpoint.h5
expect 0 out '"of_steps":[[:space:]]*20' info run/checkpoint.h5 --json
expect 0 out '^run/spheres.pvd: a collection' info run/spheres.pvd
expect 0 out '"last_step":[[:space:]]*20' info run/spheres.pvd --json
expect 0 out '^  points +200$' info run/spheres_000000020.vtp
expect 0 out '"kind":[[:space:]]*"vtk"' info run/spheres_000000020.vtp --json
expect 0 out 'a recording of moving bodies' info run/recording.h5
printf '<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid" version="0.1">\n<UnstructuredGrid><Piece NumberOfPoints="8" NumberOfCells="1"><PointData><DataArray type="Float64" Name="heat" format="ascii">' > other.vtu
expect 0 out '^  type +UnstructuredGrid$' info other.vtu
expect 0 out '^  cells +1$' info other.vtu
cp run/checkpoint.h5 bad.h5
printf 'x' | dd of=bad.h5 bs=1 seek=900 conv=notrunc 2> /dev/null
expect 1 err 'bad.h5: damaged' info bad.h5
cat > grains.json << 'END'
{ "time_step": 1e-4, "steps": 5, "spheres": { "list": [{ "random": 50, "radius": 0.03 }] } }
END
expect 0 out . run grains.json --out grains --no-picture
expect 0 out '^  spheres +50$' info grains/checkpoint.h5
expect 0 out '"substeps":[[:space:]]*5' info grains/checkpoint.h5 --json
expect 0 out . replay run/recording.h5 --record calls.rec
expect 0 out '^  steps +20$' info calls.rec
expect 0 out '"whole":[[:space:]]*true' info calls.rec --json
head -c -20 calls.rec > cut.rec
expect 0 out '"whole":[[:space:]]*false' info cut.rec --json
mkdir none
expect 1 err 'none: holds neither recording.h5' info none
