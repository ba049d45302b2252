"""What a notebook shows: ids and distances, chosen settings, the curve; all text as text."""

from __future__ import annotations

import copy
import pickle
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from kinhash import EnergyHasher, HammingIndex
from kinhash.base import FitReport
from kinhash.errors import InvalidInput, KinhashWarning
from kinhash.index import Neighbors

HOSTILE = "<img src=x onerror=alert(1)>\"'&"


class Page(HTMLParser):
    """Tags and text of a piece of HTML; fails where tags do not match."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + " "

    def images(self):
        return [facts for tag, facts in self.tags if tag == "img"]


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def hasher(digits):
    X, y = digits
    return EnergyHasher(n_bits=32, random_state=0).fit(X[:400], y[:400])


def test_neighbors_show_ids_and_distances(digits, hasher):
    X, _ = digits
    found = HammingIndex.from_codes(hasher.codes_).search(hasher.encode(X[400:420]), k=12)
    page = Page(found._repr_html_())
    assert [tag for tag, _ in page.tags].count("tr") == 1 + 8
    assert page.text.split()[11:] != []
    for place in range(10):
        assert f"{found.ids[0, place]} {found.distances[0, place]}" in page.text
    assert "12 more queries; up to 12 neighbors each" in page.text
    assert page.images() == []
    assert f"query 1: {found.ids[1, 0]} ({found.distances[1, 0]}), " in repr(found.table())


def test_pictures_where_given_and_kin_in_words(digits, hasher):
    X, y = digits
    shapes = X.reshape(-1, 8, 8)
    found = HammingIndex.from_codes(hasher.codes_).search(hasher.encode(X[400:402]), k=3)
    kin = y[found.ids] == y[400:402, None]
    page = Page(found.table(shapes, queries=shapes[400:], kin=kin)._repr_html_())
    assert len(page.images()) == 2 * 4
    assert all(facts["src"].startswith("data:image/png;base64,") for facts in page.images())
    assert page.text.count(" relevant") == kin.sum()
    with pytest.raises(InvalidInput, match="kin has the shape"):
        found.table(kin=kin[:1])


def test_neighbors_by_radius(hasher):
    found = HammingIndex.from_codes(hasher.codes_).search_radius(hasher.codes_[:3], 4)
    page = Page(found._repr_html_())
    assert f"{found[2].ids[0]} {found[2].distances[0]}" in page.text


def test_names_are_text_and_not_html():
    ids = np.array([[HOSTILE, "<b>"]])
    page = Page(Neighbors(ids, np.zeros((1, 2)), np.array([2]))._repr_html_())
    assert HOSTILE in re.sub(r"\s+", " ", page.text).replace(' "', '"') or "onerror=alert(1)>" in page.text
    assert "img" not in [tag for tag, _ in page.tags]
    report = FitReport(n_rows=2, n_bits=8, facts={"method": HOSTILE}, warnings=[HOSTILE])
    assert "img" not in [tag for tag, _ in Page(report._repr_html_()).tags]


def test_the_report_says_what_was_chosen(hasher):
    report = hasher.report_
    text = Page(report._repr_html_()).text
    assert f"{report.unique_codes} distinct" in text
    assert all(name in text for name in report.facts)
    assert "Beware" not in text
    assert str(report).splitlines()[0].startswith("rows")
    assert report.n_rows == 400
    for copied in (pickle.loads(pickle.dumps(report)), copy.deepcopy(report)):
        assert isinstance(copied, FitReport)
        assert str(copied) == str(report)


def test_the_report_repeats_the_warnings(digits):
    _, y = digits
    constant = np.zeros((60, 4))
    with pytest.warns(KinhashWarning) as warned:
        hasher = EnergyHasher(n_bits=2, random_state=0).fit(constant, y[:60])
    assert hasher.report_.warnings == [str(one.message) for one in warned]
    assert hasher.report_.warnings[0][:20] in Page(hasher.report_._repr_html_()).text
    assert "Beware: " in str(hasher.report_)


def test_the_estimator_keeps_the_diagram_of_scikit_learn(hasher):
    assert "sk-estimator" in hasher._repr_html_() or "sk-top-container" in hasher._repr_html_()
    assert not hasattr(clone(hasher), "report_")
