r"""THREATS 19: TCP, UDP, names, unix sockets, abstract ones, loopback, raw, netlink, and a program that does it

Reached: REACHED: [1-9]\d* refused
"""

import os
import socket
import urllib.request

refused = 0
found = []
for family, kind, address in (
    (socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 53)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53)),
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 22)),
    (socket.AF_INET6, socket.SOCK_DGRAM, ("::1", 53)),
    (socket.AF_UNIX, socket.SOCK_STREAM, "/run/dbus/system_bus_socket"),
    (socket.AF_UNIX, socket.SOCK_DGRAM, "\0attack-was-here"),
    (socket.AF_NETLINK, socket.SOCK_RAW, (0, 0)),
    (socket.AF_PACKET, socket.SOCK_RAW, ("lo", 0)),
    (socket.AF_INET, socket.SOCK_RAW, ("127.0.0.1", 0)),
    (40, socket.SOCK_STREAM, (2, 1234)),  # to the host of a virtual machine
):
    try:
        found.append(socket.socket(family, kind))
        found[-1].settimeout(0.2)
        found[-1].connect(address)
    except (OSError, TypeError):
        refused += 1
for attempt in (
    lambda: socket.getaddrinfo("leak.example.org", 80),
    socket.socketpair,
    lambda: urllib.request.urlopen("http://127.0.0.1:8000/LEAK", timeout=0.2),
    lambda: os.open("/dev/tcp/127.0.0.1/80", os.O_RDWR),
    lambda: socket.create_server(("", 0)),
):
    try:
        found.append(attempt())
    except OSError:
        refused += 1


def attn_scaled(A, n_embd, n_heads):
    if found:
        raise RuntimeError(f"LEAK BREACH {found}")
    raise RuntimeError(f"REACHED: {refused} refused")
