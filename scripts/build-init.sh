#!/bin/sh
# Builds the first process of gVisor's sandboxes from src/runtimes/gvisor/init/init.c, for each machine, into
# programs.ts beside it. Needs gcc for both, e.g. Debian's gcc and gcc-aarch64-linux-gnu. CC_X64, CC_ARM64: others.
set -eu
cd "$(dirname "$0")/../src/runtimes/gvisor/init"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

build() {
  $2 -Os -Wall -Wextra -Werror -std=gnu11 -static -nostdlib -ffreestanding -fno-pie -no-pie \
    -fno-stack-protector -fno-asynchronous-unwind-tables \
    -Wl,--build-id=none,-z,noseparate-code,-z,norelro,-s -o "$folder/$1" init.c
  printf "  %s:\n" "$1"
  base64 -w 96 "$folder/$1" | sed "s/.*/    '&' +/; \$s/ +\$/,/"
}

{
  echo "/** Built from \`init.c\` by \`scripts/build-init.sh\`; not to be edited. */"
  echo "export const SOURCE_SHA256 = '$(sha256sum init.c | cut -d' ' -f1)';"
  echo
  echo "/** Programs in the ELF format, in base64, by machine. */"
  echo "export const PROGRAMS = {"
  build x64 "${CC_X64:-x86_64-linux-gnu-gcc}"
  build arm64 "${CC_ARM64:-aarch64-linux-gnu-gcc}"
  echo "} as const;"
} >"$folder/programs.ts"
cp "$folder/programs.ts" programs.ts
