#!/bin/sh
# Installs the program for this user, without root: fetches the binary for this machine, compares it with SHA256SUMS, and puts it
# into ~/.local/bin or the folder INSTALL_DIR. The release is at RELEASE_URL, or where this file says. See docs/releasing.md.
set -eu

fail() {
  echo "install: $*" >&2
  exit 1
}

fetch() {
  if command -v curl >/dev/null; then curl -fsSL "$1" -o "$2"
  elif command -v wget >/dev/null; then wget -qO "$2" "$1"
  else fail 'curl or wget is needed.'
  fi || fail "$1 could not be fetched."
}

sum() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# A function, so that a script that was cut off in the middle does nothing.
main() {
  url=${RELEASE_URL:-@RELEASE_URL@}
  case $url in *://*) ;; *) fail 'Set RELEASE_URL to the address of a release.' ;; esac
  case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=macos ;;
    *) fail "There is no binary for $(uname -s)." ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "There is no binary for $(uname -m)." ;;
  esac
  libc=
  if [ $system = linux ] && ldd --version 2>&1 | grep -qi musl; then libc=-musl; fi
  file=agent-grid-$system-$arch$libc
  folder=${INSTALL_DIR:-$HOME/.local/bin}
  mkdir -p "$folder"
  # In the same folder, so that the last step is a rename: a running program keeps its file.
  work=$(mktemp -d "$folder/.agent-grid.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  fetch "$url/SHA256SUMS" "$work/SHA256SUMS"
  fetch "$url/$file" "$work/agent-grid"
  wanted=$(awk -v file="$file" '$2 == file { print $1 }' "$work/SHA256SUMS")
  [ -n "$wanted" ] || fail "SHA256SUMS does not name $file."
  [ "$(sum "$work/agent-grid")" = "$wanted" ] || fail "$file is not the file that SHA256SUMS names. Nothing was installed."
  chmod 755 "$work/agent-grid"
  "$work/agent-grid" --version || fail "$file does not run on this machine. Nothing was installed."
  mv "$work/agent-grid" "$folder/agent-grid"
  echo "Installed $folder/agent-grid"
  case ":$PATH:" in *":$folder:"*) ;; *) echo "Add $folder to your PATH." ;; esac
}

main
