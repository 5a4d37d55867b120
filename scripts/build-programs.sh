#!/bin/sh
# Builds our programs that use no library, for each machine, into programs.ts beside their source. Needs gcc for
# both, e.g. Debian's gcc and gcc-aarch64-linux-gnu with libc6-dev-arm64-cross, and objcopy. CC_X64, CC_ARM64: others.
set -eu
cd "$(dirname "$0")/../src/runtimes"
CC_X64=${CC_X64:-x86_64-linux-gnu-gcc}
CC_ARM64=${CC_ARM64:-aarch64-linux-gnu-gcc}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# compile SOURCE MACHINE COMPILER FORM...
compile() {
  source=$1 machine=$2 compiler=$3
  shift 3
  $compiler -Os -fno-tree-loop-distribute-patterns -Wall -Wextra -Werror -std=gnu11 -nostdlib -ffreestanding \
    -fno-stack-protector -fno-asynchronous-unwind-tables \
    -Wl,--build-id=none,-z,noseparate-code,-z,norelro,-s "$@" -o "$folder/$machine" "$source" -lgcc
}

in_base64() {
  printf "  %s:\n" "$1"
  base64 -w 96 "$folder/$1" | sed "s/.*/    '&' +/; \$s/ +\$/,/"
}

beginning() {
  echo "/** Built from \`$(basename "$1")\` by \`scripts/build-programs.sh\`; not to be edited. */"
  echo "export const SOURCE_SHA256 = '$(cat systemCall.h freestanding.h $(find "$(dirname "$1")" -name '*.h') "$1" | sha256sum | cut -d' ' -f1)';"
  echo
}

build() {
  {
    beginning "$1"
    echo "/** Programs in the ELF format, in base64, by machine. */"
    echo "export const PROGRAMS = {"
    compile "$1" x64 "$CC_X64" -static -fno-pie -no-pie
    in_base64 x64
    compile "$1" arm64 "$CC_ARM64" -static -fno-pie -no-pie
    in_base64 arm64
    echo "} as const;"
  } >"$folder/programs.ts"
  cp "$folder/programs.ts" "$(dirname "$1")/programs.ts"
}

# As shared objects, and the code of the section `.text.hold` alone.
build_shared() {
  {
    beginning "$1"
    echo "/** Shared objects in the ELF format, in base64, by machine. */"
    echo "export const SHARED_OBJECTS = {"
    compile "$1" x64 "$CC_X64" -shared -fPIC -Wl,--hash-style=gnu
    in_base64 x64
    compile "$1" arm64 "$CC_ARM64" -shared -fPIC -Wl,--hash-style=gnu
    in_base64 arm64
    echo "} as const;"
    echo
    echo "/** The function that they call, as it stands in memory, in base64, by machine. */"
    echo "export const CODE = {"
    code_of "$1" x64 "$CC_X64"
    code_of "$1" arm64 "$CC_ARM64"
    echo "} as const;"
  } >"$folder/programs.ts"
  cp "$folder/programs.ts" "$(dirname "$1")/programs.ts"
}

code_of() {
  $3 -Os -fPIC -std=gnu11 -ffreestanding -c -o "$folder/object" "$1"
  "${3%gcc}objcopy" -O binary -j .text.hold "$folder/object" "$folder/$2"
  in_base64 "$2"
}

# As code that runs at whatever address it is put, from its first byte: `.text.first`.
build_code() {
  {
    beginning "$1"
    echo "/** The function, as it stands in memory, in base64, by machine. */"
    echo "export const CODE = {"
    flat_code_of "$1" x64 "$CC_X64"
    flat_code_of "$1" arm64 "$CC_ARM64"
    echo "} as const;"
  } >"$folder/programs.ts"
  cp "$folder/programs.ts" "$(dirname "$1")/programs.ts"
}

flat_code_of() {
  echo 'SECTIONS { .code 0 : { *(.text.first) *(.text .text.*) *(.rodata .rodata.*) } /DISCARD/ : { *(*) } }' >"$folder/script"
  compile "$1" "$2" "$3" -static -fPIC -no-pie -T "$folder/script"
  "${3%gcc}objcopy" -O binary -j .code "$folder/$2"
  in_base64 "$2"
}

build host/init/init.c
build host/starter/starter.c
build relay/relay.c
build_shared ../languages/waiting/holder/holder.c
build_code bubblewrap/forkServer/keeper/keeper.c
