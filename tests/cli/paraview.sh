#!/bin/bash
# The macro for ParaView (packaging/paraview): files that it makes of a recording, and its calls, on a stand-in for ParaView.
source "$(dirname "$0")/common.bash"
python=/usr/bin/python3
"$python" -c 'import h5py, numpy' 2> /dev/null || { echo "there is no python3-h5py"; exit 77; }

"$CAROM" run "$CAROM_SOURCE/scenes/pile27.json" --steps 40 --contacts --no-picture --out bodies > /dev/null
cat > cloth.json << 'END'
{ "time_step": 0.01, "deforming": { "list": [{ "form": "sheet", "size": [1, 1], "divisions": [4, 4] }] } }
END
"$CAROM" run cloth.json --steps 4 --frames 2 --no-picture --out cloth > /dev/null
cat > grains.json << 'END'
{ "time_step": 1e-4, "spheres": { "material": { "stiffness": 1000 }, "list": [{ "random": 100, "radius": 0.03 }] } }
END
"$CAROM" run grains.json --steps 4 --snapshots 2 --no-picture --out grains > /dev/null
PYTHONDONTWRITEBYTECODE=1 "$python" "$CAROM_SOURCE/tests/cli/paraview_check.py" "$CAROM_SOURCE/packaging/paraview/carom_macro.py"
