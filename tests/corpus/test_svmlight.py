from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lapwing import corpus
from lapwing.corpus.svmlight import normal
from lapwing.errors import CorpusError

from .build import SVMLIGHT

Write = Callable[[str, bytes | str], Path]


def test_matrix_names_labels_weights(write: Write) -> None:
    read = corpus.read(write("a.svm", SVMLIGHT))
    assert read.kind == "vectors"
    assert isinstance(read.documents, sp.csr_matrix)
    assert read.feature_names == ["1", "2", "3", "10"]
    expected = [[2, 0, 0.5, 0], [0, 1e-3, 0, 0], [0, 0, 0, 4]]
    np.testing.assert_array_equal(read.documents.toarray(), expected)
    assert read.documents.indices.dtype == np.int32
    assert read.documents.dtype == np.float64
    assert read.documents.has_sorted_indices
    assert read.labels == [("1",), ("-1",), ("1",)]
    assert read.exclusive
    assert read.ids == ["first", "a.svm:3", "a.svm:4"]
    assert list(read.weights) == [1.0, 2.5, 1.0]


def test_streamed_vectors(write: Write) -> None:
    with corpus.stream(write("a.svm", SVMLIGHT)) as documents:
        first = next(documents)
    assert first.content == ([1, 3], [2.0, 0.5])


def test_several_labels_and_none(write: Write) -> None:
    read = corpus.read(write("a.svm", "2,1 1:1\n 5:1 6:0\n3,\nsport\t7:1\n"))
    assert read.labels == [("1", "2"), (), ("3",), ("sport",)]
    assert not read.exclusive
    assert read.documents.nnz == 3
    assert read.feature_names == ["1", "5", "6", "7"]


def test_select_keeps_rows_together(write: Write) -> None:
    part = corpus.read(write("a.svm", SVMLIGHT)).select([2, 0])
    np.testing.assert_array_equal(part.documents.toarray(), [[0, 0, 0, 4], [2, 0, 0.5, 0]])
    assert part.ids == ["a.svm:4", "first"]


@pytest.mark.parametrize("spelling", ["1", "+1", "1.0", "1e0", "01", "+1."])
def test_numeric_labels_are_normalised(spelling: str) -> None:
    assert normal(spelling) == "1"


@pytest.mark.parametrize("label", ["0.5", "x", "nan", "1_0", "-1", "0"])
def test_other_labels_stay(label: str) -> None:
    assert normal(label) == label


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("1 2:nan", "2:nan"),
        ("1 2:inf", "2:inf"),
        ("1 2:1e999", "finite"),
        ("1 2:1 2:3", "2 repeatedly"),
        ("1 2147483648:1", "2147483647"),
        ("1 " + "9" * 5000 + ":1", "2147483647"),
        ("1 -1:1", "-1:1"),
        ("1 2:1:3 4", "2:1:3"),
        ("1 0 1 2:1", "'0'"),
        ("1 2: 3", "'2:'"),
        ("1 2:1_0", "1_0"),
        ("1 cost:x 2:1", "weight"),
        ("1 " + "1" * 100_000 + "x", "id:value"),
    ],
)
def test_broken_lines(line: str, says: str, write: Write) -> None:
    path = write("a.svm", f"1 1:1\n{line}\n-1 3:1\n")
    with pytest.raises(CorpusError, match=says) as caught:
        corpus.read(path)
    assert caught.value.line == 2
    kept = corpus.read(path, skip_bad=True)
    assert kept.feature_names == ["1", "3"]
    assert kept.skipped == 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.dictionaries(
            st.integers(0, 2**31 - 1),
            st.floats(allow_nan=False, allow_infinity=False).filter(bool),
            max_size=8,
        ),
        min_size=1,
    )
)
def test_round_trip(tmp_path: Path, rows: list[dict[int, float]]) -> None:
    path = tmp_path / "a.svm"
    path.write_text("".join("1 " + " ".join(f"{i}:{v!r}" for i, v in row.items()) + "\n" for row in rows))
    read = corpus.read(path)
    back = [{} for _ in rows]
    coo = read.documents.tocoo()
    for r, c, v in zip(coo.row, coo.col, coo.data, strict=True):
        back[r][int(read.feature_names[c])] = v
    assert back == rows
    assert read.feature_names == [str(i) for i in sorted({i for row in rows for i in row})]
