#!/bin/bash
# HDF5 and assimp are loaded when they are needed, from modules beside the command. Without them it says so, and does the rest.
source "$(dirname "$0")/common.bash"
if [ -z "${CAROM_LATE-}" ]; then
	echo "this build links HDF5 and assimp"
	exit 77
fi

LD_TRACE_LOADED_OBJECTS=1 "$CAROM" > linked
grep -q 'libc\.' linked || fail "the libraries of the command are not told: $(cat linked)"
! grep -E 'hdf5|assimp|curl' linked || fail "the command is linked with them"

cat > scene.json << 'END'
{
	"meshes": { "ring": { "shape": "torus", "triangles": 64 } },
	"bodies": { "planes": [{}], "list": [{ "shape": "mesh", "mesh": "ring", "position": [0, 2, 0] }] },
	"output": { "contacts": true }
}
END
cat > spheres.json << 'END'
{
	"time_step": 1e-5,
	"spheres": { "material": { "stiffness": 1000 }, "list": [{ "random": 20, "radius": 0.03 }] },
	"output": { "checkpoints": 2 }
}
END
# One triangle in a format of assimp (AC3D).
cat > one.ac << 'END'
AC3Db
MATERIAL "m" rgb 1 1 1 amb 1 1 1 emis 0 0 0 spec 0 0 0 shi 0 trans 0
OBJECT world
kids 1
OBJECT poly
numvert 3
0 0 0
1 0 0
0 1 0
numsurf 1
SURF 0x20
mat 0
refs 3
0 0 0
1 0 0
2 0 1
kids 0
END
cube a.obj 0

expect 0 out . run scene.json --steps 2 --no-picture --out done
expect 0 out . info done/recording.h5
expect 0 out '"triangles":[[:space:]]*1,' info one.ac --json

# A command that was copied away from its modules.
mkdir bin
cp "$CAROM" bin/carom
CAROM=$work/bin/carom
lacks() { echo "$1 cannot be loaded: .*${1,,}\\.so: cannot open shared object file"; }
expect 0 out '^carom ' --version
expect 0 out '"triangles":[[:space:]]*12,' info a.obj --json
expect 1 err "^carom: error: one.ac: cannot be read as a mesh: $(lacks assimp)" info one.ac
expect 1 err "^carom: error: done/recording.h5: $(lacks HDF5)" info done/recording.h5
expect 1 err "^carom: error: .*recording.h5: $(lacks HDF5)" run scene.json --steps 2 --no-picture --out without
expect 1 err "^carom: error: .*: $(lacks HDF5)" run spheres.json --steps 4 --no-picture --out spheres
