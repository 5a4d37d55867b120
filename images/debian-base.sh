#!/bin/sh
# Makes a base for `glovebox images build` out of Debian packages, for places where no registry can be reached:
#
#   images/debian-base.sh [NAME [PACKAGE...]]
#
# makes the image NAME (without one debian:bookworm-slim, which is what the Dockerfile starts from), with further
# Debian packages such as python3-numpy. With - as NAME it writes a tar archive, as for: podman import - NAME
#
# It needs root, a machine with apt (Debian 12 or later, or what is derived from it), mmdebstrap (apt-get install
# mmdebstrap) and the docker command. The packages come from where this machine's own apt gets them, in the same
# release; nothing of that, no address and no proxy, stays in the image. With TMPDIR on a tmpfs it is faster.
set -eu

name=${1-debian:bookworm-slim}
[ $# -eq 0 ] || shift
hooks=/usr/share/mmdebstrap/hooks/merged-usr

fail() {
  printf 'debian-base.sh: %s\n' "$1" >&2
  exit 1
}

case $name in
  - | [!-]*) ;;
  *) fail "there is no option $name; name the image, or - for a tar archive" ;;
esac
include=usr-is-merged,python3,python3-pip,ca-certificates,libstdc++6
for package; do
  case $package in
    *[!a-z0-9.+-]* | [!a-z0-9]*) fail "$package is no name of a Debian package" ;;
  esac
  include=$include,$package
done
command -v mmdebstrap >/dev/null || fail 'mmdebstrap is missing: apt-get install mmdebstrap'
[ "$name" = - ] || command -v docker >/dev/null || fail 'docker is missing: apt-get install docker.io, or write a tar archive with -'
[ "$(id -u)" = 0 ] || fail 'only root can do this'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
  [ -e "$file" ] || continue
  cat "$file"
  echo
done >"$work/sources"
# Proxies and their like; mmdebstrap reads none of the machine's own.
apt-config dump --format '%F "%v";%n' Acquire >"$work/acquire"

make_base() {
  mmdebstrap --variant=essential --format=tar --aptopt="$work/acquire" \
    --hook-dir="$hooks" --include="$include" \
    --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook='find "$1"/etc/apt -type f ! -name 00mmdebstrap -delete' \
    --customize-hook='rm -f "$1"/etc/dpkg/dpkg.cfg.d/99mmdebstrap "$1"/etc/hostname "$1"/etc/resolv.conf' \
    '' - - <"$work/sources" 2>"$work/log" && return
  tail -n 20 "$work/log" >&2
  fail 'mmdebstrap failed'
}

echo 'debian-base.sh: Making a base from Debian packages; that takes about half a minute.' >&2
if [ "$name" = - ]; then
  make_base
  exit
fi
# A pipe would lose the failure of its first half.
make_base >"$work/base.tar"
docker import --change 'CMD ["bash"]' - "$name" <"$work/base.tar"
