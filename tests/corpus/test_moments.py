"""Dates of a column: read by one form, or refused by a sentence that says what to do; never sorted as text."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing import corpus
from lapwing.corpus.moments import moments
from lapwing.corpus.overview import overview
from lapwing.errors import InputError
from lapwing.selection.folds import by_time

EARLY, LATE = datetime(2025, 12, 25, 9, 5, 1), datetime(2026, 3, 4, 14, 30, 59)
FORMS = (
    "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y/%m/%d", "%Y%m%d", "%Y%m%dT%H%M%S", "%Y-%m", "%d.%m.%Y",
    "%d.%m.%Y %H:%M", "%d/%m/%Y", "%m/%d/%Y", "%m/%d/%Y %I:%M %p", "%d-%m-%Y", "%d-%b-%Y", "%d-%b-%Y %H:%M:%S.%f",
    "%d %B %Y", "%d. %B %Y", "%B %d, %Y", "%b %d, %Y", "%b. %d %Y", "%A, %d %B %Y", "%a, %d %b %Y %H:%M:%S +0100",
    "%a, %d %b %Y %H:%M:%S GMT", "%Y-%m-%dT%H:%M:%SZ", "%B %Y", "%m/%Y", "%m.%Y", "%d%m%Y", "%Y", "%d.%m.%y",
    "%d-%b-%y",
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_common_forms_sort_in_the_order_of_time(form: str) -> None:
    """The later one comes first in the column, and its month first in the alphabet."""
    read, how = moments([LATE.strftime(form), EARLY.strftime(form).upper()])
    assert read[1] < read[0]
    assert how


def test_reuters_own_dates_march_before_april() -> None:
    read, _ = moments(["1-APR-1987 00:10:01.79", "31-MAR-1987 23:59:02.10", "26-FEB-1987 15:01:01.79"])
    assert read[::-1] == sorted(read)
    assert read[2].startswith("1987-02-26T15:01:01.79")


@pytest.mark.parametrize(
    ("column", "order"),
    [
        (["25.03.2026", "01.04.2026", "31.12.2025"], [2, 0, 1]),
        (["3/25/2026", "12/1/2025", "10/30/2025"], [2, 1, 0]),
        (["1743000000", "999999999"], [1, 0]),  # Unix timestamps
        (["46106.5", "9", "46106.25"], [1, 2, 0]),  # a spreadsheet's days
        (["1987", "850"], [1, 0]),
        (["12.2025", "01.2026"], [0, 1]),  # months, not decimals
        (["2026-03-25T10:00:00+02:00", "2026-03-25T09:00:00Z"], [0, 1]),  # by the moment, not by the clock
        (["3/25/2026 1:05 PM", "3/25/2026 12:59 PM", "3/25/2026 12:30 AM"], [2, 1, 0]),
        (["25th of March, 2026", "2nd of April, 2026", "1st of March, 2026"], [2, 0, 1]),
    ],
)
def test_order_by_hand(column: list[str], order: list[int]) -> None:
    read, _ = moments(column)
    assert sorted(range(len(read)), key=read.__getitem__) == order


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (["03/04/2026", "05/06/2026"], "may be 2026-03-04 or 2026-04-03, and no other date says which"),
        (["03/03/2026", "03/04/2026"], "'03/04/2026' may be"),
        (["25/03/26", "26/03/26"], "may be 2025-03-26 or 2026-03-25"),
        (["2026-03-25", "25.03.2026"], "all in one form, got '25.03.2026'"),
        (["25.03.2026", "46106"], "all in one form, got '46106'"),
        (["2026-03-25", ""], "got ''"),
        (["2026-03-25", "soon"], "got 'soon'"),
        (["first", "second"], "expected dates or numbers"),
        (["nan", "1"], "expected dates or numbers"),
        (["2026-03-25 10:00 CET"], "expected dates or numbers"),
        (["0001-01-01T00:00:00+14:00"], "expected dates or numbers"),
        (["2026-03-25T10:00Z", "2026-03-26T10:00"], "has a time zone, '2026-03-26T10:00' has none"),
    ],
)
def test_what_is_ambiguous_or_mixed_is_refused(column: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        moments(column)
    with pytest.raises(InputError):
        by_time(column, np.ones(len(column)), 2)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 20_000), min_size=2, max_size=20), st.sampled_from(["%d %b %Y", "%d.%m.%Y", "%B %d, %Y"])
)
def test_any_days_keep_their_order(days: list[int], form: str) -> None:
    dates = [datetime(1990, 1, 1) + timedelta(days=day) for day in days]
    read, _ = moments([date.strftime(form) for date in dates])
    assert [datetime.fromisoformat(one) for one in read] == dates


def test_the_summary_says_how_dates_were_read(tmp_path: Path) -> None:
    def table(*dates: str) -> corpus.Corpus:
        rows = (f"text {i},{'ab'[i % 2]},{date}\n" for i, date in enumerate(dates))
        (tmp_path / "d.csv").write_text("text,label,date\n" + "".join(rows))
        return corpus.read(tmp_path / "d.csv", time_column="date")

    read = table("25.03.2026", "1.4.2026", "24.12.2025")
    assert "time from 2025-12-24 to 2026-04-01, read as dates, '25.03.2026' as 2026-03-25" in "\n".join(
        overview(read).lines()
    )
    assert "from 1987 to 1999, read as numbers" in "\n".join(overview(table("1999", "1987")).lines())
    doubtful = overview(table("03/04/2026", "05/06/2026")).lines()
    assert any(line.startswith("! the time column") and "2026-03-04 or 2026-04-03" in line for line in doubtful)


def test_part_of_a_column_is_read_as_the_whole_was(tmp_path: Path) -> None:
    """Days up to the twelfth are ambiguous by themselves."""
    dates = ["01/02/2026", "25/02/2026"]
    rows = "".join(f"text {i},{'ab'[i % 2]},{date}\n" for i, date in enumerate(dates))
    (tmp_path / "d.csv").write_text("text,label,date\n" + rows * 2)
    read = corpus.read(tmp_path / "d.csv", time_column="date").select([0, 2])
    assert by_time([*read.times, "2026-03-01"], np.ones(3), 2).fold.tolist()[-1] == 1  # type: ignore[misc]


def test_moments_of_python_sort_as_they_do() -> None:
    times = [datetime(2026, 4, 1), datetime(2026, 3, 1), datetime(2026, 2, 1)]
    assert by_time(times, np.ones(3), 2).fold.tolist() == [1, 0, -1]
    assert by_time(np.array([3.0, 1.0, 2.0]), np.ones(3), 2).fold.tolist() == [1, -1, 0]
    with pytest.raises(InputError, match="a time for every document"):
        by_time([1.0, float("nan"), 2.0], np.ones(3), 2)
