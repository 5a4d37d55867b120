#!/bin/sh
# Builds our programs that use no library, for each machine, into programs.ts beside their source. Needs gcc for
# both, e.g. Debian's gcc and gcc-aarch64-linux-gnu with libc6-dev-arm64-cross. CC_X64, CC_ARM64: others.
set -eu
cd "$(dirname "$0")/../src/runtimes"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

compile() {
  $3 -Os -fno-tree-loop-distribute-patterns -Wall -Wextra -Werror -std=gnu11 -static -nostdlib -ffreestanding -fno-pie -no-pie \
    -fno-stack-protector -fno-asynchronous-unwind-tables \
    -Wl,--build-id=none,-z,noseparate-code,-z,norelro,-s -o "$folder/$2" "$1"
  printf "  %s:\n" "$2"
  base64 -w 96 "$folder/$2" | sed "s/.*/    '&' +/; \$s/ +\$/,/"
}

build() {
  {
    echo "/** Built from \`$(basename "$1")\` by \`scripts/build-programs.sh\`; not to be edited. */"
    echo "export const SOURCE_SHA256 = '$(cat freestanding.h $(find "$(dirname "$1")" -name '*.h') "$1" | sha256sum | cut -d' ' -f1)';"
    echo
    echo "/** Programs in the ELF format, in base64, by machine. */"
    echo "export const PROGRAMS = {"
    compile "$1" x64 "${CC_X64:-x86_64-linux-gnu-gcc}"
    compile "$1" arm64 "${CC_ARM64:-aarch64-linux-gnu-gcc}"
    echo "} as const;"
  } >"$folder/programs.ts"
  cp "$folder/programs.ts" "$(dirname "$1")/programs.ts"
}

build host/init/init.c
build host/starter/starter.c
build relay/relay.c
