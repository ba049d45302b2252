"""The published compact files: where each comes from, and what it should give.

The ``.npz`` files lie directly in the data folder. ``figures`` are rankings by cosine without
learning, so that a reader can see that a file was read as it was meant.
"""

from __future__ import annotations

from typing import Any

from ._base import Facts, Figures, Source, Wanted
from .cifar10 import CLASSES
from .compact import read_compact

Known = dict[str, Any]  # keywords of Facts that several sets share

CIFAR: Known = {
    "licence": "CIFAR-10: none stated, free for research with citation",
    "citation": "Krizhevsky, Learning multiple layers of features from tiny images, 2009",
}
COCO: Known = {
    "licence": "annotations CC BY 4.0; images under their Flickr terms (features only here)",
    "citation": "Lin et al., Microsoft COCO: common objects in context, ECCV 2014",
    "source": "https://cocodataset.org (train2017); split of HashNet, https://github.com/thuml/HashNet",
}
NUS: Known = {
    "licence": "NUS-WIDE: research use, see its page",
    "citation": "Chua et al., NUS-WIDE: a real-world web image database, CIVR 2009",
}
MIRFLICKR: Known = {
    "licence": "images Creative Commons, annotation free for research",
    "citation": "Huiskes & Lew, The MIR Flickr retrieval evaluation, MIR 2008",
}
MULAN: Known = {"licence": "offered for research; each set has its own origin"}
MULAN_SOURCE = "https://github.com/tsoumakas/mulan, data/multi-label/"


def _compact(name: str, sha256: str, classes: tuple[str, ...] = (), **known: Any) -> Source:
    file = f"{name}.npz"
    facts = Facts(name=name, files=(Wanted((file,), checksum=f"sha256:{sha256}"),), **known)
    return Source(facts, lambda folder: read_compact(folder / file, facts, classes))


CIFAR10_GIST512 = _compact(
    "cifar10_gist512",
    "6f461f7dd9d6a455710821af08ed20f6986c366c4e4db567bb437a4abab29e5f",
    CLASSES,
    about="CIFAR-10, all pictures in official order, 512-d GIST, one byte per value",
    source="pictures: https://www.cs.toronto.edu/~kriz/cifar.html; features: the GIST of kinhash.datasets",
    rows=60_000,
    columns=512,
    labels=10,
    figures=Figures(cosine=0.183, chance=0.100),
    **CIFAR,
)
CIFAR10_EFFICIENTNET_LITE0_PCA256 = _compact(
    "cifar10_efficientnet_lite0_pca256",
    "5a540ce5c7764365aeba3c96193ff9717339a5735066c7fd638d0f1b969e5f06",
    CLASSES,
    about="CIFAR-10, all pictures in official order, EfficientNet-lite0 features, 256 components",
    source="pictures: https://www.cs.toronto.edu/~kriz/cifar.html; network: efficientnet-lite0 (Apache-2.0)",
    rows=60_000,
    columns=256,
    labels=10,
    figures=Figures(cosine=0.211, plain_cosine=0.422, chance=0.100),
    **CIFAR,
)
CIFAR10_PICTURES6000 = _compact(
    "cifar10_pictures6000",
    "aa36d2af6cb27e4a4979d0f5f95d4072f079b5a0613959a0ad61309f846a54ad",
    about="6,000 CIFAR-10 pictures for galleries, slightly lossy; names are rows of cifar10_gist512",
    source="https://www.cs.toronto.edu/~kriz/cifar.html",
    rows=6000,
    columns=3072,
    labels=10,
    **CIFAR,
)
NUSWIDE81_TAGS = _compact(
    "nuswide81_tags",
    "47f810ff49a86efeb936637f38a13744363732d92735762961efe7ab37129397",
    about="NUS-WIDE, 81 concepts of all 269,648 images in official order; tags only",
    source="https://github.com/Dreamerzp/NUS-WIDE (from the official ground truth)",
    rows=269_648,
    columns=0,
    labels=81,
    **NUS,
)
NUSWIDE_BOW500_SUBSET3996 = _compact(
    "nuswide_bow500_subset3996",
    "d46c3428cc69cd1318a164fb1acedb5f8b85b0c257ee1c1551c5f3bf23a24580",
    about="3,996 NUS-WIDE images, 500-d bags of visual words, 12 unnamed classes",
    source="https://github.com/MoetaYuko/ExpCut_TAI, data/nus-wide.mat",
    rows=3996,
    columns=500,
    labels=12,
    figures=Figures(cosine=0.143, chance=0.083),
    **NUS,
)
ESPGAME_TAGS = _compact(
    "espgame_tags",
    "be75493346133c42c878fd74c69e6f448ed26825abf8ccf5a34507a7cbd068d7",
    about="ESP game, 269 keywords of 21,846 images (the set of Makadia et al.); tags only",
    source="https://github.com/ManulGoyal/BTech-Project, ML-GCN/misc/esp_data.mat",
    licence="unknown; a research data set",
    citation="Makadia, Pavlovic & Kumar, A new baseline for image annotation, ECCV 2008",
    rows=21_846,
    columns=0,
    labels=269,
)
COCO20770_GIST512 = _compact(
    "coco20770_gist512",
    "15f384e4cd62f2bd16f398b12f94137bbad7e6bff98f4710d5cb88379e2a176f",
    about="20,770 COCO images, 512-d GIST, 80 object tags; the size of ESP GAME",
    rows=20_770,
    columns=512,
    labels=80,
    figures=Figures(cosine=0.382, chance=0.360),
    **COCO,
)
COCO117266_EFFICIENTNET_LITE0_PCA128 = _compact(
    "coco117266_efficientnet_lite0_pca128",
    "096a81ee68e184496818bbe1537e525d0ae8c208a697ca35e30cfda52be3eacc",
    about="117,266 COCO images, EfficientNet-lite0 features, 128 components, 80 object tags",
    rows=117_266,
    columns=128,
    labels=80,
    figures=Figures(cosine=0.436, plain_cosine=0.507, chance=0.343),
    **COCO,
)
MIRFLICKR25K_USERTAGS = _compact(
    "mirflickr25k_usertags",
    "f25a6a2ed4c0cab9066e8f3911be722ba92f2832d52619c2a605e36f30484ab2",
    about="MIRFlickr-25k, 20,015 images, 1,386 user tags as sparse features, 24 concepts",
    source="https://github.com/louisfanhz/VTMUCH, dataset/flickr25k",
    rows=20_015,
    columns=1386,
    labels=24,
    figures=Figures(cosine=0.579, chance=0.552),
    **MIRFLICKR,
)
MIRFLICKR5000_PCA100 = _compact(
    "mirflickr5000_pca100",
    "5682dbdbe7c6ecc6658d0af114bc029cc8dd7324a63d584d2e0ebae2d980a205",
    about="MIRFlickr, 5,000 images, 100-d image features, 7 unnamed labels",
    source="https://github.com/zhenzhenSun-FZU/PMFS-FLC, data/mirflickr.mat",
    rows=5000,
    columns=100,
    labels=7,
    figures=Figures(cosine=0.664, chance=0.610),
    **MIRFLICKR,
)
MULAN_COREL5K = _compact(
    "mulan_corel5k",
    "ec651a9669a3aaee69029248e7f42e7368d09c506ca6227e2e9a20dc74024378",
    about="5,000 Corel images, 499 region clusters, 374 words",
    source=MULAN_SOURCE + "corel5k",
    citation="Duygulu et al., Object recognition as machine translation, ECCV 2002",
    rows=5000,
    columns=499,
    labels=374,
    figures=Figures(cosine=0.215, chance=0.196),
    **MULAN,
)
MULAN_SCENE = _compact(
    "mulan_scene",
    "a773e1fedc89e44b93c90f49f60f61626e69a075545749be9e1338f296a5ac73",
    about="2,407 images, 294 colour moments, 6 kinds of scene",
    source=MULAN_SOURCE + "scene",
    citation="Boutell et al., Learning multi-label scene classification, Pattern Recognition 2004",
    rows=2407,
    columns=294,
    labels=6,
    figures=Figures(cosine=0.460, chance=0.193),
    **MULAN,
)
MULAN_DELICIOUS = _compact(
    "mulan_delicious",
    "f72024f9ade7c9ff730ca3a66f8fe481e6645bd6805353c514d5f7164689b53f",
    about="16,105 web pages, 500 words, 983 tags",
    source=MULAN_SOURCE + "delicious",
    citation="Tsoumakas, Katakis & Vlahavas, Effective and efficient multilabel classification, 2008",
    rows=16_105,
    columns=500,
    labels=983,
    figures=Figures(cosine=0.742, chance=0.668),
    **MULAN,
)
MULAN_BIBTEX = _compact(
    "mulan_bibtex",
    "e985fba28b2cae941f772f817ad6dfb7e3bea277530a67995e0e3e3ddd0155cc",
    about="7,395 bibliography entries, 1,836 words, 159 tags",
    source=MULAN_SOURCE + "bibtex",
    citation="Katakis, Tsoumakas & Vlahavas, Multilabel text classification for tag suggestion, 2008",
    rows=7395,
    columns=1836,
    labels=159,
    figures=Figures(cosine=0.278, chance=0.055),
    **MULAN,
)
MULAN_YEAST = _compact(
    "mulan_yeast",
    "3a4796f7e15355650420c68680ed86a75e076f04e4358be67cdff35273239fd9",
    about="2,417 genes, 103 features, 14 functional classes",
    source=MULAN_SOURCE + "yeast",
    citation="Elisseeff & Weston, A kernel method for multi-labelled classification, NIPS 2001",
    rows=2417,
    columns=103,
    labels=14,
    figures=Figures(cosine=0.800, chance=0.787),
    **MULAN,
)
REUTERS21578_MINILM384 = _compact(
    "reuters21578_minilm384",
    "48a8ceebc2611858a60cb3d452b22ca07351eabba255a5b88bbf13da589afadb",
    about="Reuters-21578 (ModApte), 10,789 news texts, 384-d sentence features, 90 topics",
    source="https://github.com/colibri17/TextCategorization; model all-MiniLM-L6-v2 (Apache-2.0)",
    licence="free for research with credit to Reuters and Lewis",
    citation="Lewis, Reuters-21578 text categorization collection, 1997",
    rows=10_789,
    columns=384,
    labels=90,
    figures=Figures(cosine=0.567, chance=0.198),
)
