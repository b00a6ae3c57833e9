#!/bin/bash
# check_mpi.sh PROGRAM MPIEXEC FLAG: the program prints one hash on 1 to 3 processes.
set -euo pipefail
program=$1 mpiexec=$2 flag=$3
# Open MPI: more processes than processors, which let each other work while they wait, and as root in containers.
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"$mpiexec" "$flag" 2 true || { echo "skipped: MPI starts no two processes here"; exit 77; }
wanted=
for processes in 1 2 3; do
	output=$("$mpiexec" "$flag" "$processes" "$program" 2000 80)
	hash=$(sed -n 's/^hash //p' <<<"$output")
	[[ -n $hash && ${wanted:=$hash} == "$hash" ]] || { echo "on $processes processes: $output, wanted $wanted"; exit 1; }
done
# Spheres have gone from process to process.
[[ $output =~ [1-9][0-9]*" handed over" ]] || { echo "$output"; exit 1; }
echo "$output"
