"""Sizes of an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..codes import BitLayout
from .segment import Segment

__all__ = ["IndexStats"]


@dataclass(frozen=True)
class IndexStats:
    """Sizes of an index, with its bytes by purpose."""

    n_bits: int
    fields: BitLayout
    n_rows: int
    n_codes: int  # distinct ones, counted per segment
    n_segments: int
    longest_list: int  # most rows with one code
    code_bytes: int
    list_bytes: int
    id_bytes: int
    table_bytes: int  # multi-index hashing, once built
    group_bytes: int  # groups of kin codes, once built
    model_id: str | None

    @classmethod
    def of(
        cls, segments: Sequence[Segment], n_bits: int, fields: BitLayout, model_id: str | None
    ) -> IndexStats:
        """Measure segments."""
        tables = [segment.hashing.tables for segment in segments]
        groups = [segment.grouping.groups for segment in segments]
        return cls(
            n_bits=n_bits,
            fields=fields,
            n_rows=sum(map(len, segments)),
            n_codes=sum(segment.n_codes for segment in segments),
            n_segments=len(segments),
            longest_list=max((segment.longest_list() for segment in segments), default=0),
            code_bytes=sum(segment.blocks.nbytes for segment in segments),
            list_bytes=sum(segment.starts.nbytes + segment.rows.nbytes for segment in segments),
            id_bytes=sum(segment.ids.n_bytes for segment in segments),
            table_bytes=sum(table.n_bytes for table in tables if table is not None),
            group_bytes=sum(group.n_bytes for group in groups if group is not None),
            model_id=model_id,
        )
