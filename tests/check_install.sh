#!/bin/bash
# Install a build and use it from outside, by find_package and by pkg-config.
# Usage: check_install.sh CMAKE BUILD_FOLDER CC C_FLAGS SOURCE_FOLDER GENERATOR
set -eu
cmake=$1
build=$2
cc=$3
read -ra flags <<<"$4"
consumer=$5/examples/consumer
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/usr" >"$work/install.log"
if [[ -x $build/tools/carom/carom ]]; then
	"$work/usr/bin/carom" --version
fi

"$cmake" -G "$6" -S "$consumer" -B "$work/found" -DCMAKE_PREFIX_PATH="$work/usr" \
	-DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$4" >"$work/configure.log"
"$cmake" --build "$work/found" >"$work/build.log"
"$work/found/consumer"

config=$(find "$work/usr" -name carom.pc)
export PKG_CONFIG_PATH=${config%/*}
read -ra from_pkg_config < <(pkg-config --cflags --libs carom)
"$cc" "${flags[@]}" -std=c17 "$consumer/consumer.c" -o "$work/packaged" "${from_pkg_config[@]}"
LD_LIBRARY_PATH=${config%/pkgconfig/*} "$work/packaged"
echo "installed, found and run"
