#!/bin/bash
# carom info --devices, carom spheres --backend vulkan: lists, choice, equal pairs, kernels with times, a file of kernels, misuse.
source "${CAROM_SOURCE:?names the repository}/tests/cli/common.bash" || exit

printf '0,0,0,0.5\n0.75,0,0,0.5\n1.5,0,0,0.25\n2,0,0,0.25\n9,0,0,0.5\n' > row.csv
expect 2 err 'an argument is missing' info
expect 2 err '.--devices takes no FILE' info --devices row.csv
expect 2 err '.--device, --tier, --kernels and --kernel-times need --backend vulkan' spheres row.csv --device 0
expect 2 err '.--device, --tier, --kernels and --kernel-times need --backend vulkan' spheres row.csv --tier q
expect 2 err '.--method is one of the processor' spheres row.csv --backend vulkan --method grid
expect 0 out '"kind":[[:space:]]*"devices"' info --devices --json
expect 0 out '.' info --devices
index=$(grep -oE '^device [0-9]+' out | head -1 | grep -oE '[0-9]+') || true
if [ -z "$index" ]; then
	expect 1 err '^carom: error: .*[Vv]ulkan' spheres row.csv --backend vulkan
	echo "no Vulkan device: nothing more to check"
	exit 77
fi
grep -q '^  usable       yes' out || { echo "no usable device"; exit 77; }

# A table of kernels holds what the device has done, as --json tells it: all kernels that were started, and all bytes
# but those that are read after the last step.
check_kernels() { # TABLE OUTPUT FIRST-STEP LAST-STEP
	[[ $(head -1 "$1") == step,kernel,calls,ms,bytes_up,bytes_down ]] || fail "$1 begins with $(head -1 "$1")"
	awk -F, -v first="$3" -v last="$4" 'NR > 1 && (NF != 6 || $1 < first || $1 > last || ($2 != "copies" && !($3 > 0 && $4 >= 0 && $5 $6 == ""))) { exit 1 }' "$1" || fail "wrong lines: $(cat "$1")"
	local calls up down
	read -r calls up down < <(awk -F, 'NR > 1 { calls += $3; up += $5; down += $6 } END { printf "%d %d %d\n", calls, up, down }' "$1")
	same calls "$calls" "$(field dispatches "$2")"
	same bytes_up "$up" "$(field bytes_up "$2")"
	[ "$down" -gt 0 ] && [ "$down" -le "$(field bytes_down "$2")" ] || fail "bytes_down: $down in $1, $(field bytes_down "$2") in all"
}

# The pairs and their hash are those of the processor.
expect 0 out '"hash"' spheres row.csv --json --repeat 1 --pairs cpu.txt
hash=$(field hash out)
expect 0 out '"method":[[:space:]]*"device"' spheres row.csv --json --repeat 2 --backend vulkan --device "$index" --tier c --pairs gpu.txt --oracle --kernels kernels.bin --kernel-times times.csv
check_kernels times.csv out 1 2
same pairs_count "$(grep -c '^[12],pairs_count,1,' times.csv)" 2
same hash "$(field hash out)" "$hash"
cmp cpu.txt gpu.txt || fail "other pairs: $(cat gpu.txt)"
for name in pairs_count tree_fit sort_scatter_wide; do
	grep -q "\"name\":[[:space:]]*\"$name\"" out || fail "kernel $name has no time: $(cat out)"
done
[ -s kernels.bin ] || fail "no file of kernels was written"
expect 0 out '"kernels_from_file":[[:space:]]*true' spheres row.csv --json --backend vulkan --device "$index" --kernels kernels.bin
export MESA_SHADER_CACHE_DIR=${MESA_SHADER_CACHE_DIR-${XDG_CACHE_HOME-$HOME/.cache}}
for from in false true; do # the default place
	XDG_CACHE_HOME=$PWD/cache expect 0 out "\"kernels_from_file\":[[:space:]]*$from" spheres row.csv --json --backend vulkan --device "$index"
done
XDG_CACHE_HOME=$PWD/cache expect 0 out '"kernels_from_file":[[:space:]]*false' spheres row.csv --json --backend vulkan --device "$index" --kernels off
[ -n "$(ls cache/carom/kernels-*.bin)" ] && [ ! -e off ] || fail "no file of kernels in the cache folder"
export XDG_CACHE_HOME=$PWD/cache # so the others leave the user's alone
expect 0 out '^row.csv: 5 spheres, 3 pairs that touch' spheres row.csv --backend vulkan --device "$index"
grep -q '^  kernels ' out || fail "no kernels: $(cat out)"
# Each tier finds the same, or says that the device lacks it.
tiers=$("$CAROM" info --devices | sed -n "/^device $index:/,/usable/s/^  tiers  *//p")
declare -A names=([c]=compute [q]=query [p]=pipeline)
for tier in c q p; do
	if [[ " $tiers " == *" $tier "* ]]; then
		expect 0 out "\"tier\":[[:space:]]*\"${names[$tier]}\"" spheres row.csv --json --backend vulkan --device "$index" --tier $tier --repeat 2
		same hash "$(field hash out)" "$hash"
	else
		expect 1 err "^carom: error: carom_device_def.tier is ${names[$tier]}, but .* has no ray" spheres row.csv --backend vulkan --device "$index" --tier $tier
	fi
done
expect 1 err '^carom: error: carom_device_def.choice is "no such", which no device has in its name' spheres row.csv --backend vulkan --device "no such"
if "$CAROM" info --devices | grep -q 'kind .*cpu' && ! "$CAROM" info --devices | grep -qE 'kind .*(discrete|integrated|virtual)'; then
	expect 1 err 'runs on the processor, and is used only where its name or index is given' spheres row.csv --backend vulkan
fi

# Impacts of a mesh that moves: a triangle falls through another one.
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0.2 0.2 0.5\nv 0.6 0.2 0.5\nv 0.2 0.6 0.7\nf 1 2 3\nf 4 5 6\n' > first.obj
sed 's/ 0\.[57]$/ -1/' first.obj > second.obj
expect 2 err '.--device, --tier and --kernel-times need --backend vulkan' ccd first.obj second.obj --device 0
expect 2 err '.--tier p: impacts are searched in kernels of our own alone' ccd first.obj second.obj --backend vulkan --tier p
expect 2 err '.--method is one of the processor' ccd first.obj second.obj --backend vulkan --method bvh
expect 2 err '.--test cubic filters nothing' ccd first.obj second.obj --backend vulkan --test cubic
expect 0 out '"hash"' ccd first.obj second.obj --json --hits cpu.txt
hash=$(field hash out)
expect 0 out '"method":[[:space:]]*"device"' ccd first.obj second.obj --json --hits gpu.txt --backend vulkan --device "$index" --oracle --kernel-times times.csv
same hash "$(field hash out)" "$hash"
check_kernels times.csv out 0 0
grep -q '^0,sweep_search_edges,1,' times.csv || fail "no sweep_search_edges: $(cat times.csv)"
grep -q '^vf 3 ' gpu.txt || fail "no impact: $(cat gpu.txt)"
cmp cpu.txt gpu.txt || fail "other impacts: $(cat gpu.txt)"
for name in sweep_search_edges sweep_filter_faces; do
	grep -q "\"name\":[[:space:]]*\"$name\"" out || fail "kernel $name has no time: $(cat out)"
done
expect 0 out 'of these left to the processor' ccd first.obj second.obj --backend vulkan --device "$index" --tier c

# Under sanitizers fewer steps do: the first impact of the cloth is in the 12th.
cloth_steps=40 replayed=30:38 last=37
[ -z "${CAROM_SANITIZED-}" ] || cloth_steps=20 replayed=30:33 last=32

# Whole steps of a scene of spheres: the state of the processor.
expect 2 err '.--device, --tier and --kernels need --backend vulkan' run "$CAROM_SOURCE/scenes/grains1.json" --device 0
expect 2 err '.--device, --tier and --kernels need --backend vulkan' run "$CAROM_SOURCE/scenes/grains1.json" --tier c
expect 1 err 'has no rigid bodies, and nothing else is searched by the driver.s rays .--tier q' run "$CAROM_SOURCE/scenes/grains1.json" --steps 1 --no-picture --backend vulkan --device "$index" --tier q

# Cloth: its impacts are found there, and it moves as without.
expect 0 out '"hash"' run "$CAROM_SOURCE/scenes/cloth_ball.json" --resolution 0.12 --steps $cloth_steps --json --no-picture
hash=$(field hash out)
expect 0 out '"on_device":[[:space:]]*"impacts' run "$CAROM_SOURCE/scenes/cloth_ball.json" --resolution 0.12 --steps $cloth_steps --json --no-picture --backend vulkan --device "$index" --tier c
same hash "$(field hash out)" "$hash"
grep -q '"name":[[:space:]]*"sweep_search_edges"' out || fail "no impact was searched there: $(cat out)"
expect 0 out 'on the device  *impacts, .*; on the processor: solver' run "$CAROM_SOURCE/scenes/cloth_ball.json" --resolution 0.12 --steps 1 --no-picture --backend vulkan --device "$index"
expect 0 out '"hash"' run "$CAROM_SOURCE/scenes/turning_gravity.json" --count 300 --steps 20 --json
hash=$(field hash out)
expect 0 out '"bytes_down_step"' run "$CAROM_SOURCE/scenes/turning_gravity.json" --count 300 --steps 20 --json --out grains --no-picture --backend vulkan --device "$index"
check_kernels grains/kernels.csv out 0 20
grep -q '^20,grains_force,' grains/kernels.csv || fail "no grains_force: $(cat grains/kernels.csv)"
if grep -q '"exact":[[:space:]]*true' out; then
	same hash "$(field hash out)" "$hash"
fi
grep -q '"name":[[:space:]]*"grains_force"' out || fail "no time of grains_force: $(cat out)"
expect 0 out 'bytes per substep' run "$CAROM_SOURCE/scenes/turning_gravity.json" --count 300 --steps 20 --backend vulkan --device "$index"


# Rays of meshes: the contacts of the processor.
expect 2 err '.--device, --tier, --kernels and --kernel-times need --backend vulkan' replay run/recording.h5 --device 0
expect 0 out 'bodies' run "$CAROM_SOURCE/scenes/pile27.json" --steps 40 --no-picture --out run --json
hash=$(field hash out)
# A run leaves so few rays to the processor; replays and benches, which tell what a device does, do not.
expect 0 out '"hash"' run "$CAROM_SOURCE/scenes/pile27.json" --steps 40 --no-picture --json --out rays --backend vulkan --device "$index"
grep -q 'mesh_cast' out && fail "a device was asked for a few rays: $(cat out)"
same hash "$(field hash out)" "$hash"
expect 0 out '"hash"' replay run/recording.h5 --steps $replayed --temporal none --json
hash=$(field hash out)
expect 0 out '"on_device":[[:space:]]*[1-9]' replay run/recording.h5 --steps $replayed --warm-up 0 --temporal none --json --backend vulkan --device "$index" --kernel-times times.csv
same hash "$(field hash out)" "$hash"
check_kernels times.csv out 30 $last
expect 0 out '"walks_on_device"' replay run/recording.h5 --steps $replayed --json --backend vulkan --device "$index"
expect 0 out 'mesh_cast' replay run/recording.h5 --steps $replayed --backend vulkan --device "$index" --tier c
declare -A casts=([c]=mesh_cast [q]=mesh_query [p]=mesh_trace)
for tier in c q p; do
	if [[ " $tiers " == *" $tier "* ]]; then
		expect 0 out "\"tier\":[[:space:]]*\"${names[$tier]}\"" replay run/recording.h5 --steps 30:34 --temporal none --json --backend vulkan --device "$index" --tier $tier
		grep -q "\"name\":[[:space:]]*\"${casts[$tier]}\"" out || fail "no ${casts[$tier]}: $(cat out)"
		tier_hash=$(field hash out)
		same "hash of tier $tier" "$tier_hash" "${first_hash:=$tier_hash}"
	else
		expect 1 err '^carom: error: carom_device_def.tier is' replay run/recording.h5 --steps 30:34 --backend vulkan --device "$index" --tier $tier
	fi
done
expect 0 out '"hash"' replay run/recording.h5 --steps 30:34 --temporal none --json
same "hash of the tiers" "$first_hash" "$(field hash out)"

# Benches of devices: each has its tables, and has compared its answers with the processor's. A name stands for all that begin with it.
benches="device-list device-trees device-grains device-sweep"
expect 0 out '^== device-list: ' bench $benches --quick --backend vulkan --device "$index" --scenes "$CAROM_SOURCE/scenes" --out bench
rows() { same "rows of $1.csv" "$(wc -l < "bench/$1.csv")" "$2"; }
grep -q "^$index (measured)," bench/device-list.csv || fail "no device is marked: $(cat bench/device-list.csv)"
rows device-trees 16
rows device-grains 7
rows device-sweep 4
awk -F, 'NR > 1 && $2 !~ /^sort/ && !($3 > 0 && $4 >= $3 && $6 >= $5 && $5 > 0 && $8 >= $7 && $7 > 0)' bench/device-trees.csv | grep . && fail "no times of trees"
grep -q '^"self-pairs, 3000",pairs_count,1\.00,' bench/device-trees-kernels.csv || fail "no kernels: $(cat bench/device-trees-kernels.csv)"
grep -q '^\"a step, resting heap\",grains_force,1\.00,' bench/device-grains-kernels.csv || fail "no kernels: $(cat bench/device-grains-kernels.csv)"
grep -q '^a step,sweep_search_edges,1\.00,' bench/device-sweep-kernels.csv || fail "no kernels: $(cat bench/device-sweep-kernels.csv)"
grep -q 'the states of device and processor are equal, bit for bit' out || grep -q 'rounds other than the processor' out || fail "the states differ"
expect 1 err 'nowhere/freefall.json' bench device-grains --quick --backend vulkan --device "$index" --scenes nowhere
expect 1 err '^carom: error: carom_device_def.choice is "no such"' bench device-list --backend vulkan --device "no such"
for tier in q p; do
	[[ " $tiers " == *" $tier "* ]] || expect 1 err '^carom: error: carom_device_def.tier is' bench device-spheres --quick --backend vulkan --device "$index" --tier $tier
done
[ -n "${CAROM_SANITIZED-}" ] && exit 0 # the others, which start many processes and devices, take longer
expect 0 out '^== device-spheres: ' bench device-spheres device-rays device-start --quick --backend vulkan --device "$index" --scenes "$CAROM_SOURCE/scenes" --out bench
same "sets of device-spheres.csv" "$(grep -c ',"processor, tree",' bench/device-spheres.csv)" 3
same "tiers of device-spheres.csv" "$(grep -cE ',(compute|query|pipeline),' bench/device-spheres.csv)" $((3 * $(wc -w <<< "$tiers")))
rows device-rays 13
awk -F, '/^impact.*device/ && !($7 > 0)' bench/device-rays.csv | grep . && fail "no kernels of rays"
rows device-start 6
grep -q '^"pairs of 1,000 spheres","device, has the file of kernels",' bench/device-start.csv || fail "no start of a process: $(cat bench/device-start.csv)"

# The papers' tables of spheres, on the device beside the processor.
expect 0 out '^== spheres-radii: ' bench spheres-radii spheres-interval spheres-methods --quick --backend vulkan --device "$index" --scenes "$CAROM_SOURCE/scenes" --out bench
grep -q ',"total, processor"$' bench/spheres-radii.csv || fail "no processor: $(cat bench/spheres-radii.csv)"
awk -F, '/crowd/ && !($5 > 0 && $6 > 0 && $7 > 0 && $8 > 0 && $12 > 0)' bench/spheres-radii.csv | grep . && fail "no kernels of granular steps"
same "trees made" "$(cut -d , -f 1,2 bench/spheres-interval-device.csv | sed -n '2,10p' | tr '\n' ' ')" "1,24 2,12 4,6 8,3 16,2 32,1 64,1 128,1 never,1 "
same "pairs of device and tree" "$(grep -o 'device: all found the same [0-9]*' out | grep -o '[0-9]*$')" "$(grep -o 'tree: all found the same [0-9]*' out | grep -o '[0-9]*$')"
for tier in $tiers; do grep -q ",device $tier," bench/spheres-methods-parts.csv || fail "nothing of tier $tier: $(cat bench/spheres-methods-parts.csv)"; done
same "columns of spheres-methods.csv" "$(head -1 bench/spheres-methods.csv)" "set,grid,levels,tree,rays,auto,$(for tier in $tiers; do printf 'device %s,' "$tier"; done)spheres,pairs"
