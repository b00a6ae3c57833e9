#!/bin/bash
# Debian packages from debian/, in roots that mmdebstrap makes for it and throws away: one to build in, with what debian/control asks for, and
# one that has the packages alone, where debian/tests runs. Between them lintian looks.
# Usage: debian.sh OUT, in the root of the repository. SUITE and MIRROR may be set.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
suite=${SUITE:-bookworm}
mirror=${MIRROR:-}
version=$(sed -nE 's/^#define CAROM_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)$/\2/p' include/carom/base.h | paste -sd.)
[[ $(dpkg-parsechangelog -S Version) == "$version"-* ]] || { echo "debian/changelog is not of version $version"; exit 1; }
rm -rf "$out"/*
name=carom-$version

# archive FILE [PATTERN...]: the files that git knows, as they are here. Equal files make an equal archive.
archive() {
	git ls-files -z -- "${@:2}" | tar --null --files-from=- --transform="s,^,$name/," --sort=name --owner=0 --group=0 --numeric-owner \
		--mtime="@$(git log -1 --format=%ct)" -c | gzip -9n >"$1"
}
# The source archive holds all; that of a Debian source package lies beside debian/, and must not hold it.
mkdir "$out/work"
archive "$out/$name.tar.gz"
archive "$out/work/carom_$version.orig.tar.gz" . ':!debian'
tar -C "$out/work" -xf "$out/$name.tar.gz"

# in_root VARIANT HOOK...: with the folder work in it as /work. A root is thrown away, so dpkg need not wait until each file is on the disk.
in_root() {
	local hooks=() hook
	for hook in "${@:2}"; do hooks+=("--customize-hook=$hook"); done
	mmdebstrap --quiet --variant="$1" --dpkgopt=force-unsafe-io --customize-hook="copy-in $out/work /" "${hooks[@]}" "$suite" /dev/null ${mirror:+"$mirror"}
}
threads=$(nproc)
# A root sees nothing of this environment: its compilers are not ours.
inside="chroot \"\$1\" env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -ec"
in_root buildd "$inside 'apt-get -qqy build-dep /work/$name
		cd /work/$name && DEB_BUILD_OPTIONS=parallel=$threads dpkg-buildpackage -us -uc
		mkdir /done && cp ../*.deb ../*.dsc ../*.xz ../*.orig.tar.gz ../*.changes ../*.buildinfo /done' >&2" \
	"sync-out /done $out"
lintian --fail-on error,warning "$out"/*.changes

cp "$out"/*.deb "$out/work/"
in_root minbase "$inside 'cd /work && apt-get -qqy --no-install-recommends install \$(ls ./*.deb | grep -v dbgsym) gcc libc6-dev pkg-config cmake make man-db
		cd $name && for test in library cmake command python; do echo \"test \$test\"; debian/tests/\$test; done' >&2"
rm -r "$out/work"
echo "built, looked at by lintian, installed and tried:"
du -h "$out"/*.deb "$out/$name.tar.gz"
