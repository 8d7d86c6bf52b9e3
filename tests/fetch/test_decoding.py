"""Content encodings: each is read to a bound, in parts, and told from what it is not."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import pytest

from ramet.fetch import decoding
from ramet.fetch.decoding import RATIO_FLOOR_BYTES, BrokenEncoding, accepted, decoder_of, unpacks_too_far

TEXT = b"".join(b"line %d of a page that a person wrote\n" % number for number in range(2_000))


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKED = {
    "gzip": gzip.compress(TEXT),
    "X-GZIP ": gzip.compress(TEXT),
    "deflate": zlib.compress(TEXT),
    "Deflate": raw_deflate(TEXT),
}


@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize("step", [1_000, 1_000_000])
def test_a_body_is_unpacked_part_by_part(encoding: str, step: int) -> None:
    decoder, packed, found = decoder_of(encoding), PACKED[encoding], b""
    assert decoder is not None
    for at in range(0, len(packed), step):
        found += decoder.decode(packed[at : at + step], len(TEXT) + 1 - len(found))
    assert found == TEXT
    assert decoder.eof


@pytest.mark.parametrize("encoding", PACKED)
def test_no_more_is_unpacked_than_there_is_room_for(encoding: str) -> None:
    decoder = decoder_of(encoding)
    assert decoder is not None
    assert decoder.decode(PACKED[encoding], 100) == TEXT[:100]


@pytest.mark.parametrize("encoding", PACKED)
def test_other_bytes_are_told(encoding: str) -> None:
    decoder = decoder_of(encoding)
    assert decoder is not None
    with pytest.raises(BrokenEncoding):
        decoder.decode(b"<html>a page that is not packed at all</html>", 1_000)


def test_what_is_not_packed_has_no_decoder() -> None:
    assert decoder_of("") is None
    assert decoder_of(" Identity ") is None
    for unknown in ("gzip, gzip", "compress", "rot13"):
        with pytest.raises(LookupError):
            decoder_of(unknown)


def test_a_ratio_says_nothing_of_a_small_answer() -> None:
    assert not unpacks_too_far(RATIO_FLOOR_BYTES, 1)
    assert unpacks_too_far(RATIO_FLOOR_BYTES + 1, 1_000)
    assert not unpacks_too_far(30_000_000, 1_000_000)


class _Module:
    """Stands in for ``brotli`` or ``zstd``: reverses bytes, and fails at ``!``."""

    class Error(Exception):
        pass

    error = ZstdError = Error

    class Decompressor:
        eof = False

        def process(self, data: bytes, output_buffer_limit: int) -> bytes:
            return self.decompress(data, output_buffer_limit + 1)

        def decompress(self, data: bytes, max_length: int) -> bytes:
            if data == b"!":
                raise _Module.Error
            self.eof = True
            return data[::-1][:max_length]

        def is_finished(self) -> bool:
            return self.eof

        def can_accept_more_data(self) -> bool:
            return True

    ZstdDecompressor = Decompressor


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    def install(**modules: Any) -> None:
        named = {name.replace("_", "."): module for name, module in modules.items()}
        monkeypatch.setattr(decoding, "_imported", named.get)
        decoding._decoders.cache_clear()

    yield install
    decoding._decoders.cache_clear()


def test_packages_that_are_installed_are_asked_for_and_bounded(installed: Any) -> None:
    installed(brotli=_Module, backports_zstd=_Module)
    assert accepted() == "gzip, br, zstd"
    for encoding in ("br", "zstd"):
        decoder = decoder_of(encoding)
        assert decoder is not None
        assert decoder.decode(b"abc", 2) == b"cb"
        assert decoder.eof
        with pytest.raises(BrokenEncoding):
            decoder.decode(b"!", 2)


def test_a_package_that_cannot_bound_its_output_is_not_used(installed: Any) -> None:
    class Old:
        Decompressor = object

    installed(brotli=Old)
    assert accepted() == "gzip"
    with pytest.raises(LookupError):
        decoder_of("br")
