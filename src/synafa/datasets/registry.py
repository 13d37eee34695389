"""The names `load` knows: files with address, hash and reader, and generators. A new dataset is one entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from synafa.datasets import readers, synthetic
from synafa.datasets.dataset import Dataset
from synafa.datasets.preprocess import RawTable
from synafa.datasets.sources import DataFile

Reader = Callable[[Sequence[Path]], RawTable]


@dataclass(frozen=True)
class Variant:
    """One set of files that holds the dataset, and its reader; `read_raw` where missing cells need another."""

    files: tuple[DataFile, ...]
    read: Reader
    read_raw: Reader | None = None


@dataclass(frozen=True)
class FileDataset:
    """A dataset that comes from files; the first variant whose files are there is read."""

    title: str
    budgets: tuple[float, ...]
    licence: str
    source: str
    variants: tuple[Variant, ...]
    fetched: int = 0  # the variant that a download brings


@dataclass(frozen=True)
class Generated:
    """A dataset that is drawn."""

    title: str
    generate: Callable[..., Dataset]
    parameters: tuple[str, ...]
    example: str = ""  # a required parameter, written out


_GITHUB = "https://raw.githubusercontent.com"
_UCI = "https://archive.ics.uci.edu/static/public"
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"

_SHA256 = {
    "ckd/chronic_kidney_disease_full.arff": "a5ea96369b8516d725e4f353ad9c6e7e25a1a7db227bc761f59d8e0dfab15797",
    "ckd/kidney_disease_kaggle.csv": "835c57ec100db2d3751165fae615fec425caf444cca23bab6a853d4c08bf5556",
    "actg175/actg175_uci.csv": "6ae88c667ec3840295a5c01d24755361df408ebb7c1aafa971dc9ac64ad629e1",
    "actg175/ACTG175_speff2trial.csv": "44bb0216630998c1545c6621278babe95a41dbfd3cbf65426260568f27e5e200",
    "bank/bank.zip": "99d7e8eb12401ed278b793984423915411ea8df099e1795f9fefe254f513fe5e",
    "physionet.csv": "daca2ea78d228b93488f68938ab667a31e683adcbe916b77769633bc297aad91",
    "miniboone/MiniBooNE_PID.txt": "577ab8bcb612199a0386cef1725058295df9a18b778a003a6a4349bbd51abd48",
    "mnist/train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "mnist/train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
}
_REPOSITORIES = {
    "ckd/kidney_disease_kaggle.csv": "CarlosCMS/CKD/0260b5a09a1b9ea643fcddc6be1fcbacdf3544ad/kidney_disease_old.csv",
    "actg175/ACTG175_speff2trial.csv": (
        "therbootcamp/BaselRBootcamp2017/087916a4bbe953e7bc3000bf0457445e36907a09/data/ACTG175.csv"
    ),
    "physionet.csv": (
        "Linusaronsson/AFA-Benchmark/a07c8a3b6bf2527f66853e87b1929396e08e0501/extra/data/misc/physionet.csv"
    ),
}


def _by_hand(path: str, size: int) -> DataFile:
    """A file that has to be put into the data folder."""
    return DataFile(path, _SHA256[path], size)


def _from_github(path: str, size: int) -> DataFile:
    """A file that is downloaded from a repository at a fixed commit."""
    return DataFile(path, _SHA256[path], size, f"{_GITHUB}/{_REPOSITORIES[path]}")


def _untried(path: str, size: int, url: str, **archive: str) -> DataFile:
    """A file whose published address was never tried."""
    return DataFile(path, _SHA256[path], size, url, **archive, verified=False)


def _one(read: Reader, *files: DataFile, read_raw: Reader | None = None) -> tuple[Variant, ...]:
    """The variants of a dataset that has a single one."""
    return (Variant(files, read, read_raw),)


_CKD = (  # UCI's own archive holds a RAR file, which Python cannot open
    *_one(readers.read_ckd_arff, _by_hand("ckd/chronic_kidney_disease_full.arff", 47_277)),
    *_one(readers.read_ckd_csv, _from_github("ckd/kidney_disease_kaggle.csv", 48_551)),
)
_ACTG175 = (
    *_one(readers.read_actg175_uci, _by_hand("actg175/actg175_uci.csv", 159_317)),
    *_one(readers.read_actg175_r, _from_github("actg175/ACTG175_speff2trial.csv", 185_141)),
)
_BANK = _untried("bank/bank.zip", 579_043, f"{_UCI}/222/bank+marketing.zip", member="bank.zip")
_MINIBOONE = _untried(
    "miniboone/MiniBooNE_PID.txt",
    0,
    f"{_UCI}/199/miniboone+particle+identification.zip",
    member="MiniBooNE_PID.txt",
    archive_sha256="af4573ca81797ca1c5bfc623f0fdf26ed07e626e2717c322224f96e8795f8752",
)
_DIGITS = tuple(
    _untried(f"mnist/{name}", size, f"{_MNIST}/{name}")
    for name, size in (("train-images-idx3-ubyte.gz", 9_912_422), ("train-labels-idx1-ubyte.gz", 28_881))
)
_BY = "CC BY 4.0"
_STAYS = "PhysioNet/CinC Challenge 2012, one averaged row a stay as in AFA-Benchmark"

FILES: dict[str, FileDataset] = {
    "ckd": FileDataset("Chronic kidney disease", (2.0, 4.0, 7.0), _BY, "UCI 336, doi 10.24432/C5G020", _CKD, fetched=1),
    "actg175": FileDataset("AIDS Clinical Trials Group study 175", (3.0, 5.0, 10.0), _BY, "UCI 890, doi 10.24432/C5ZG8F; R package speff2trial", _ACTG175, fetched=1),  # noqa: E501
    "bank": FileDataset("Bank marketing", (2.0, 4.0, 7.0), _BY, "UCI 222, doi 10.24432/C5K306", _one(readers.read_bank_as_published, _BANK, read_raw=readers.read_bank)),  # noqa: E501
    "physionet": FileDataset("PhysioNet 2012, in-hospital death", (5.0, 10.0, 15.0), "ODC-By 1.0", _STAYS, _one(readers.read_physionet, _from_github("physionet.csv", 4_075_398))),  # noqa: E501
    "miniboone": FileDataset("MiniBooNE particle identification", (5.0, 10.0, 15.0), _BY, "UCI 199, doi 10.24432/C5QC87", _one(readers.read_miniboone, _MINIBOONE)),  # noqa: E501
    "mnist-loop": FileDataset("MNIST, digits with a closed loop", (5.0, 10.0, 20.0), "CC BY-SA 3.0", "MNIST training images", _one(readers.read_mnist_loop, *_DIGITS)),  # noqa: E501
}  # fmt: skip

GENERATED: dict[str, Generated] = {
    "synergy-sweep": Generated("Synergy sweep over alpha", synthetic.synergy_sweep, ("alpha", "n"), "alpha=0.5"),
    "fixed-v": Generated("Synergy sweep at fixed information", synthetic.fixed_v, ("fraction", "n"), "fraction=0.9"),
    "cube": Generated("CUBE", synthetic.cube, ("noise", "n")),
    "cube-nm": Generated("CUBE with contexts", synthetic.cube_nm, ("noise", "n")),
}
