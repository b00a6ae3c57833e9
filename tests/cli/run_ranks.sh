#!/bin/bash
# carom run --ranks: the state, files and checkpoints of one process on any number of them; a rank that dies, a full disk, mistakes.
source "$(dirname "$0")/common.bash"
# Ranks that wait let others work: there may be more of them than processors.
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

cat > scene.json << 'END'
{
	"name": "drum",
	"time_step": 1e-4,
	"steps": 80,
	"gravity": { "direction": [0, -1, 0], "axis": [0, 0, 1], "degrees_per_second": 720 },
	"spheres": {
		"box": { "upper": [0.2, 0.2, 0.1], "periodic": ["z"] },
		"material": { "density": 500, "stiffness": 100, "tangential": "spring", "friction": 0.4 },
		"list": [{ "random": 2000, "radius": [0.003, 0.005], "velocity_spread": [1, 1, 1], "seed": 7 }]
	},
	"output": { "energy": 20, "forces": 20 },
	"camera": { "width": 160, "height": 100 }
}
END

# Mistakes, which are found before any other process starts.
expect 2 err '--ranks 0: must be from 1' run scene.json --ranks 0
expect 1 err 'scene.json: --ranks: points of contact are not written by several ranks' run scene.json --ranks 2 --contacts
expect 1 err 'scene.json: --ranks: a run on several ranks is not shown' run scene.json --ranks 2 --view
expect 1 err 'scene.json: --ranks: several ranks run on processors' run scene.json --ranks 2 --backend vulkan
expect 1 err 'together.json: --ranks: the scene has "deforming", and only spheres are shared by ranks' run "$CAROM_SOURCE/scenes/together.json" --ranks 2
expect 1 err 'pile27.json: --ranks: the scene has no "spheres", and these alone are shared by ranks' run "$CAROM_SOURCE/scenes/pile27.json" --ranks 2
expect 1 err 'buoyancy.json: --ranks: the spheres of the scene push its "bodies" \("two_way"\)' run "$CAROM_SOURCE/scenes/buoyancy.json" --ranks 2
expect 1 err 'sack.json: --ranks: the scene has "deforming", and only spheres are shared by ranks' run "$CAROM_SOURCE/scenes/sack.json" --ranks 2
expect 1 err 'absent.json: ' run absent.json --ranks 2

# Programs that are not there.
mkdir alone
cp "$CAROM" alone/carom
built=$CAROM
CAROM=alone/carom expect 1 err '--ranks: carom-mpi is not there: build Carom with CAROM_MPI=ON' run scene.json --ranks 2
[ -x "$(dirname "$built")/carom-mpi" ] || { echo "skipped: carom-mpi is not built (CAROM_MPI)"; exit 77; }
CAROM_MPIRUN="no-such-mpirun -v" expect 1 err '--ranks: no-such-mpirun is not found: install MPI' run scene.json --ranks 2
mpirun -n 2 --oversubscribe true 2> /dev/null || { echo "skipped: MPI starts no two processes here"; exit 77; }

# shared ARGUMENT...: carom with these arguments must succeed. On a busy machine Open MPI may lose sight of a process that ends.
shared() {
	local status=0
	"$CAROM" "$@" > out 2> err || status=$?
	if [ "$status" != 0 ] && grep -q 'with PID 0' err && grep -q 'exiting improperly' err; then
		status=0
		"$CAROM" "$@" > out 2> err || status=$?
	fi
	[ "$status" = 0 ] || fail "exit code $status: carom $* ($(head -c 900 err))"
}

# Columns of a table that are no times, and do not depend on how memory is sorted or lists are made.
bare() { cut -d, -f 1-7 "$1"; }

expect 0 out . run scene.json --out one --threads 1 --snapshots 40 --json
hash=$(field hash out)
for ranks in 1 3 4; do
	shared run scene.json --out "r$ranks" --snapshots 40 --ranks=$ranks --json
	same "hash on $ranks ranks" "$(field hash out)" "$hash"
	same "number of ranks" "$(field count out)" $ranks
	cmp out "r$ranks/summary.json" || fail "--json is not summary.json"
	for file in spheres.pvd spheres_000000000.vtp spheres_000000040.vtp spheres_000000080.vtp last.png; do
		cmp "one/$file" "r$ranks/$file" || fail "$file depends on the number of ranks"
	done
	cmp <(bare one/stats.csv) <(bare "r$ranks/stats.csv") || fail "the table depends on the number of ranks"
	cmp one/forces.csv "r$ranks/forces.csv" || fail "the forces on walls depend on the number of ranks"
	[ -z "$(find "r$ranks" -name '*.part')" ] || fail "parts are left over: $(ls "r$ranks")"
done
awk -v imbalance="$(field imbalance out)" 'BEGIN { exit !(imbalance >= 1 && imbalance < 1.2) }' || fail "work is uneven: $(cat out)"
[ "$(field moved out)" -gt 0 ] || fail "no sphere has gone from rank to rank"
expect 0 err 'page.html: .* 3 frames' export r4/spheres.pvd -o page.html

# A checkpoint of n ranks goes on on m, and on one process, and the other way round.
shared run scene.json --steps 40 --out half --ranks 3
shared run scene.json --restart half/checkpoint.h5 --ranks 2 --json
same "hash after 3 and 2 ranks" "$(field hash out)" "$hash"
expect 0 out . run scene.json --restart half/checkpoint.h5 --json
same "hash after 3 ranks and one process" "$(field hash out)" "$hash"
expect 0 out . run scene.json --steps 40 --out begun --no-picture --json
shared run scene.json --restart begun/checkpoint.h5 --out begun --ranks 2 --json # goes on in its folder
same "hash after one process and 2 ranks" "$(field hash out)" "$hash"
cmp <(bare one/stats.csv) <(bare begun/stats.csv) || fail "the table was not continued"
expect 0 out . run scene.json --restart r3/checkpoint.h5 --steps 81 --json
last=$(field hash out)
expect 0 out . run scene.json --restart one/checkpoint.h5 --steps 81 --json
same "hash from the ends" "$last" "$(field hash out)"

# Grains among obstacles of meshes, one of which turns: the state, the forces on the obstacles, and all files.
sed 's/"forces": 100/"forces": 10, "energy": 10/; s/"seed": 3/"seed": 3, "velocity": [0, -3, 0]/' "$CAROM_SOURCE/scenes/drum.json" > drum.json
whole() { tail -n 8 "$1" | grep '"hash"'; } # of all parts
expect 0 out . run drum.json --steps 44 --out drum1 --threads 1 --snapshots 22 --json
expected=$(whole out)
shared run drum.json --steps 44 --out drum3 --snapshots 22 --ranks 3 --json
same "hash of a drum on 3 ranks" "$(whole out)" "$expected"
for file in recording.h5 forces.csv last.png spheres_000000022.vtp spheres_000000044.vtp; do
	cmp "drum1/$file" "drum3/$file" || fail "$file of a drum depends on the number of ranks"
done
awk -F, '$3 == "drum" && $11 > 0 { pushed = 1 } END { exit !pushed }' drum3/forces.csv || fail "nothing pushes the drum"
[ "$(field moved out)" -gt 0 ] || fail "no grain of the drum has gone from rank to rank"
expect 0 err 'drum.html: ' export drum3 -o drum.html
shared run drum.json --steps 30 --out drum4 --no-picture --checkpoint 30 --ranks 4
shared run drum.json --steps 44 --restart drum4/checkpoint.h5 --ranks 2 --json
same "hash of a drum after 4 and 2 ranks" "$(whole out)" "$expected"
expect 0 out . run drum.json --steps 44 --restart drum4/checkpoint.h5 --threads 1 --json
same "hash of a drum after 4 ranks and one process" "$(whole out)" "$expected"

# What is wrong with a checkpoint is said, and ends all.
head -c 3000 half/checkpoint.h5 > cut.h5
expect 1 err 'cut.h5: is damaged' run scene.json --restart cut.h5 --ranks 2
expect 1 err 'has done 40 steps already' run scene.json --restart half/checkpoint.h5 --steps 39 --ranks 2
status=0
"$(dirname "$CAROM")/carom-mpi" run scene.json --ranks 2 2> err || status=$?
same "exit code of --ranks within ranks" $status 2
grep -q 'mpirun tells carom-mpi how many there are' err || fail "$(cat err)"

# A rank that dies ends all, and the checkpoint before is whole.
"$CAROM" run scene.json --steps 1000000 --checkpoint 20 --out killed --no-picture --ranks 3 > /dev/null 2> err & run=$!
wait_for "$run" test -e killed/checkpoint.h5
victim=$(pgrep -P "$run" -f carom-mpi | tail -1)
kill -KILL "$victim"
status=0
wait "$run" || status=$?
[ "$status" != 0 ] || fail "a run that lost a rank ended well"
! kill -0 "$victim" 2> /dev/null || fail "the rank is alive"
expect 1 err 'has done [0-9]+ steps already' run scene.json --restart killed/checkpoint.h5 --steps 1
steps=$(sed -nE 's/.*has done ([0-9]+) steps already.*/\1/p' err)
expect 0 out . run scene.json --restart killed/checkpoint.h5 --steps "$steps" --json
killed=$(field hash out)
expect 0 out . run scene.json --steps "$steps" --json
same "hash of the checkpoint before the end" "$killed" "$(field hash out)"

# An interrupt ends all after a step, with the results so far.
"$CAROM" run scene.json --steps 1000000 --out stopped --no-picture --ranks 2 > /dev/null 2> err & run=$!
wait_for "$run" test -s stopped/stats.csv.part
for rank in $(pgrep -P "$run" -f carom-mpi); do kill -TERM "$rank"; done
status=0
wait "$run" || status=$?
[ "$status" != 0 ] || fail "an interrupted run has exit code 0"
grep -q 'interrupted after [0-9]* of 1000000 steps' err || fail "$(head -c 900 err)"
steps=$(field steps stopped/summary.json)
expect 0 out . run scene.json --steps "$steps" --json
same "hash of an interrupted run" "$(field hash stopped/summary.json)" "$(field hash out)"

# A disk that gets full: the file that was there stays. (Files of MPI itself must not meet the limit.)
mkdir full
echo before > full/checkpoint.h5
status=0
(ulimit -f 150 && OMPI_MCA_btl=tcp,self PMIX_MCA_gds=hash "$CAROM" run scene.json --steps 5 --out full --no-picture --ranks 2 > out 2> err) || status=$?
same "exit code with a full disk" $status 1
grep -q 'checkpoint.h5: cannot be written: is the disk full?' err || fail "$(head -c 900 err)"
same "the checkpoint that was there" "$(cat full/checkpoint.h5)" before
[ ! -e full/checkpoint.h5.part ] || fail "a part is left over"
status=0
(ulimit -f 50 && OMPI_MCA_btl=tcp,self PMIX_MCA_gds=hash "$CAROM" run scene.json --steps 5 --snapshots 5 --out full --no-picture --ranks 2 > out 2> err) || status=$?
same "exit code with a full disk" $status 1
grep -q 'spheres_000000000.vtp: cannot be written: is the disk full?' err || fail "$(head -c 900 err)"
[ ! -e full/spheres_000000000.vtp ] || fail "a snapshot that is not whole has its name"
