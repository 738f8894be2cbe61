"""Quality of the probabilities of several classes, against their definitions and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from gamcore.stats.classes import class_confusion, class_losses, class_rankings
from gamcore.stats.metrics import roc

NAMES = ("a", "b", "recall", "d")


@pytest.fixture
def drawn():
    """Classes drawn from their probabilities, with weights."""
    rng = np.random.default_rng(0)
    chances = rng.dirichlet([3, 2, 1, 0.5], 900)
    codes = (chances.cumsum(axis=1) < rng.random((900, 1))).sum(axis=1)
    return codes, chances, rng.integers(1, 4, 900).astype(float)


def test_confusion_is_that_of_the_likeliest_class(drawn):
    codes, chances, weight = drawn
    said = chances.argmax(axis=1)
    for w in (None, weight):
        found = class_confusion(codes, chances, NAMES, w)
        np.testing.assert_array_equal(found.counts, metrics.confusion_matrix(codes, said, sample_weight=w))
        words = {"average": None, "sample_weight": w}
        np.testing.assert_allclose(found.recall, metrics.recall_score(codes, said, **words))
        np.testing.assert_allclose(found.precision, metrics.precision_score(codes, said, **words))
        assert found.accuracy == pytest.approx(metrics.accuracy_score(codes, said, sample_weight=w))
    table = class_confusion(codes, chances, NAMES).frame()
    assert table.loc["was b", "said recall"] == ((codes == 1) & (said == 2)).sum()
    assert table.loc["was d", "recall"] == pytest.approx((said[codes == 3] == 3).mean())
    assert table.loc["precision", "said a"] == pytest.approx((codes[said == 0] == 0).mean())
    assert table.loc["precision", "recall"] == pytest.approx((codes == said).mean())


def test_a_class_without_rows_or_never_said_is_not_known():
    chances = np.tile([0.5, 0.4, 0.1], (6, 1))
    found = class_confusion(np.array([0, 0, 1, 1, 1, 0]), chances, ["a", "b", "c"])
    assert found.recall.tolist()[:2] == [1.0, 0.0]
    assert np.isnan(found.recall[2])
    assert found.precision[0] == 0.5
    assert np.isnan(found.precision[1:]).all()
    assert found.counts.shape == (3, 3)


def test_each_class_is_ranked_against_the_rest(drawn):
    codes, chances, weight = drawn
    lines = class_rankings(codes, chances, weight)
    assert len(lines) == 4
    for k, line in enumerate(lines):
        assert line.summary == pytest.approx(metrics.roc_auc_score(codes == k, chances[:, k], sample_weight=weight))
    both = class_rankings((codes == 0).astype(int), np.stack([1 - chances[:, 0], chances[:, 0]], axis=1))
    assert both[0].summary == pytest.approx(both[1].summary) == roc(codes == 0, chances[:, 0]).summary
    absent = class_rankings(np.where(codes == 3, 0, codes), chances)[3]
    assert absent.x.size == 0
    assert np.isnan(absent.summary)


def test_losses_are_those_of_their_definitions(drawn):
    codes, chances, weight = drawn
    base = np.bincount(codes) / codes.size
    for w in (None, weight):
        table = class_losses(codes, chances, base, w)
        for name, p in (("model", chances), ("base shares", np.tile(base, (900, 1)))):
            assert table.loc["log-loss", name] == pytest.approx(metrics.log_loss(codes, p, sample_weight=w))
            brier = np.average(np.square(p - np.eye(4)[codes]).sum(axis=1), weights=w)
            assert table.loc["Brier score", name] == pytest.approx(brier)
            hits = np.average(p.argmax(axis=1) == codes, weights=w)
            assert table.loc["accuracy", name] == pytest.approx(hits)
        assert 0 < table.loc["log-loss", "explained"] < 1
        assert table["explained"].isna().tolist() == [False, False, True]


def test_two_classes_have_twice_the_brier_score_of_one(drawn):
    codes, chances, _ = drawn
    y, p = (codes == 0).astype(int), chances[:, 0]
    table = class_losses(y, np.stack([1 - p, p], axis=1), np.array([0.5, 0.5]))
    assert table.loc["Brier score", "model"] == pytest.approx(2 * metrics.brier_score_loss(y, p))
    assert table.loc["log-loss", "base shares"] == pytest.approx(np.log(2))


def test_a_probability_of_nothing_costs_much_and_not_infinitely():
    table = class_losses(np.array([0, 1]), np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0.0, 1.0]))
    assert np.isfinite(table["model"]).all()
    assert table.loc["log-loss", "model"] > 15
