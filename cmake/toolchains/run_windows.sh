#!/bin/bash
# Runs a program of Windows under Wine, with a home of its own that is made on first use. Usage: run_windows.sh PROGRAM [ARGUMENT...]
set -eu
export WINEPREFIX=${WINEPREFIX:-${XDG_CACHE_HOME:-$HOME/.cache}/carom-wine} WINEDEBUG=${WINEDEBUG:--all}
exec /usr/lib/wine/wine64 "$@"
