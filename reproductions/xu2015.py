"""Xu et al. (2015), "Show, attend and tell: neural image caption generation with visual attention".

An LSTM generates the caption of an image. Before each word it attends to a 14 x 14 grid of features of a convolutional
network. *Soft* attention reads the expected feature; *hard* attention samples one position and is trained by REINFORCE.
A penalty makes soft attention attend equally to every part of the image over the caption (eq. 14). Table 1, test split
of Flickr8k, BLEU-1 to BLEU-4: soft 67.0, 44.8, 29.9, 19.5; hard 67.0, 45.7, 31.4, 21.3; Google's network without
attention 63, 41, 27.

Here we use the same corpus and split, in re-encoded copies of 224 x 224 pixels. The features are those of
EfficientNet-Lite0 (75.1 % on ImageNet) instead of VGG-19. The main grid is its last, 7 x 7 at stride 32; with the 14 x
14 grid at stride 16 and annotations of 112 units, soft attention is worse by 2.9 BLEU-4 (seed 1). The vocabulary has
the words that occur at least five times in training, 2 541 including special tokens, instead of 10 000. The networks
have 384 units, annotations are a learned projection of the features, and output weights are tied to the embeddings.
Training uses label smoothing, dropout, Adam with a learning rate that decays to 0, and parameters averaged over four
epochs. All systems use one search: beam 5 with a length penalty, that of the translators except `sutskever2014`.

Public implementations with convolutional features trained on ImageNet: Lam and Liu (a course project at Cornell)
report 68.0, 48.3, 34.4, 24.2 for soft and 68.3, 48.8, 34.7, 24.4 for hard attention on ResNet-50 features;
fuqianya/show-attend-and-tell-paddle 67.7, 49.4, 35.0, 24.3.

Claims: attention is better than the mean feature, and than random weights; hard attention is better than soft
attention in BLEU-2 to BLEU-4; the penalty helps; the network attends to the object that the word names.

Result: with these features BLEU shows no gain of attention over the mean feature or random weights, and none of the
penalty. With the penalty the weights of soft attention are nearly uniform; without it they are diffuse. Those of a noun
show its class better than those of nouns in other images, but so do random weights: the difference is inconclusive.
That soft attention shows it better than the whole image does is the only claim that is supported (`raises`).
Hard attention is more concentrated; its weights show the class of a noun less than those of nouns in other images, with
every seed (by 0.3, 7.0 and 8.6 points). What is around the object is not measured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gluon_attn.models.show_attend_tell import ShowAttendTell
from gluon_attn.training.recipe import Recipe
from reproductions.protocol.claims import Better, Measured
from reproductions.protocol.reported import Reported, Table
from reproductions.protocol.reproduction import Override, Reproduction
from reproductions.protocol.task import Variant
from reproductions.tasks.captioning.data import CaptionData, CaptionSettings
from reproductions.tasks.captioning.results import (
    shows_class_better_than_equal,
    shows_class_better_than_random,
)
from reproductions.tasks.captioning.task import SMOKE, Captioning

ORDERS = ("bleu-1", "bleu-2", "bleu-3", "bleu-4")


def scores(source: str, system: str, values: tuple[float, ...], checked: str, digits: int) -> list[Reported]:
    """BLEU-1 to BLEU-4 of one system on the test split of Flickr8k."""
    table = Table(source, corpus="flickr8k", metric="bleu-4", checked=checked, digits=digits)
    return [table.entry(system, value, metric=metric) for metric, value in zip(ORDERS, values, strict=False)]


TABLE_1 = "Xu et al. (2015), Table 1"
OTHERS = "Table 1, against other systems without attention"
SOFT = scores(TABLE_1, "soft attention", (67.0, 44.8, 29.9, 19.5), "secondary", 1)
HARD = scores(TABLE_1, "hard attention", (67.0, 45.7, 31.4, 21.3), "secondary", 1)
METEOR = Table(TABLE_1, corpus="flickr8k", metric="meteor", checked="secondary")
METEORS = (METEOR.entry("soft attention", 18.93), METEOR.entry("hard attention", 20.30))
NIC = scores(TABLE_1, "Google NIC, without attention", (63.0, 41.0, 27.0), "secondary", 0)
BILINEAR = scores(TABLE_1, "Log Bilinear, without attention", (65.6, 42.4, 27.7, 17.7), "secondary", 1)
PUBLIC = "Lam and Liu, Show, Attend, Tell (Cornell CS 4782)"
PADDLE = "fuqianya/show-attend-and-tell-paddle"
PEERS = (
    *scores(PUBLIC, "soft, ResNet-50 features", (68.01, 48.30, 34.39, 24.20), "text", 2),
    *scores(PUBLIC, "hard, ResNet-50 features", (68.31, 48.75, 34.67, 24.40), "text", 2),
    *scores(PUBLIC, "soft, VGG-19 features", (65.67, 45.67, 32.14, 22.61), "text", 2),
    *scores(PUBLIC, "hard, VGG-19 features", (64.72, 43.57, 29.87, 20.46), "text", 2),
    *scores(PADDLE, "soft attention", (67.7, 49.4, 35.0, 24.3), "text", 1),
    *scores("63days/SAT", "soft, VGG-16 features", (61.09, 36.54, 22.64, 14.21), "text", 2),
    *scores("chiral-carbon (on GitHub)", "without attention", (53.0, 28.7, 19.8, 9.4), "text", 1),
    *scores("Karpathy and Fei-Fei (2015)", "without attention", (57.9, 38.3, 24.5, 16.0), "memory", 1),
)
OUR_BLEU = "re-encoded images of 224 pixels; our beam size; our BLEU has a brevity penalty"
FEATURES = f"EfficientNet-Lite0 features, not VGG-19's; our dropout; {OUR_BLEU}"

CPU = Recipe(epochs=10, batch_size=64, learning_rate=1e-3, warmup_steps=200, decay="cosine", clip_norm=1.0, average=4)


@dataclass(frozen=True, kw_only=True)
class Settings(CaptionSettings):
    """The sizes of the authors' published code for Flickr8k and COCO. The paper itself states 14 x 14 x 512 features of
    VGG, 10 000 words and lambda = 1 (sec. 4 and 5).

    Attributes:
        attention: ``soft``, ``hard``, ``random`` or ``none``.
        units: width of the LSTM.
        attention_units: width of the hidden layer of the attention.
        annotation_units: width of a learned projection of the features; None to use the features themselves.
        penalty: lambda of the doubly stochastic penalty.
        reinforce, entropy: weights of hard attention's reward and of its entropy.
        argmax: whether hard attention uses the likeliest position during search; otherwise it uses the expected
            context.
        feature_dropout: dropout rate of the annotations and of the features of the output layer.
    """

    grid: str = "vgg-conv5"
    min_freq: int = 1
    max_size: int | None = 9_996
    attention: str = "soft"
    units: int = 1800
    attention_units: int = 512
    embedding_units: int = 512
    annotation_units: int | None = None
    penalty: float = 1.0
    reinforce: float = 1.0
    entropy: float = 0.002
    argmax: bool = True
    feature_dropout: float = 0.5

    def build(self, data: CaptionData) -> ShowAttendTell:
        return ShowAttendTell(
            attention=self.attention,
            annotation_units=self.annotation_units,
            units=self.units,
            attention_units=self.attention_units,
            penalty=self.penalty,
            reinforce=self.reinforce,
            entropy=self.entropy,
            argmax=self.argmax,
            feature_dropout=self.feature_dropout,
            **data.shared(self),
        )


soft = Settings(
    grid="stride-32",
    min_freq=5,
    max_size=None,
    units=384,
    attention_units=256,
    embedding_units=256,
    annotation_units=384,
    smoothing=0.1,
    tied=True,
    dropout=0.5,
    feature_dropout=0.5,
)
hard = replace(soft, attention="hard", penalty=0.0)
# The features at stride 16 have 112 channels; wider annotations would make a training longer than an hour.
fine = replace(soft, grid="stride-16", annotation_units=112)


def smoke(variant: Variant[Settings]) -> Variant[Settings]:
    tiny = replace(
        variant.settings, min_freq=1, units=16, attention_units=16, embedding_units=16, annotation_units=16, beam=2
    )
    return replace(variant, settings=tiny, recipe=SMOKE)


def paper(variant: Variant[Settings]) -> Variant[Settings] | None:
    if variant.name == "soft-16":
        return None  # all have the paper's grid
    whole = Settings(attention=variant.settings.attention, penalty=variant.settings.penalty)
    return replace(variant, settings=whole, differs=(variant.beside and OUR_BLEU) or "")


def better_hard(order: int) -> Better:
    """The claim of Table 1 in BLEU up to one length of n-grams, with the paper's difference."""
    effect = HARD[order - 1].value - SOFT[order - 1].value
    statement, metric = f"Hard attention is better than soft (BLEU-{order})", f"bleu-{order}"
    return Better(f"hard-{order}", statement, "hard", "soft", "Table 1", metric, reported=effect)


REPRODUCTION = Reproduction(
    title="Show, attend and tell: attention over an image",
    source="Xu et al. (2015), arXiv:1502.03044",
    task=Captioning("flickr8k"),
    reported=(*SOFT, *HARD, *METEORS, *NIC, *BILINEAR, *PEERS),
    variants=(
        Variant("soft", "soft attention", soft, CPU, beside=SOFT[3], comparable=True, differs=FEATURES),
        Variant("hard", "hard attention", hard, CPU, beside=HARD[3], comparable=True, differs=FEATURES),
        Variant("soft-free", "soft attention without the penalty", replace(soft, penalty=0.0), CPU),
        Variant("soft-16", "soft attention over the grid at stride 16, narrower annotations", fine, CPU, seeds=(1,)),
        Variant("random", "random attention weights", replace(soft, attention="random", penalty=0.0), CPU),
        Variant("none", "no attention (mean feature)", replace(soft, attention="none", penalty=0.0), CPU),
    ),
    claims=(
        Better("attention", "Soft attention is better than the mean feature (BLEU-4)", "soft", "none", OTHERS),
        Better("attention-hard", "Hard attention is better than the mean feature (BLEU-4)", "hard", "none", OTHERS),
        Better("learned", "Soft attention is better than random attention weights (BLEU-4)", "soft", "random"),
        *(better_hard(order) for order in (2, 3, 4)),
        Better("penalty", "The doubly stochastic penalty helps (BLEU-4)", "soft", "soft-free", "sec. 4.2.1"),
        Measured(
            "points-random",
            "Soft attention finds the object that a noun names better than random attention does",
            "ours",
            ("soft", "random"),
            shows_class_better_than_random,
        ),
        Measured(
            "raises",
            "What is attended to at a noun shows its class better than the whole image does",
            "Figures 2 and 3",
            ("soft",),
            shows_class_better_than_equal,
        ),
    ),
    headline=("soft", "none"),
    seeds=(1, 2, 3),
    smoke=Override(smoke),
    paper=Override(paper),
    notes=(
        "The `paper` preset has the sizes of the authors' code, which the paper does not state, for VGG-19 features. "
        "VGG-19's weights are not included: the preset only counts parameters.",
        "METEOR was changed after test had been scored: it was the mean of the scores of captions, 1.3 to 1.6 higher.",
        "Until test had been scored, `hard-2` to `hard-4` were one claim, on the smallest of the three differences: "
        "that of `hard-2` with seeds 1 and 2, of `hard-3` with seed 3.",
        "Whether attention finds the object that a noun names: the features are pooled by the noun's weights, and the "
        "probability of its ImageNet class is read. It is compared with two references. First, the weights of nouns in "
        "other images, of soft minus random attention (`points-random`, added after test was scored): +0.72, -0.27 and "
        "+2.09 points by seed. Claims on this reference alone were withdrawn, though one was supported, because random "
        "attention, too, is above it, at +1.93, +2.87 and +0.21 points, perhaps because a network names what its "
        "weights happen to show. Second, equal weights: there (`raises`) random attention is at -3.57, -2.27 and -4.88 "
        "points, hard attention at -0.78, -13.82 and -17.99, and soft attention without the penalty at +0.32, +4.26 "
        "and +2.32: `raises` is about `soft` only. 44 words are mapped to classes of ImageNet; of `soft`, 507 to 519 "
        "of 1 000 captions have one, and 38 to 40 % of these nouns are dog or dogs.",
        "How diffuse attention is: in six example captions of each seed (the figures show one seed), the mean over "
        "words of the exponential of the entropy of the weights is 48.4 of 49 positions for `soft`, 41.2 for "
        "`soft-free`, 31.2 for `hard` and 13.3 for `random`.",
        "The paper's BLEU has no brevity penalty (seen in a secondary source); ours has one. To compare without it: "
        "BLEU-1 to BLEU-4 are 64.6, 45.7, 31.4 and 21.3 (soft attention), 63.7, 44.9, 30.8 and 20.9 (hard attention, "
        "below the paper's) and 64.1, 45.4, 31.2 and 21.3 (mean feature).",
    ),
)
