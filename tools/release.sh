#!/bin/sh
# Archives of a release for several platforms, with checksums, in dist/. Two runs on one commit write the same bytes: names, times
# and owners in the archives are fixed, and the binary has no path of this machine.
#
#   GO, LDFLAGS, VERSION   set by make release
#   EPOCH                  the time of the files, in Unix seconds: that of the commit
#   PLATFORMS              OS/ARCH ..., DIST the folder
set -eu
platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}
dist=${DIST:-dist}
# GNU tar, as Linux has it and as `brew install gnu-tar` names it.
tar=tar
if ! $tar --version 2>/dev/null | grep -q GNU; then
	tar=gtar
	command -v $tar >/dev/null || { echo "make release needs GNU tar (brew install gnu-tar)" >&2; exit 1; }
fi
sums() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

case $VERSION in
unknown | *[!A-Za-z0-9._-]*) echo "make release: the version is $VERSION, expected a tag or a commit: VERSION=v1.2.3" >&2; exit 1 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dist"
rm -f "$dist"/zeta-scaler-*.tar.gz "$dist"/SHA256SUMS
for platform in $platforms; do
	name=zeta-scaler-$VERSION-$(echo "$platform" | tr / -)
	mkdir -p "$work/$name/alerts" "$work/$name/dashboards" "$work/$name/systemd"
	GOOS=${platform%/*} GOARCH=${platform#*/} $GO build -ldflags "$LDFLAGS" -o "$work/$name/zeta-scaler" ./cmd/zeta-scaler
	cp LICENSE README.md CHANGELOG.md zeta-scaler.example.yml "$work/$name/"
	cp alerts/*.rules.yml alerts/alertmanager.yml "$work/$name/alerts/"
	cp dashboards/*.json "$work/$name/dashboards/"
	cp deploy/systemd/*.service "$work/$name/systemd/"
	chmod -R u=rwX,go=rX "$work/$name"
	$tar -C "$work" --sort=name --format=ustar --mtime="@$EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$name" |
		gzip -n -9 >"$dist/$name.tar.gz"
	echo "$dist/$name.tar.gz"
done
(cd "$dist" && sums zeta-scaler-*.tar.gz >SHA256SUMS)
echo "$dist/SHA256SUMS"
