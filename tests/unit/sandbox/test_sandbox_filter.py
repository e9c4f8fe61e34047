"""The system-call filter, run by an interpreter of its own: what each call is answered with."""

from __future__ import annotations

import errno
import struct

import pytest

from ckptbench.fixtures.sandbox import isolation_seccomp as syscalls
from ckptbench.fixtures.sandbox.isolation_seccomp import MACHINES, Machine, assemble

ALLOW, KILL = "allow", "kill"


def answer(
    machine: Machine, number: int, *arguments: int, audit: int | None = None, guarded: bool = True
) -> str:
    """What the filter says to a call: `allow`, `kill`, or the name of an error."""
    program = list(struct.iter_unpack("=HBBI", assemble(machine, truncate_guarded=guarded)))
    data = struct.pack(
        "=IIQ6Q", number, audit or machine.audit, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6]
    )
    accumulator = place = 0
    while True:
        code, if_true, if_false, constant = program[place]
        place += 1
        match code:
            case 0x20:  # load
                (accumulator,) = struct.unpack_from("=I", data, constant)
            case 0x54:  # and
                accumulator &= constant
            case 0x05:  # jump
                place += constant
            case 0x15:
                place += if_true if accumulator == constant else if_false
            case 0x35:
                place += if_true if accumulator >= constant else if_false
            case 0x45:
                place += if_true if accumulator & constant else if_false
            case 0x06:
                if constant & 0xFFFF0000 == 0x00050000:
                    return errno.errorcode[constant & 0xFFFF]
                return {0x7FFF0000: ALLOW, 0x80000000: KILL}[constant]


@pytest.fixture(params=sorted(MACHINES))
def machine(request: pytest.FixtureRequest) -> Machine:
    return MACHINES[request.param]


CHECKED = {"fcntl", "ioctl", "open", "openat"}
"""Calls of the lists whose arguments decide."""


def test_every_call_of_a_list_is_answered_as_the_list_says(machine: Machine) -> None:
    for names, expected in (
        (syscalls.ALLOWED, ALLOW),
        (syscalls.FATAL, KILL),
        (syscalls.DENIED, "EPERM"),
    ):
        for name in names - CHECKED:
            if name in machine.numbers:
                assert answer(machine, machine.numbers[name]) == expected, name


def test_the_lists_do_not_overlap() -> None:
    assert not syscalls.ALLOWED & syscalls.FATAL
    assert not syscalls.ALLOWED & syscalls.DENIED
    assert not syscalls.FATAL & syscalls.DENIED


def test_calls_in_no_list_do_not_exist(machine: Machine) -> None:
    known = set(machine.numbers.values())
    for number in range(600):
        if number not in known:
            assert answer(machine, number) == "ENOSYS", number


def test_another_processor_s_calls_are_fatal(machine: Machine) -> None:
    assert answer(machine, machine.numbers["read"], audit=0x40000003) == KILL


def test_the_x32_door_is_fatal() -> None:
    machine = MACHINES["x86_64"]
    assert answer(machine, 0x40000000 | machine.numbers["read"]) == KILL


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("clone", (0x3D0F00,), ALLOW),  # a thread
        ("clone", (17,), KILL),  # a process
        ("prlimit64", (0, 7, 0, 0x7FFF00000000), ALLOW),
        ("prlimit64", (0, 7, 0x7FFF00000000, 0), "EPERM"),
        ("prlimit64", (0, 7, 0x10, 0), "EPERM"),
        ("prctl", (15,), ALLOW),
        ("prctl", (1, 0), "EPERM"),
        ("tgkill", (5, 5, 6), "EPERM"),
        ("tgkill", (5, 5, 9), KILL),
        ("socketpair", (1,), ALLOW),
        ("socketpair", (2,), KILL),
        ("sendto", (3, 0x10, 1, 0, 0), ALLOW),
        ("sendto", (3, 0x10, 1, 0, 0x10), KILL),
        ("sendto", (3, 0x10, 1, 0, 1 << 40), KILL),
        ("fcntl", (3, 1), ALLOW),
        ("fcntl", (3, 8, 1), "EPERM"),
        ("ioctl", (1, 0x5401), ALLOW),
        ("ioctl", (1, 0x5412), "ENOTTY"),
        ("openat", (0, 0, 0), ALLOW),
        ("openat", (0, 0, 0o1101), ALLOW),
        ("openat", (0, 0, 0o1000), "EPERM"),
    ],
)
def test_arguments_decide(
    machine: Machine, name: str, arguments: tuple[int, ...], expected: str
) -> None:
    assert answer(machine, machine.numbers[name], *arguments) == expected


def test_truncating_by_name_is_for_landlock_to_judge_where_it_can(machine: Machine) -> None:
    number = machine.numbers["truncate"]
    assert answer(machine, number) == ALLOW
    assert answer(machine, number, guarded=False) == "EPERM"
