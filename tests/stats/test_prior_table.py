"""Prior knowledge as rows: how it is written, what it compiles to, and what is wrong with it where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.errors import PriorError
from lapwing.priors import (
    INTERCEPT,
    ElasticNet,
    Gaussian,
    Laplace,
    Prior,
    PriorTable,
    by_idf,
    from_names,
    from_words,
    read,
    read_bbr,
    read_words,
)
from lapwing.stats.objective import PriorArrays
from lapwing.stats.priors import Columns
from lapwing.text import TextSettings

INF = np.inf
NAMES = ["barley", "corn", "oil", "wheat"]
X = sp.csr_matrix(np.array([[1.0, 2, 0, 0], [0, 1, 1, 0], [0, 3, 0, 1], [0, 1, 0, 0]]))


def compiled(table: PriorTable, variance: float = 4.0, category: Any = "grain", **options: Any) -> PriorArrays:
    return table.bind(Columns(NAMES, X), category, **options).compile(variance, 4)


class Frame:
    """As much of a data frame as is asked for."""

    def __init__(self, **columns: list[Any]) -> None:
        self.columns = list(columns)
        self._content = columns

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        assert orient == "records"
        return [dict(zip(self.columns, cells, strict=True)) for cells in zip(*self._content.values(), strict=True)]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


TSV = """# what we know
wheat\t1\t2x\t+
oil\t-0.5\t0.25\t0\tgrain

(intercept)\t0\tinf
*\t.\t3x
"""


def test_a_dict_a_frame_rows_and_a_file_say_the_same(tmp_path: Path) -> None:
    from_dict = PriorTable({
        "wheat": {"mode": 1, "variance": "2x", "sign": "+"},
        ("grain", "oil"): {"mode": -0.5, "variance": 0.25},
        INTERCEPT: {"variance": INF},
        "*": {"variance": "3x"},
    })  # fmt: skip
    frame = Frame(
        feature=["wheat", "oil", INTERCEPT, "*"], mode=[1.0, -0.5, 0.0, np.nan], variance=["2x", 0.25, "inf", "3x"],
        sign=["+", None, 0.0, 0], category=[None, "grain", float("nan"), ""],
    )  # fmt: skip
    path = written(tmp_path / "priors.tsv", TSV)
    headed = "feature\tcategory\tsign\tvariance\tmode\nwheat\t\t+\t2x\t1\noil\tgrain\t\t.25\t-.5\n"
    with_header = read(written(tmp_path / "headed.tsv", headed))
    tables = [from_dict, PriorTable(frame), PriorTable(from_dict.rows), read(path), PriorTable(path)]
    for table in tables:
        assert table.rows == from_dict.rows
        for ours, theirs in zip(compiled(table), compiled(from_dict), strict=True):
            assert np.array_equal(ours, theirs)
    assert with_header.rows == from_dict.rows[:2]
    again = written(tmp_path / "again.tsv", "\n".join(map(str, from_dict.rows)))
    assert read(again).rows == from_dict.rows  # a row prints as it is read


def test_what_it_compiles_to() -> None:
    table = PriorTable({"wheat": {"mode": 1, "variance": "2x"}, "oil": {"variance": 0.5, "sign": "-"},
                        "corn": {"variance": INF}, INTERCEPT: {"mode": -1, "variance": "0.25x"}})  # fmt: skip
    mode, l1, l2, lower, upper = compiled(table, 4.0)
    assert mode.tolist() == [0, 0, 0, 1, -1]
    np.testing.assert_allclose(l1, np.sqrt([2 / 4, 0, 1 / 0.5, 2 / 8, 2 / 1]))  # one-sided: λ = √(1/v)
    assert not l2.any()
    assert lower.tolist() == [-INF] * 5
    assert upper.tolist() == [INF, INF, 0, INF, INF]
    np.testing.assert_allclose(compiled(table.over("gaussian")).l2, [0.25, 0, 2, 0.125, 1])
    mixed = compiled(table.over(ElasticNet(0.5)))
    np.testing.assert_allclose([mixed.l1[2], mixed.l2[2]], [0.5 * np.sqrt(2), 1.0])


def test_a_sign_away_from_the_mode_is_a_bound_and_no_exponential() -> None:
    arrays = compiled(PriorTable({"wheat": {"mode": 1, "variance": 2, "sign": 1}}))
    assert (arrays.lower[3], arrays.mode[3], arrays.l1[3]) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("base", [Laplace(), Gaussian(), ElasticNet()])
@pytest.mark.parametrize("variance", [0.0, 1e-320])
def test_no_variance_is_no_freedom(base: Prior, variance: float) -> None:
    arrays = compiled(PriorTable({"wheat": {"mode": 0.7, "variance": variance, "sign": "+"}}, base))
    assert [part[3] for part in arrays] == [0.7, 0.0, 0.0, 0.7, 0.7]
    assert not arrays.flat.any()


def test_the_nearer_row_counts() -> None:
    table = PriorTable({"*": 1.0, "wheat": 2.0, ("grain", "wheat"): 3.0, ("crude", "oil"): 4.0})
    assert compiled(table).mode.tolist() == [1, 1, 1, 3, 0]
    assert compiled(table, category="crude").mode.tolist() == [1, 1, 4, 2, 0]


def test_of_two_classes_one_is_the_other_turned_round() -> None:
    table = PriorTable([
        {"feature": "wheat", "mode": 1, "sign": "+", "category": "no"},
        {"feature": "oil", "mode": 2, "category": "yes"},
    ])  # fmt: skip
    arrays = compiled(table, category="yes", opposite="no")
    assert arrays.mode.tolist() == [0, 0, 2, -1, 0]
    assert (arrays.lower[3], arrays.upper[3]) == (-INF, 0.0)
    both = PriorTable({("yes", "oil"): 2.0, ("no", "oil"): 2.0})
    with pytest.raises(PriorError, match="contradicts what the prior of 'oil' says"):
        compiled(both, category="yes", opposite="no")
    agreed = PriorTable({("yes", "oil"): 2.0, ("no", "oil"): -2.0})
    assert compiled(agreed, category="yes", opposite="no").mode[2] == 2.0


def test_words_go_through_the_text_stage() -> None:
    text = TextSettings(stop_words="smart")
    table = PriorTable({"Prices": 1.0, ("grain", "wheats"): 2.0}).in_terms(text)
    assert [row.feature for row in table.rows] == ["price", "wheat"]
    words = from_words({"grain": ["Wheat", "corn", "the"], "crude": "oil and its products"}, mode=2.0).in_terms(text)
    assert [(row.category, row.feature, row.mode) for row in words.rows] == [
        ("grain", "corn", 2.0), ("grain", "wheat", 2.0), ("crude", "oil", 2.0), ("crude", "product", 2.0),
    ]  # fmt: skip
    names = from_names(["comp.graphics", "money-fx"], {"money-fx": "foreign exchange"}).in_terms(text)
    assert [row.feature for row in names.rows] == ["comp", "graphic", "exchang", "foreign", "fx", "monei"]
    alike = PriorTable({"wheat": 1.0, "Wheats": 1.0}).in_terms(text)
    assert len(alike.rows) == 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"wheat corn": 1.0}, "expected one word, got 'wheat corn', which is 2 to the model: corn, wheat"),
        ({"the": 1.0}, "'the' is a stop word"),
        ({"!!": 1.0}, "in which the text stage finds none"),
        ({"wheat": 1.0, "wheats": 2.0}, "'wheat' has another prior already .the prior of 'wheat'."),
    ],
)
def test_words_that_are_none(table: dict[str, float], message: str) -> None:
    with pytest.raises(PriorError, match=message):
        PriorTable(table).in_terms(TextSettings(stop_words="smart"))


def test_what_training_does_not_have() -> None:
    PriorTable({"wheat": 1.0, INTERCEPT: 1.0, "*": 0.0, ("7", "oil"): 1.0}).check(NAMES, [7])
    with pytest.raises(PriorError, match="no training document has the feature 'rye'"):
        PriorTable({"rye": {"sign": "+"}}).check(NAMES, [])
    with pytest.raises(PriorError, match="'grian' is no category"):
        PriorTable({("grian", "oil"): 1.0}).check(NAMES, ["grain"])
    PriorTable({("grian", "rye"): 1.0}, strict=False).check(NAMES, ["grain"])
    words = from_words({"grain": "rye", "grian": "oil"}, mode=0.0, sign="+").in_terms(None)
    with pytest.raises(PriorError, match="'grian' is no category"):
        words.check(NAMES, ["grain"])
    words.check(NAMES, ["grain", "grian"])  # nobody had to see the rye
    table = words + PriorTable({"rye": {"sign": "-"}})
    with pytest.raises(PriorError, match="no training document has the feature 'rye'"):
        table.check(NAMES, ["grain", "grian"])


BAD = [
    ("wheat\tone", "line 2: expected a mode, a number, got 'one'"),
    ("wheat\t1\twide", "line 2: expected a variance such as 2"),
    ("wheat\t1\t-2x", "line 2: expected a variance of 0 or more"),
    ("wheat\t1\tnan", "line 2: expected a variance of 0 or more"),
    ("wheat\t1\t2xx", "line 2: expected a variance such as 2"),
    ("wheat\t1\tx", "line 2: expected a variance such as 2"),
    ("wheat\t1\t1_0x", "line 2: expected a variance such as 2"),
    ("wheat\t1_0", "line 2: expected a mode, a number"),
    ("wheat\tinf", "line 2: expected a finite mode"),
    ("wheat\t1\t2\tup", "line 2: expected a sign of .*, got 'up'"),
    ("wheat\t-1\t2\t+", "line 2: the mode -1 contradicts the sign >= 0"),
    ("wheat\t1\t2\t-", "line 2: the mode 1 contradicts the sign <= 0"),
    ("wheat\t1\t2\t+\tgrain\tmore", "line 2: expected at most 5 cells"),
    ("\t1", "line 2: expected the name of a feature"),
    ("(intercept)\t0\tidf", "line 2: the intercept has no document frequency"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_malformed_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = written(tmp_path / "bad.tsv", f"# first\n{line}\n")
    with pytest.raises(PriorError, match=rf"bad\.tsv, {message}"):
        read(path)


@pytest.mark.parametrize("text", ["", "# nothing\n", "feature\tmode\n"])
def test_empty_files(tmp_path: Path, text: str) -> None:
    with pytest.raises(PriorError, match="found none"):
        read(written(tmp_path / "empty.tsv", text))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PriorError, match="cannot read the prior file"):
        read(tmp_path / "missing.tsv")
    (tmp_path / "latin").write_bytes("corn\nblé\t1\n".encode("latin-1"))
    with pytest.raises(PriorError, match=r"latin, line 2: expected UTF-8, got b'bl\\xe9"):
        read(tmp_path / "latin")
    with pytest.raises(PriorError, match=r"line 1: expected columns named .*, got 'weight'"):
        read(written(tmp_path / "headed.tsv", "feature\tweight\n"))


@pytest.mark.parametrize(
    "rows", [3, [3], {"wheat": "big"}, {"wheat": {"mean": 1}}, [{"mode": 1}], {"": 1.0}, {"wheat": True}]
)
def test_malformed_tables(rows: Any) -> None:
    with pytest.raises(PriorError):
        PriorTable(rows)


def test_nothing_left_of_the_words(tmp_path: Path) -> None:
    path = written(tmp_path / "words", "grain\twheat\ncrude\tthe of and\n")
    with pytest.raises(PriorError, match=r"words, line 2: expected words, got 'the of and'"):
        read_words(path).in_terms(TextSettings(stop_words="smart"))
    assert len(from_names(["the", "grain"]).in_terms(TextSettings(stop_words="smart")).rows) == 1


def test_a_file_of_words(tmp_path: Path) -> None:
    path = written(tmp_path / "words", "grain\twheat, corn\n# more\ncrude oil: petroleum\ngrain\tbarley\n")
    table = read_words(path, mode=2.0).in_terms(TextSettings(stemmer="none"))
    assert [(row.category, row.feature) for row in table.rows] == [
        ("grain", "barley"), ("grain", "corn"), ("grain", "wheat"), ("crude oil", "petroleum"),
    ]  # fmt: skip
    for line in ("grain", "\twheat", "grain\t "):
        with pytest.raises(PriorError, match=r"words, line 2: expected a category, a tab and words"):
            read_words(written(path, f"a\tb\n{line}\n"))


BBR_FILE = """# individual priors
1 1.5 2
topic <class>
2 0 4 1
class 3 4 -1 0.5 -1
endoftopic
topic other
2 7 7
endoftopic
4 0.5 3 ABS 0
0 0 inf
"""


def test_bbr_s_individual_priors(tmp_path: Path) -> None:
    table = read_bbr(written(tmp_path / "priors", BBR_FILE), topic="<class>")
    assert [row.says for row in table.rows] == [
        (1.5, 2.0, "x", -INF, INF),
        (0.0, 2.0, "x", 0.0, INF),  # 4, halved: λ stays that of the two-sided prior
        (-1.0, 0.25, "x", -INF, -1.0),
        (0.5, 3.0, "", -INF, INF),
        (0.0, INF, "x", -INF, INF),
    ]
    assert [row.category for row in table.rows] == [None, None, "3", None, None]
    gaussian = read_bbr(tmp_path / "priors", "gaussian", topic="<class>")
    assert [row.variance for row in gaussian.rows] == [2.0, 4.0, 0.5, 3.0, INF]
    positive = read_bbr(tmp_path / "priors", skew=1, topic="<class>")
    arrays = positive.bind(Columns(["1", "2", "3", "4"], X), 1).compile(1.0, 4)
    np.testing.assert_allclose(arrays.l1, np.sqrt([1 / 2, 1 / 4, 1, 1 / 3, 0]))
    assert arrays.lower.tolist() == [-INF, 0.0, 0.0, -INF, -INF]


@pytest.mark.parametrize(
    "line", ["1 2", "1 2 3 4 5 6", "1 two 3", "1 2 3 2", "1 2 3 ABS 1 0", "class 1", "1 2 -3", "1 2 1_0"]
)
def test_malformed_lines_of_bbr(tmp_path: Path, line: str) -> None:
    with pytest.raises(PriorError, match=r"priors, line 2: expected"):
        read_bbr(written(tmp_path / "priors", f"1 0 1\n{line}\n"))


def test_an_empty_file_of_bbr(tmp_path: Path) -> None:
    with pytest.raises(PriorError, match="found none"):
        read_bbr(written(tmp_path / "priors", "# nothing\n"))


def test_rare_words_have_larger_variances() -> None:
    l1 = compiled(by_idf(), 4.0).l1
    idf = np.log(5 / np.array([2, 5, 2, 2]))
    energy = np.array([1.0, 15.0, 1.0, 1.0])
    np.testing.assert_allclose(1 / l1[[0, 2, 3]] ** 2, 4.0 / 2 * (idf**2 * energy.sum() / (energy @ idf**2))[[0, 2, 3]])
    assert l1[4] == np.sqrt(0.5)  # the intercept is no word
    arrays = compiled(by_idf(), 4.0)
    assert (arrays.lower[1], arrays.upper[1]) == (0.0, 0.0)  # in every document: as if multiplied by 0


def test_features_of_a_bag_of_ngrams() -> None:
    pairs = TextSettings(word_ngrams=(1, 2), stemmer="none")
    table = PriorTable({"corn prices": 1.0}).in_terms(pairs)
    assert [r.feature for r in table.rows] == ["corn prices"]
    words = from_words({"grain": ["wheat", "corn"]}).in_terms(pairs)
    assert sorted(r.feature for r in words.rows) == ["corn", "wheat"]
    with pytest.raises(PriorError, match="expected one word"):
        PriorTable({"ab cd ef": 1.0}).in_terms(pairs)
    letters = PriorTable({" The": 1.0}).in_terms(TextSettings(char_ngrams=(3, 5)))
    assert [r.feature for r in letters.rows] == [" the"]
    with pytest.raises(PriorError, match="'th'"):
        PriorTable({"th": 1.0}).in_terms(TextSettings(char_ngrams=(3, 5)))
