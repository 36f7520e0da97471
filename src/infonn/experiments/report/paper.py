"""The figures and tables of the paper, what each is said to show (in our words), and the experiment that redoes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperPart:
    """One figure or table of the paper."""

    label: str
    title: str
    shows: str
    experiments: tuple[str, ...] = ()
    drawing: str = ""  # our own, in docs/images


PAPER = (
    PaperPart(
        "Figure 1",
        "One framework for both tasks",
        "A drawing: queries are proposed according to the task, the most informative one is put to the oracle, and the "
        "answer either moves the reference or labels it. Ours is explained in [the method](method.md).",
        drawing="framework.svg",
    ),
    PaperPart(
        "Figure 2",
        "A label is a nearest-neighbour answer",
        "A drawing: an unlabelled item beside its nearest labelled neighbour of each class. Ours is "
        "explained in [the method](method.md).",
        drawing="queries.svg",
    ),
    PaperPart(
        "Figure 3",
        "Deep metric learning: triplet accuracy",
        "On synthetic, food and admissions data Info-NN lies above random queries and above the batch methods for "
        "triplets, per triplet and per query. NN queries need far fewer interactions than triplets; random NN queries "
        "and random triplets differ little per triplet; the batch methods need to warm up.",
        ("dml-synthetic", "dml-synthetic-variants", "dml-food73", "dml-food73-variants", "dml-admissions"),
    ),
    PaperPart(
        "Figures 4 and 7",
        "Maps of the dishes",
        "t-SNE of the network's embedding: with Info-NN savoury and sweet dishes separate, and vegetables and fruit "
        "form groups; with Batch-Centroid after as many triplets the vegetables hang together less.",
        ("food73-map",),
    ),
    PaperPart(
        "Figures 5, 9 and 10",
        "Admissions: Recall@K and TopFraction@K",
        "Info-NN brings applicants of one class together (Recall@1, 2, 3) and gathers the admitted ones "
        "(TopFraction@21, 25, 30) better than every other method, per triplet and per query.",
        ("dml-admissions",),
    ),
    PaperPart(
        "Figures 5 and 8",
        "Maps of the applicants",
        "t-SNE: Info-NN groups the highly ranked applicants more closely than Batch-Centroid and Batch-Euclidean do; "
        "no method separates all tiers.",
        ("admissions-map",),
    ),
    PaperPart(
        "Figure 6",
        "Active classification of images",
        "On MNIST Info-NN is above BatchBALD, K-Center, MaxEntropy and random; on CIFAR-10 and SVHN it is about on a "
        "par with MaxEntropy.",
        ("mnist-published", "mnist", "cifar10", "svhn"),
    ),
    PaperPart(
        "Figure 11",
        "MDS: chosen against random queries",
        "Chosen NN queries give a better embedding than random ones for every length; Info-NN-3 even beats random "
        "queries of 4 and 5; random queries of 3, 4 and 5 are alike.",
        ("mds-random", "mds-random-variants"),
    ),
    PaperPart(
        "Figure 12",
        "MDS: NN queries against rankings",
        "Info-NN-3 matches random rankings of 3; Info-NN-4 beats them and almost matches chosen rankings of 3.",
        ("mds-ranking",),
    ),
    PaperPart(
        "Table 1",
        "Seconds to score all queries of one reference",
        "NN queries take 0.03, 0.15 and 0.66 s for 2, 3 and 4 candidates, rankings 0.66, 8.5 and 175 s (a laptop).",
        ("timing",),
    ),
    PaperPart(
        "Figure 13, left",
        "With and without clustering",
        "On MNIST with batches of 3, taking the best of every cluster beats taking the best overall.",
        ("mnist-clustering",),
    ),
    PaperPart(
        "Figure 13, middle and right",
        "How many candidates a label question needs",
        "Queries of length 3 are best on MNIST, clearly above longer ones; on CIFAR-10 all are similar, with 3 "
        "slightly ahead throughout.",
        ("mnist-query-length", "cifar10-query-length"),
    ),
    PaperPart(
        "Figure 14",
        "Which items were chosen",
        "UMAP of the pool: MaxEntropy picks clumps, K-Center spreads its picks, Info-NN does some of both.",
        ("mnist-selected",),
    ),
)


def figures_of(name: str) -> str:
    """Which figures or tables of the paper an experiment redoes; empty for those beyond it."""
    return "; ".join(part.label for part in PAPER if name in part.experiments)
