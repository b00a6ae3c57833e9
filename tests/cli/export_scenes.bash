# export_scenes [NAME...]: runs that scripts export, one for each kind of thing that a page shows; all, or those that are named.
export_scenes() {
	cat > bodies.json << 'END'
{
	"name": "two < three & \"more\"",
	"steps": 25,
	"meshes": { "ring": { "shape": "torus", "triangles": 300, "fit": [1, 1, 1], "centre": true } },
	"bodies": {
		"planes": [{}],
		"grids": [{ "shape": "mesh", "mesh": "ring", "count": [2, 2, 2], "position": [0, 0.3, 0], "spacing": [1.1, 0.5, 1.1] }],
		"list": [{ "shape": "capsule", "radius": 0.2, "half_length": 0.3, "position": [3, 0.3, 0] }, { "shape": "box", "half_extents": [0.2, 0.3, 0.4], "position": [-1.2, 0.4, 0] },
			{ "shape": "cone", "radius": 0.2, "half_length": 0.3, "position": [3, 0.35, 1] }, { "shape": "hull", "mesh": "ring", "position": [-1, 1, 3] }]
	}
}
END
	cat > cloth.json << 'END'
{
	"name": "cloth", "steps": 20, "time_step": 0.02,
	"deforming": {
		"movers": [{ "form": "sphere", "radius": 0.5, "divisions": [8, 6] }],
		"list": [{ "form": "sheet", "size": [1, 1], "divisions": [12, 12], "position": [0, 0.52, 0] }]
	},
	"output": { "frames": 2 }
}
END
	cat > spheres.json << 'END'
{
	"name": "spheres", "time_step": 1e-3, "steps": 10,
	"spheres": { "material": { "stiffness": 1000 }, "list": [{ "random": 200, "radius": 0.03 }] },
	"output": { "snapshots": 2 }
}
END
	sed 's/"random": 200, "radius": 0.03/"random": 90000, "radius": 0.002/; s/"steps": 10/"steps": 2/; s/"time_step": 1e-3/"time_step": 5e-5/' spheres.json > many.json
	cat > all.json << 'END'
{
	"name": "all", "time_step": 1e-3, "steps": 4,
	"bodies": { "list": [{ "shape": "sphere", "radius": 0.2, "position": [0, 3, 0] }] },
	"deforming": { "list": [{ "form": "sheet", "size": [1, 1], "divisions": [4, 4], "position": [0, 2, 0] }] },
	"spheres": { "material": { "stiffness": 1000 }, "list": [{ "random": 50, "radius": 0.03 }] },
	"output": { "snapshots": 2, "frames": 1 }
}
END
	cat > large.json << 'END'
{
	"steps": 1,
	"meshes": { "ring": { "shape": "torus", "triangles": 9000, "fit": [1, 1, 1] } },
	"bodies": { "list": [{ "shape": "mesh", "mesh": "ring" }] }
}
END
	local name
	[ $# != 0 ] || set -- bodies cloth spheres many all large
	for name in "$@"; do
		local contacts=()
		case $name in bodies | cloth | spheres) contacts=(--contacts) ;; esac
		"$CAROM" run $name.json --out $name --no-picture "${contacts[@]}" > run.out 2> run.err || fail "$name does not run: $(cat run.err)"
	done
	"$CAROM" make --shape sphere --triangles 50 -o many.ply > /dev/null 2>&1 || printf 'ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n' > many.ply
}

# browsers: the paths of those that there are: a Chromium, and a Firefox with a screen in memory.
browsers() {
	command -v chromium || command -v chromium-browser || command -v google-chrome || true
	! command -v Xvfb > /dev/null || command -v firefox-esr || command -v firefox || true
}
