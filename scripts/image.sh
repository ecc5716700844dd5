#!/bin/sh
# Writes the image of the binaries of a release, for x64 and arm64, as an OCI archive: image.sh FOLDER VERSION. It needs
# buildah. ARCHITECTURES selects some of the architectures (such as amd64), BASE a different base image.
set -eu
folder=$(cd "$1" && pwd)
version=$2
cd "$(dirname "$0")/.."
image=localhost/agent-grid:$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
buildah manifest rm "$image" >/dev/null 2>&1 || :
for arch in ${ARCHITECTURES:-amd64 arm64}; do
  mkdir -p "$work/$arch/data"
  cp "$folder/agent-grid-linux-$([ "$arch" = amd64 ] && echo x64 || echo "$arch")" "$work/$arch/agent-grid"
  buildah build --quiet --format oci --platform "linux/$arch" --build-context "binary=$work/$arch" \
    ${BASE:+--build-arg "BASE=$BASE"} --manifest "$image" .
done
rm -f "$folder/agent-grid-$version.oci.tar"
buildah manifest push --quiet --all "$image" "oci-archive:$folder/agent-grid-$version.oci.tar"
