"""No training row is in a model file, whatever its kind; what was counted of the rows is."""

from __future__ import annotations

import numpy as np
import pytest

from synafa import AcquisitionClassifier, PlanTree, SynAFA, load_model

pytestmark = pytest.mark.slow

N, D = 120, 5


@pytest.fixture(scope="module")
def rows():
    """Every cell is a random float of its own, which nothing but a copy of the cell could hold."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, D))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.int64)


KINDS = {
    "synafa": lambda: SynAFA(budget=3),
    "synafa of four bins": lambda: SynAFA(budget=3, n_bins=4),
    "plan tree": lambda: PlanTree(budget=3),
    "model of a plan tree": lambda: AcquisitionClassifier(PlanTree(budget=3)),
    "model of a synafa": lambda: AcquisitionClassifier(SynAFA(budget=3)),
}


@pytest.fixture(scope="module", params=list(KINDS))
def saved(request, rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "m.synafa"
    fitted = KINDS[request.param]().fit(*rows)
    fitted.save(path)
    return fitted, path


def traces(X, y, codes):
    """Bytes that only a copy of rows holds: two cells of a row side by side, columns of codes, classes in order."""
    for dtype in ("<f8", "<f4"):
        cells = X.astype(dtype)
        for i in range(N):
            for j in range(D - 1):
                yield f"row {i}", cells[i, j : j + 2].tobytes()
        for j in range(D):
            yield f"column {j}", cells[:4, j].tobytes()
    for dtype in ("u1", "<i2", "<i4", "<i8", "<f4", "<f8"):
        yield "classes", y[:24].astype(dtype).tobytes()
    yield "classes, packed", np.packbits(y)[:6].tobytes()
    if codes is not None:
        yield "codes by row", codes[:5].tobytes()
        yield "codes by row, packed", np.packbits(codes)[:12].tobytes()
        yield "codes by column, packed", np.packbits(codes, axis=0)[:6].tobytes()
        for j in range(D):
            yield f"codes of column {j}", codes[:24, j].tobytes()


def test_no_training_row_is_in_the_file(saved, rows):
    X, y = rows
    fitted, path = saved
    policy = getattr(fitted, "policy_", fitted)
    codes = policy.codes_.astype(np.uint8) if hasattr(policy, "codes_") else None
    data = path.read_bytes()
    for what, trace in traces(X, y, codes):
        assert len(trace) >= 6
        assert trace not in data, what


def test_the_search_would_find_them(rows, tmp_path):
    X, y = rows
    codes = (X > 0).astype(np.uint8)
    data = b"".join([X.tobytes(), y.astype("<i4").tobytes(), np.packbits(codes, axis=0).tobytes()])
    found = {what for what, trace in traces(X, y, codes) if trace in data}
    assert {"row 0", f"row {N - 1}", "classes", "codes by column, packed"} <= found


def test_what_is_left_of_single_cells_are_a_few_quantiles(saved, rows):
    data = saved[1].read_bytes()
    for column in rows[0].T:
        kept = sum(np.float64(cell).tobytes() in data for cell in column)
        assert kept <= 45, "cuts, 7 quantiles of the range, 33 of the predictor: nothing by row"


def test_a_stored_graph_shows_what_the_fitted_one_shows(rows, tmp_path):
    fitted = SynAFA(budget=4).fit(*rows)
    fitted.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    for depth in (1, 2, 3, 5, 8):
        for share in (0.01, 0.05, 0.2):
            assert again.decision_graph(depth, share) == fitted.decision_graph(depth, share), (depth, share)
    assert again.decision_graph().nodes[0].count == N
    deeper = again.decision_graph(8, 0.0)
    if fitted.decision_graph(8, 0.0).nodes != deeper.nodes:
        assert "not stored in a model file" in deeper.cut[-1]
    with pytest.raises(Exception, match="holds no training rows"):
        _ = again.codes_


def test_a_graph_that_is_cut_says_that_the_file_holds_no_more(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (3000, 14)).astype(float)
    fitted = SynAFA(budget=14, cost_weight=0.0).fit(X, (X.sum(axis=1) > 7).astype(int))
    fitted.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.decision_graph(3) == fitted.decision_graph(3)
    cut = again.decision_graph(12).cut
    assert cut[-1] == "More than that is not stored in a model file; the fitted model can draw it."
    assert "not stored" not in " ".join(again.decision_graph(3).cut)
