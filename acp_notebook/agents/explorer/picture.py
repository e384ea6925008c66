"""A picture without a library: an indexed PNG of a sine wave."""

from __future__ import annotations

import math
import struct
import zlib

WIDTH, HEIGHT = 320, 96

_PALETTE = bytes((250, 250, 250, 221, 221, 221, 31, 119, 180))  # paper, axis, curve


def sine_png() -> bytes:
    """Return a PNG of 320 by 96 pixels: two periods of a sine, and its axis."""
    middle = HEIGHT // 2
    rows = [bytearray(WIDTH) for _ in range(HEIGHT)]
    rows[middle] = bytearray([1] * WIDTH)
    for x in range(WIDTH):
        y = round(middle - (middle - 8) * math.sin(x / WIDTH * 4 * math.pi))
        for thick in (-1, 0, 1):
            rows[y + thick][x] = 2
    pixels = b"".join(
        b"\0" + bytes(row) for row in rows
    )  # each row: filter type 0, then its pixels
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0)  # 8 bits, palette
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, data)
        for kind, data in (
            (b"IHDR", header),
            (b"PLTE", _PALETTE),
            (b"IDAT", zlib.compress(pixels)),
            (b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
