"""What the paper prints, as data. Hu, Luo, Lu, Yu, Supervised hashing based on energy minimization.

Full Hamming ranking with learned database codes, mean of 10 partitions; no spread and no order of ties is
stated. "0.0.2254" (CCA-ITQ, CIFAR-10, 32 bits) is read as 0.2254. None stands for "OOM", out of memory.
"""

from __future__ import annotations

__all__ = ["NAMES", "SETS", "STAND_INS", "TABLE_1", "TABLE_2", "TABLE_3", "TABLE_4", "paper_name"]

# Which of our data sets may stand in a column of the paper, and which only resemble one of its sets.
SETS = {"ESPGAME": "espgame", "CIFAR-10": "cifar10_gist512", "NUS-WIDE": "nuswide"}
STAND_INS = {
    "coco20770_gist512": "of the size and with the kind of features of ESPGAME",
    "coco117266_efficientnet_lite0_pca128": "many tagged rows like NUS-WIDE, with other features",
}

# Rows by their names in print, under the names of our classes.
NAMES = {
    "CCAITQ": "CCA-ITQ",
    "EMKSH": "EM-KSH",
    "EMSPLH": "EM-SPLH",
    "EMLFH": "EM-LFH",
    "EMBRE": "EM-BRE",
    "EMExpH": "EM-ExpH",
}

TYPO = "The print has 0.0.2254 for CCA-ITQ at 32 bits on CIFAR-10; it is read as 0.2254."

# mAP at 8, 16, 32 and 64 bits.
TABLE_1 = {
    "ESPGAME": {
        "CCA-ITQ": (0.2751, 0.2805, 0.2804, 0.2816),
        "KSH": (0.2977, 0.3086, 0.3194, 0.3248),
        "LFH": (0.3116, 0.3330, 0.3546, 0.3659),
        "SDH": (0.3094, 0.3290, 0.3312, 0.3388),
        "COSDISH": (0.2977, 0.3158, 0.3327, 0.3407),
        "NSH": (0.2946, 0.3058, 0.3116, 0.3223),
        "BSH": (0.3314, 0.3456, 0.3583, 0.3639),
        "EM-KSH": (0.3430, 0.3602, 0.3592, 0.3710),
    },
    "CIFAR-10": {
        "CCA-ITQ": (0.2163, 0.2215, 0.2254, 0.2319),
        "KSH": (0.2521, 0.2825, 0.3210, 0.3492),
        "LFH": (0.2881, 0.3996, 0.5216, 0.6085),
        "SDH": (0.3329, 0.4833, 0.5397, 0.5865),
        "COSDISH": (0.4898, 0.5733, 0.6215, 0.6369),
        "NSH": (0.3907, 0.4476, 0.4875, 0.5298),
        "BSH": (0.4132, 0.4989, 0.5792, 0.6137),
        "EM-KSH": (0.4459, 0.5344, 0.5804, 0.6276),
    },
}
BITS_1 = (8, 16, 32, 64)

# NUS-WIDE: mAP and training seconds at 8, 16, 32 and 64 bits.
TABLE_2 = {
    "CCA-ITQ": ((0.2947, 4.38), (0.3002, 4.65), (0.3111, 6.02), (0.3152, 13.76)),
    "KSH": ((0.3732, 211.44), (0.4149, 732.87), (0.4356, 1792.90), (0.4391, 2931.97)),
    "LFH": ((0.4542, 31.05), (0.4854, 54.50), (0.5120, 82.29), (0.5324, 138.72)),
    "SDH": ((0.4353, 46.14), (0.4630, 56.59), (0.4847, 155.17), (0.5143, 649.32)),
    "COSDISH": ((0.4299, 18.71), (0.4827, 28.07), (0.4918, 276.28), (0.5231, 1030.22)),
    "NSH": ((0.3837, 17.72), (0.4197, 19.32), (0.4438, 24.51), (0.4385, 31.95)),
    "BSH": ((0.4683, 15.19), (0.4825, 20.85), (0.5076, 39.17), (0.5220, 121.24)),
    "EM-KSH": ((0.4878, 10.36), (0.5120, 10.53), (0.5331, 12.12), (0.5434, 17.52)),
}

# One bit: ESPGAME, CIFAR-10, NUS-WIDE.
TABLE_3 = {
    "LFH": (0.4890, 0.1619, 0.3740),
    "COSDISH": (0.4773, 0.1054, 0.4065),
    "NSH": (0.4957, 0.1714, 0.4646),
    "BSH": (0.5009, 0.1409, 0.3893),
    "EM-KSH": (0.4953, 0.1558, 0.4703),
    "EM-SPLH": (0.5110, 0.1573, 0.5015),
}
SETS_3 = ("ESPGAME", "CIFAR-10", "NUS-WIDE")

# NUS-WIDE: mAP and training seconds at 128 and 256 bits.
TABLE_4: dict[str, tuple[tuple[float, float] | None, ...]] = {
    "COSDISH": ((0.5318, 691.73), (0.5405, 3096.79)),
    "LFH": ((0.5378, 71.24), (0.5548, 135.23)),
    "NSH": ((0.4415, 22.82), (0.4606, 43.94)),
    "BSH": ((0.5285, 508.64), None),
    "EM-KSH": ((0.5509, 27.12), (0.5615, 55.68)),
}
BITS_4 = (128, 256)


def paper_name(label: str) -> str:
    """A label with the name of its class as the paper spells it: "EMKSH, c = 1" is "EM-KSH, c = 1"."""
    name, comma, rest = label.partition(",")
    return NAMES.get(name, name) + comma + rest
