"""Parquet files, written group by group, so that at most one group of rows is in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO, Self

from ramet.commands.extras import import_extra

PARQUET_EXTRA = "'ramet[parquet]'"
"""Extra that installs the library for Parquet, as typed in a shell."""
GROUP_CHARACTERS = 8_000_000
"""Characters of text and bytes of vectors after which a group is written, whole or not."""
NUMBER_BYTES = 4
"""Bytes of one number of a vector."""


class RowGroups:
    """One Parquet file, of which at most one group of rows is in memory."""

    def __init__(
        self,
        file: BinaryIO,
        columns: Sequence[tuple[str, Any]],
        *,
        group_rows: int,
        group_characters: int = GROUP_CHARACTERS,
        compression: str = "snappy",
    ) -> None:
        """Begin the file.

        Args:
            file: where it goes.
            columns: names with types of pyarrow.
            group_rows: rows that are written together, at most.
            group_characters: characters and bytes after which a group is written.
            compression: as pyarrow names it.

        Raises:
            ExtraMissing: pyarrow is not installed.
        """
        self._arrow = import_extra("pyarrow", PARQUET_EXTRA)
        self._schema = self._arrow.schema(columns)
        self._writer = import_extra("pyarrow.parquet", PARQUET_EXTRA).ParquetWriter(
            file, self._schema, compression=compression
        )
        self._group_rows, self._group_characters = group_rows, group_characters
        self._columns: tuple[list[Any], ...] = tuple([] for _ in columns)
        self._characters = 0
        self.rows = 0

    def add(self, row: Sequence[Any]) -> None:
        """Add one row, in the order of the columns; a vector is bytes of little-endian 32-bit numbers."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
            if isinstance(value, (str, bytes)):
                self._characters += len(value)
        self.rows += 1
        if len(self._columns[0]) >= self._group_rows or self._characters >= self._group_characters:
            self._write()

    def finish(self) -> None:
        """Write what is left, and the end of the file, which says where the groups are."""
        if self._columns[0]:
            self._write()
        self._writer.close()

    def abandon(self) -> None:
        """Close the writer while the file is open: it would do so by itself when it is collected, and complain."""
        try:
            self._writer.close()
        except OSError:
            # Data on its way to a full disk; the reason was given when it was written.
            self._writer.is_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.abandon()

    def _write(self) -> None:
        arrays = [self._array(field.type, column) for field, column in zip(self._schema, self._columns, strict=True)]
        self._writer.write_table(self._arrow.table(arrays, schema=self._schema), row_group_size=self._group_rows)
        for column in self._columns:
            column.clear()
        self._characters = 0

    def _array(self, kind: Any, column: list[Any]) -> Any:
        arrow = self._arrow
        if not arrow.types.is_fixed_size_list(kind):
            return arrow.array(column, type=kind)
        # Without a list of Python's for each vector. Of what has none there are zeros below its null.
        none = bytes(NUMBER_BYTES * kind.list_size)
        data = arrow.py_buffer(b"".join(none if vector is None else vector for vector in column))
        numbers = arrow.Array.from_buffers(arrow.float32(), len(column) * kind.list_size, [None, data])
        missing = arrow.array([vector is None for vector in column], type=arrow.bool_())
        return arrow.FixedSizeListArray.from_arrays(numbers, type=kind, mask=missing)
