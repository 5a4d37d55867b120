"""Does what an engine does: reads a profile in Docker's JSON and compiles it with libseccomp.

Prints JSON: the program for the kernel in hexadecimal digits, the number
that the library has for each name of the profile, and the library's version. Unknown names have no number.
"""
import ctypes
import json
import os
import sys

ARCHITECTURES = {"SCMP_ARCH_X86_64": 0xC000003E, "SCMP_ARCH_AARCH64": 0xC00000B7}
OPERATORS = {"SCMP_CMP_EQ": 4, "SCMP_CMP_MASKED_EQ": 7}
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
EPERM, EEXIST, UNKNOWN = 1, 17, -1
OPTIMIZE, BINARY_TREE = 8, 2


class Comparison(ctypes.Structure):
    _fields_ = [
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("value", ctypes.c_uint64),
        ("value_two", ctypes.c_uint64),
    ]


class Version(ctypes.Structure):
    _fields_ = [("parts", ctypes.c_uint * 3)]


library = ctypes.CDLL("libseccomp.so.2")
library.seccomp_init.restype = ctypes.c_void_p
library.seccomp_version.restype = ctypes.POINTER(Version)


def must(result):
    if result != 0:
        raise SystemExit(f"libseccomp says {os.strerror(-result)}")


def action_of(rule):
    return ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else ERRNO | rule["errnoRet"]


def compile(profile):
    architecture = ARCHITECTURES[profile["architectures"][0]]
    context = ctypes.c_void_p(library.seccomp_init(ERRNO | EPERM))
    if library.seccomp_arch_exist(context, architecture) == -EEXIST:
        must(library.seccomp_arch_add(context, architecture))
        must(library.seccomp_arch_remove(context, library.seccomp_arch_native()))
    must(library.seccomp_attr_set(context, OPTIMIZE, BINARY_TREE))
    numbers = {}
    for rule in profile["syscalls"]:
        comparisons = [
            Comparison(each["index"], OPERATORS[each["op"]], each["value"], each["valueTwo"])
            for each in rule.get("args", [])
        ]
        for name in rule["names"]:
            number = library.seccomp_syscall_resolve_name(name.encode())
            if number == UNKNOWN:
                continue
            numbers[name] = library.seccomp_syscall_resolve_name_arch(architecture, name.encode())
            array = (Comparison * len(comparisons))(*comparisons)
            action = ctypes.c_uint32(action_of(rule))
            must(library.seccomp_rule_add_array(context, action, number, len(comparisons), array))
    reader, writer = os.pipe()
    must(library.seccomp_export_bpf(context, writer))
    os.close(writer)
    with open(reader, "rb") as file:
        return file.read().hex(), numbers


program, numbers = compile(json.load(sys.stdin))
version = ".".join(str(part) for part in library.seccomp_version().contents.parts)
json.dump({"program": program, "numbers": numbers, "version": version}, sys.stdout)
