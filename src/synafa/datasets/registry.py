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

FILES: dict[str, FileDataset] = {
    "ckd": FileDataset(
        title="Chronic kidney disease",
        budgets=(2.0, 4.0, 7.0),
        licence="CC BY 4.0",
        source="UCI 336, doi 10.24432/C5G020",
        variants=(
            Variant(
                (
                    DataFile(
                        "ckd/chronic_kidney_disease_full.arff",
                        "a5ea96369b8516d725e4f353ad9c6e7e25a1a7db227bc761f59d8e0dfab15797",
                        47_277,
                        # No address: UCI's archive holds a RAR file, which Python cannot open.
                    ),
                ),
                readers.read_ckd_arff,
            ),
            Variant(
                (
                    DataFile(
                        "ckd/kidney_disease_kaggle.csv",
                        "835c57ec100db2d3751165fae615fec425caf444cca23bab6a853d4c08bf5556",
                        48_551,
                        f"{_GITHUB}/CarlosCMS/CKD/0260b5a09a1b9ea643fcddc6be1fcbacdf3544ad/kidney_disease_old.csv",
                    ),
                ),
                readers.read_ckd_csv,
            ),
        ),
        fetched=1,
    ),
    "actg175": FileDataset(
        title="AIDS Clinical Trials Group study 175",
        budgets=(3.0, 5.0, 10.0),
        licence="CC BY 4.0",
        source="UCI 890, doi 10.24432/C5ZG8F; R package speff2trial",
        variants=(
            Variant(
                (
                    DataFile(
                        "actg175/actg175_uci.csv",
                        "6ae88c667ec3840295a5c01d24755361df408ebb7c1aafa971dc9ac64ad629e1",
                        159_317,
                    ),
                ),
                readers.read_actg175_uci,
            ),
            Variant(
                (
                    DataFile(
                        "actg175/ACTG175_speff2trial.csv",
                        "44bb0216630998c1545c6621278babe95a41dbfd3cbf65426260568f27e5e200",
                        185_141,
                        f"{_GITHUB}/therbootcamp/BaselRBootcamp2017/087916a4bbe953e7bc3000bf0457445e36907a09/data/ACTG175.csv",
                    ),
                ),
                readers.read_actg175_r,
            ),
        ),
        fetched=1,
    ),
    "bank": FileDataset(
        title="Bank marketing",
        budgets=(2.0, 4.0, 7.0),
        licence="CC BY 4.0",
        source="UCI 222, doi 10.24432/C5K306",
        variants=(
            Variant(
                (
                    DataFile(
                        "bank/bank.zip",
                        "99d7e8eb12401ed278b793984423915411ea8df099e1795f9fefe254f513fe5e",
                        579_043,
                        f"{_UCI}/222/bank+marketing.zip",
                        member="bank.zip",
                        verified=False,
                    ),
                ),
                readers.read_bank_as_published,
                readers.read_bank,
            ),
        ),
    ),
    "physionet": FileDataset(
        title="PhysioNet 2012, in-hospital death",
        budgets=(5.0, 10.0, 15.0),
        licence="ODC-By 1.0",
        source="PhysioNet/CinC Challenge 2012, one averaged row a stay as in AFA-Benchmark",
        variants=(
            Variant(
                (
                    DataFile(
                        "physionet.csv",
                        "daca2ea78d228b93488f68938ab667a31e683adcbe916b77769633bc297aad91",
                        4_075_398,
                        f"{_GITHUB}/Linusaronsson/AFA-Benchmark/a07c8a3b6bf2527f66853e87b1929396e08e0501"
                        "/extra/data/misc/physionet.csv",
                    ),
                ),
                readers.read_physionet,
            ),
        ),
    ),
    "miniboone": FileDataset(
        title="MiniBooNE particle identification",
        budgets=(5.0, 10.0, 15.0),
        licence="CC BY 4.0",
        source="UCI 199, doi 10.24432/C5QC87",
        variants=(
            Variant(
                (
                    DataFile(
                        "miniboone/MiniBooNE_PID.txt",
                        "577ab8bcb612199a0386cef1725058295df9a18b778a003a6a4349bbd51abd48",
                        0,
                        f"{_UCI}/199/miniboone+particle+identification.zip",
                        member="MiniBooNE_PID.txt",
                        archive_sha256="af4573ca81797ca1c5bfc623f0fdf26ed07e626e2717c322224f96e8795f8752",
                        verified=False,
                    ),
                ),
                readers.read_miniboone,
            ),
        ),
    ),
    "mnist-loop": FileDataset(
        title="MNIST, digits with a closed loop",
        budgets=(5.0, 10.0, 20.0),
        licence="CC BY-SA 3.0",
        source="MNIST training images",
        variants=(
            Variant(
                (
                    DataFile(
                        "mnist/train-images-idx3-ubyte.gz",
                        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                        9_912_422,
                        f"{_MNIST}/train-images-idx3-ubyte.gz",
                        verified=False,
                    ),
                    DataFile(
                        "mnist/train-labels-idx1-ubyte.gz",
                        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                        28_881,
                        f"{_MNIST}/train-labels-idx1-ubyte.gz",
                        verified=False,
                    ),
                ),
                readers.read_mnist_loop,
            ),
        ),
    ),
}

GENERATED: dict[str, Generated] = {
    "synergy-sweep": Generated("Synergy sweep over alpha", synthetic.synergy_sweep, ("alpha", "n"), "alpha=0.5"),
    "fixed-v": Generated("Synergy sweep at fixed information", synthetic.fixed_v, ("fraction", "n"), "fraction=0.9"),
    "cube": Generated("CUBE", synthetic.cube, ("noise", "n")),
    "cube-nm": Generated("CUBE with contexts", synthetic.cube_nm, ("noise", "n")),
}
