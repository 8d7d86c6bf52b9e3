"""The content encodings of answers, each unpacked to a bound: what packs a gigabyte into a megabyte is left there.

gzip and deflate are in the standard library. Brotli and Zstandard are read, and asked for, where a package that bounds
its output is installed: ``brotli`` from 1.2 on, and ``backports.zstd`` (or Python 3.14).
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

RATIO_MAX = 300
"""Bytes that one received byte may become. Pages stay below 60; gzip can do 1,030, the others more."""
RATIO_FLOOR_BYTES = 1024 * 1024
"""Unpacked bytes below which the ratio says nothing."""


class BrokenEncoding(Exception):
    """The bytes are not of the encoding that was stated. The message is one line."""


class Decoder(Protocol):
    """Unpacks one body, part by part."""

    @property
    def eof(self) -> bool:
        """True at the end of the packed stream."""
        ...

    def decode(self, part: bytes, room: int) -> bytes:
        """Unpack a part to at most this number of bytes; the rest is dropped, so that nothing may follow it.

        Raises:
            BrokenEncoding: it is not of this encoding.
        """
        ...


class _Zlib:
    """gzip, or deflate in the two forms in which servers send it."""

    def __init__(self, window_bits: int, otherwise: int | None = None) -> None:
        self._stream = zlib.decompressobj(window_bits)
        self._otherwise = otherwise

    @property
    def eof(self) -> bool:
        return self._stream.eof

    def decode(self, part: bytes, room: int) -> bytes:
        try:
            decoded = self._stream.decompress(part, room)
        except zlib.error as error:
            if self._otherwise is None:
                raise BrokenEncoding(str(error)) from None
            self._stream, self._otherwise = zlib.decompressobj(self._otherwise), None
            return self.decode(part, room)
        self._otherwise = None
        return decoded


class _Brotli:
    def __init__(self, module: Any) -> None:
        self._stream, self._error = module.Decompressor(), module.error

    @property
    def eof(self) -> bool:
        return bool(self._stream.is_finished())

    def decode(self, part: bytes, room: int) -> bytes:
        try:
            return bytes(self._stream.process(part, output_buffer_limit=room))[:room]
        except self._error as error:
            raise BrokenEncoding(str(error) or "an invalid stream") from None


class _Zstandard:
    def __init__(self, module: Any) -> None:
        self._stream, self._error = module.ZstdDecompressor(), module.ZstdError

    @property
    def eof(self) -> bool:
        return bool(self._stream.eof)

    def decode(self, part: bytes, room: int) -> bytes:
        try:
            return bytes(self._stream.decompress(part, room))
        except self._error as error:
            raise BrokenEncoding(str(error)) from None


@cache
def _decoders() -> dict[str, Callable[[], Decoder]]:
    """Return decoders by the name of their encoding, those that are installed."""
    found: dict[str, Callable[[], Decoder]] = {
        "gzip": lambda: _Zlib(16 + zlib.MAX_WBITS),
        "x-gzip": lambda: _Zlib(16 + zlib.MAX_WBITS),
        "deflate": lambda: _Zlib(zlib.MAX_WBITS, otherwise=-zlib.MAX_WBITS),
    }
    brotli = _imported("brotli")
    if brotli is not None and hasattr(brotli.Decompressor, "can_accept_more_data"):
        found["br"] = lambda: _Brotli(brotli)
    zstandard = _imported("compression.zstd") or _imported("backports.zstd")
    if zstandard is not None:
        found["zstd"] = lambda: _Zstandard(zstandard)
    return found


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def accepted() -> str:
    """Return the ``Accept-Encoding`` to send. deflate is read and not asked for: servers disagree on what it is."""
    return ", ".join(name for name in ("gzip", "br", "zstd") if name in _decoders())


def decoder_of(encoding: str) -> Decoder | None:
    """Return a decoder of a ``Content-Encoding``.

    Returns:
        None for a body that is sent as it is.

    Raises:
        LookupError: the encoding is not read here, or several are stacked.
    """
    name = encoding.strip().lower()
    return None if name in ("", "identity") else _decoders()[name]()


def unpacks_too_far(decoded: int, received: int) -> bool:
    """Return whether an answer is packed as no page is: `RATIO_MAX`."""
    return decoded > max(RATIO_FLOOR_BYTES, RATIO_MAX * received)
