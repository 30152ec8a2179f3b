"""One module a question: TITLE, KERNELS (modules to build) and cases(cores, peers, quick), a generator of `Case`s; CORES
if it is about so many, whatever was asked for."""

import importlib

NAMES = ["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P13", "P14", "P15", "S1", "S2", "S3",
         "S4", "S5", "S6", "S7", "S8", "S9", "S10", "S11", "S12", "S13"]


def load(name):
    return importlib.import_module(f"questions.{name.lower()}")
