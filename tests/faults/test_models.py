"""Models that a file may describe but that cannot be: refused before memory is taken, and by the part's name."""

from __future__ import annotations

import copy
import json
import resource

import numpy as np
import pytest

from synafa import PriceList
from synafa.arrays import write_file
from synafa.errors import SynafaError
from synafa.model.storage import load_model, load_rule
from synafa.model.validation import SCHEMAS, Array, InvalidModelError, Schema, number, register, validate
from tests.faults.models import models


def saved(folder, change):
    arrays, meta = copy.deepcopy(models()[0])
    change(arrays, meta)
    write_file(folder / "m.synafa", "policy", arrays, meta)
    return folder / "m.synafa"


def put(name, value):
    def change(arrays, meta):
        array = arrays[name]
        array.flat[0] = value

    return change


def say(name, value):
    return lambda arrays, meta: meta.update({name: value})


@pytest.mark.parametrize(
    ("change", "word"),
    [
        *((put(name, np.nan), name) for name in ("single", "pair", "cond", "costs", "edges", "specific")),
        *((put(name, np.inf), name) for name in ("single", "pair", "cond", "costs")),
        *((put(name, -1.0), name) for name in ("single", "pair", "cond", "costs")),
        (put("edges", -np.inf), "edges"),
        (put("class_counts", -5), "class_counts"),
        (say("budget", 10**400), "budget"),
        (say("budget", True), "budget"),
        (say("cost_weight", -1), "cost_weight"),
        (say("cost_weight", float("nan")), "cost_weight"),
        (say("pair_branch", "yes"), "pair_branch"),
        (say("target", 5), "target"),
        (say("classes", [0, 0]), "classes"),
        (say("classes", [0, "1"]), "classes"),
        (say("classes", [0, 10**400]), "classes"),
        (say("classes", ["p", "p\0"]), "classes"),
        (say("surprise", 1), "surprise"),
        (lambda arrays, meta: arrays.update(surprise=np.zeros(3)), "surprise"),
        (lambda arrays, meta: meta["columns"].__setitem__(1, meta["columns"][0]), "columns"),
        (lambda arrays, meta: meta["columns"][0].update(fill=10**400), "columns"),
        (lambda arrays, meta: meta["columns"][2].update(categories=["f", "f"]), "columns"),
        (lambda arrays, meta: meta["columns"][2].update(fill=7), "columns"),
    ],
)
def test_a_signed_model_with_nonsense_in_it_is_refused_by_the_part(tmp_path, change, word):
    path = saved(tmp_path, change)
    with pytest.raises(SynafaError, match=f"{word}'") as error:
        load_model(path)
    assert "\n" not in str(error.value)


def test_a_model_of_no_features_is_refused(tmp_path):
    def empty(arrays, meta):
        meta["columns"] = []
        for name, axes in {
            "single": 1,
            "pair": 2,
            "cond": 2,
            "costs": 1,
            "edges": 1,
            "known": 1,
            "unavailable": 1,
        }.items():
            arrays[name] = arrays[name][(slice(0),) * axes].copy()

    for load in (load_model, load_rule):
        with pytest.raises(SynafaError, match="damaged"):
            load(saved(tmp_path, empty))


def test_arrays_that_share_their_bytes_are_refused_before_they_take_memory(tmp_path):
    size = 8 << 20
    header = {f"a{i}": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]} for i in range(2000)}
    meta = {"format": "synafa-model", "version": "1", "kind": "policy", "meta": "{}", "checksum": ""}
    text = json.dumps({"__metadata__": meta, **header}).encode()
    path = tmp_path / "bomb.synafa"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(size))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(SynafaError, match="overlap"):
        load_model(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "KiB; it claims 16 GiB"


def test_a_part_declares_itself_and_is_checked_from_then_on():
    register("toy", "core", Schema(arrays={"w": Array("f", ("D", "H+1"))}, values={"rate": number(0, 1)}))
    register("toy", "extra", Schema(arrays={"v": Array("f", ("H",), 0.0)}, sizes={"H": (1, 3)}))
    try:
        w, v = np.zeros((4, 3)), np.zeros(2)
        assert validate("toy", {"w": w, "v": v}, {"rate": 0.5}) == {"D": 4, "H": 2}
        assert validate("toy", {"w": w}, {"rate": 0.5}, ["core"]) == {"D": 4, "H": 2}
        for arrays, values, word in (
            ({"w": w, "v": np.zeros(3)}, {"rate": 0.5}, "'v'"),
            ({"w": w}, {"rate": 0.5}, "lacks 'v'"),
            ({"w": np.zeros((4, 5)), "v": np.zeros(4)}, {"rate": 0.5}, "H is 4"),
            ({"w": w, "v": v - 1}, {"rate": 0.5}, "'v'"),
            ({"w": w, "v": v}, {"rate": 2}, "'rate'"),
            ({"w": w, "v": v}, {}, "lacks 'rate'"),
            ({"w": w, "v": v, "u": v}, {"rate": 1}, "'u'"),
        ):
            with pytest.raises(InvalidModelError, match=word):
                validate("toy", arrays, values)
    finally:
        del SCHEMAS["toy"]


def test_a_device_without_an_end_is_not_read():
    with pytest.raises(SynafaError, match="device"):
        load_model("/dev/zero")
    with pytest.raises(SynafaError, match="device"):
        PriceList.from_csv("/dev/zero")


def test_a_huge_price_list_is_not_read(tmp_path):
    with (tmp_path / "p.csv").open("wb") as file:
        file.truncate(60_000_000)
    with pytest.raises(SynafaError, match="60,000,000 bytes"):
        PriceList.from_csv(tmp_path / "p.csv")


def test_a_good_model_is_accepted(tmp_path):
    assert load_model(saved(tmp_path, lambda arrays, meta: None)).rule_.n_features == 4
