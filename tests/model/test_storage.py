"""A model file is read back exactly, or refused in one sentence."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file

from synafa.arrays import read_file, write_file
from synafa.errors import SynafaError
from synafa.model.classifier import AcquisitionClassifier
from synafa.model.storage import load_model, load_rule, save_model
from synafa.policy.synafa import SynAFA

ARRAYS = {
    "single": np.linspace(0, 1, 7),
    "codes": np.arange(12, dtype=np.uint8).reshape(3, 4),
    "mask": np.array([True, False]),
    "empty": np.zeros((0, 3), np.float32),
    "scalar": np.array(5, dtype=np.int64),
}
META = {"feature_names": ["größe", "GCS"], "budget": 10.0, "nested": {"a": [1, None]}}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("storage") / "model.synafa"
    write_file(path, "policy", ARRAYS, META)
    return path


def same(found):
    arrays, meta = found
    assert meta == META
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def rewritten(good, tmp_path, change):
    """A copy of the good file with its header changed by `change`."""
    data = good.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    path = tmp_path / "changed.synafa"
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    return path


def test_arrays_and_metadata_come_back_exactly(good):
    same(read_file(good))
    same(read_file(good, "policy"))


def test_the_file_is_an_ordinary_safetensors_file(good):
    with safe_open(good, "numpy") as file:
        assert set(file.keys()) == set(ARRAYS)
        assert file.metadata()["format"] == "synafa-model"


def test_the_same_model_gives_the_same_bytes(good, tmp_path):
    write_file(tmp_path / "again", "policy", dict(reversed(ARRAYS.items())), META)
    assert (tmp_path / "again").read_bytes() == good.read_bytes()


def test_missing_files_folders_and_foreign_files_are_refused(tmp_path):
    with pytest.raises(SynafaError, match="There is no file"):
        read_file(tmp_path / "nothing")
    with pytest.raises(SynafaError, match="folder"):
        read_file(tmp_path)
    for content in (b"", b"abc", b"a,b\n1,2\n" * 9, b"PK\x03\x04" * 99, bytes(64), b"\x01" + bytes(7) + b"{"):
        (tmp_path / "foreign").write_bytes(content)
        with pytest.raises(SynafaError, match="not a synafa file"):
            read_file(tmp_path / "foreign")
    save_file({"a": np.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(SynafaError, match="not a synafa file"):
        read_file(tmp_path / "other.safetensors")


def test_a_newer_version_is_refused_as_newer(good, tmp_path):
    path = rewritten(good, tmp_path, lambda header: header["__metadata__"].update(version="2"))
    with pytest.raises(SynafaError, match="newer"):
        read_file(path)


def test_another_kind_is_refused(good):
    with pytest.raises(SynafaError, match="holds a policy, but a network is needed"):
        read_file(good, "network")


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F64", "shape": [10**15], "data_offsets": [0, 8 * 10**15]},
        {"dtype": "F64", "shape": [10**15], "data_offsets": [0, 56]},
        {"dtype": "F64", "shape": [2**62, 4], "data_offsets": [0, 0]},
        {"dtype": "F64", "shape": [0, 2**70], "data_offsets": [0, 0]},
        {"dtype": "F64", "shape": [-1], "data_offsets": [0, -8]},
        {"dtype": "F64", "shape": [7.0], "data_offsets": [0, 56]},
        {"dtype": "F64", "shape": [True], "data_offsets": [0, 8]},
        {"dtype": "BF16", "shape": [28], "data_offsets": [0, 56]},
        {"dtype": ["F64"], "shape": [7], "data_offsets": [0, 56]},
        {"dtype": "F64", "shape": [1] * 99, "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": 7, "data_offsets": [0, 56]},
        {"dtype": "F64", "data_offsets": [0, 56]},
        "text",
        None,
    ],
)
def test_a_header_that_claims_what_the_file_does_not_hold_is_refused_before_anything_is_allocated(
    good, tmp_path, entry
):
    path = rewritten(good, tmp_path, lambda header: header.update(single=entry))
    with pytest.raises(SynafaError, match=r"damaged|cut off"):
        read_file(path)


@pytest.mark.parametrize("metadata", [{}, {"format": "synafa-model"}, None, [], {"format": "other", "version": "1"}])
def test_metadata_that_is_not_ours_is_refused(good, tmp_path, metadata):
    path = rewritten(good, tmp_path, lambda header: header.update(__metadata__=metadata))
    with pytest.raises(SynafaError):
        read_file(path)


def test_every_truncation_is_refused(good, tmp_path):
    data = good.read_bytes()
    path = tmp_path / "short"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(SynafaError):
            read_file(path)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 10**6), value=st.integers(1, 255), cut=st.integers(0, 10**6) | st.none())
def test_a_changed_byte_is_refused_or_changes_nothing(good, tmp_path, place, value, cut):
    data = bytearray(good.read_bytes())
    data[place % len(data)] ^= value
    path = tmp_path / "flipped"
    path.write_bytes(data[: cut % len(data)] if cut is not None else data)
    try:
        found = read_file(path)
    except SynafaError:
        return
    same(found)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(tmp_path, content):
    (tmp_path / "noise").write_bytes(len(content).to_bytes(8, "little") + b"{" + content)
    with pytest.raises(SynafaError):
        read_file(tmp_path / "noise")


def test_a_failed_write_leaves_no_file_behind(tmp_path):
    with pytest.raises(SynafaError, match="'names'"):
        write_file(tmp_path / "m", "policy", {"names": np.array(["a"])}, {})
    (tmp_path / "taken").mkdir()
    with pytest.raises(SynafaError, match="is a folder"):
        write_file(tmp_path / "taken", "policy", ARRAYS, META)
    (tmp_path / "plain").write_text("")
    with pytest.raises(SynafaError, match="Cannot write"):
        write_file(tmp_path / "plain" / "m", "policy", ARRAYS, META)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plain", "taken"]


@pytest.fixture(scope="module", params=[2, 5])
def policy(request):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"a": rng.normal(size=300), "größe": rng.integers(0, 4, 300), "sex": rng.choice(["f", "m"], 300)}
    )
    labels = np.where(frame["a"].to_numpy() + (frame["sex"] == "m").to_numpy() > 0.4, "ill", "well")
    return SynAFA(budget=3, costs={"a": 2}, n_bins=request.param).fit(frame, labels, known=["sex"]), frame


def test_a_saved_policy_decides_as_before(policy, tmp_path):
    fitted, frame = policy
    fitted.save(tmp_path / "m.synafa")
    again = load_model(tmp_path / "m.synafa")
    before, after = fitted.acquire(frame), again.acquire(frame)
    np.testing.assert_array_equal(before.order, after.order)
    np.testing.assert_array_equal(before.branch, after.branch)
    assert again.decision_graph() == fitted.decision_graph()
    assert again.classes_.tolist() == ["ill", "well"]
    observed = {"sex": "m"}
    rule = load_rule(tmp_path / "m.synafa")
    assert rule.next_feature(observed) == fitted.next_feature(observed) == again.next_feature(observed)


def test_a_model_saved_twice_is_the_same_file(policy, tmp_path):
    policy[0].save(tmp_path / "a")
    load_model(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def _wrong(name, change):
    return pytest.param(name, change, id=f"{name}-{change.__name__}")


def absent(array):
    return None


def shorter(array):
    return array[:-1]


def as_integers(array):
    return np.nan_to_num(array, posinf=0.0).astype(np.int64)


def far_too_large(array):
    return np.full_like(array, 127)


def negative(array):
    return -1 - array


@pytest.mark.parametrize(
    ("name", "change"),
    [
        _wrong(n, c)
        for n in ("single", "pair", "cond", "costs", "edges", "known")
        for c in (absent, shorter, as_integers)
    ]
    + [_wrong("graph_depth", c) for c in (absent, shorter, as_integers, negative)]
    + [_wrong("graph_classes", c) for c in (absent, shorter, far_too_large, negative)]
    + [_wrong("graph_target", c) for c in (absent, shorter, far_too_large, negative)]
    + [_wrong("costs", negative), _wrong("specific", shorter)],
)
def test_a_well_formed_file_with_wrong_contents_is_refused(policy, tmp_path, name, change):
    fitted, _ = policy
    arrays, meta = fitted.to_arrays()
    changed = change(arrays.pop(name))
    if changed is not None:
        arrays[name] = changed
    write_file(tmp_path / "m", "policy", arrays, meta)
    with pytest.raises(SynafaError, match=r"lacks a part|damaged"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("key", ["columns", "classes", "budget", "affordability", "n_bins"])
@pytest.mark.parametrize("value", [None, [], "x", -1, {"a": 1}])
def test_wrong_metadata_is_refused(policy, tmp_path, key, value):
    arrays, meta = policy[0].to_arrays()
    write_file(tmp_path / "m", "policy", arrays, {**meta, key: value})
    with pytest.raises(SynafaError):
        load_model(tmp_path / "m")


def test_only_policies_can_be_saved(tmp_path):
    with pytest.raises(SynafaError, match="not fitted"):
        save_model(AcquisitionClassifier(), tmp_path / "m")
    with pytest.raises(SynafaError, match="dict"):
        save_model({}, tmp_path / "m")
    assert not list(tmp_path.iterdir())
