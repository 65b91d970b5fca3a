"""Regions of attention, which of them are kept, and the edges of a road."""

from __future__ import annotations

import numpy as np
import pytest

from gluon_attn.evaluation.causal_filtering import Region, attended_regions, causal_regions, kept_weights
from gluon_attn.evaluation.road import distances_to_edges, road_edges

GRID = (6, 10)


def attention(*spots: tuple[int, int], weight: float = 0.3) -> np.ndarray:
    """Weights of a grid with spots of two cells side by side; the rest is even."""
    weights = np.zeros(GRID)
    for row, column in spots:
        weights[row, column : column + 2] = weight / 2
    rest = weights == 0
    weights[rest] = (1 - weights.sum()) / rest.sum()
    return weights.reshape(-1)


def test_each_spot_is_a_region() -> None:
    regions = attended_regions(attention((1, 1), (4, 7)), GRID)
    assert [region.tolist() for region in regions] == [[11, 12], [47, 48]]


def test_spots_that_touch_are_one_region_and_even_attention_has_none() -> None:
    assert [len(region) for region in attended_regions(attention((1, 1), (2, 3)), GRID)] == [4]
    assert attended_regions(np.full(60, 1 / 60), GRID) == []
    assert attended_regions(np.zeros(60), GRID) == []


def test_a_single_cell_a_little_above_the_others_is_no_region() -> None:
    weights = np.full(60, 1 / 60)
    weights[25] *= 3
    assert attended_regions(weights, GRID) == []
    assert len(attended_regions(weights, GRID, density=0.25)) == 1


def test_regions_that_change_the_steering_are_kept() -> None:
    """A driver that uses the first spot alone, three degrees for each unit of weight."""
    weights = np.stack([attention((1, 1), (4, 7)), np.full(60, 1 / 60), attention((1, 1))])

    def steer(frames: np.ndarray, given: np.ndarray) -> np.ndarray:
        assert given.shape == (len(frames), 60)
        return 3 * given[:, 11:13].sum(axis=1) + frames

    regions = causal_regions(weights, GRID, steer)
    assert [len(own) for own in regions] == [2, 0, 1]
    assert [round(region.effect, 6) for region in regions[0]] == [0.9, 0.0]
    assert [round(region.weight, 6) for region in regions[0]] == [0.3, 0.3]
    kept = kept_weights(weights[0], regions[0], 0.1)
    assert np.flatnonzero(kept).tolist() == [11, 12]
    assert kept.sum() == pytest.approx(0.3)
    assert not kept_weights(weights[0], regions[0], 1.0).any()


def road(height: int = 40, width: int = 80) -> np.ndarray:
    """HSV: a grey road from column 20 to 59 below row 16, green beside it, sky above."""
    image = np.empty((height, width, 3), np.uint8)
    image[:16], image[16:] = (150, 120, 230), (80, 150, 130)
    image[16:, 20:60] = (0, 5, 110)
    return image


def test_edges_are_where_the_road_ends() -> None:
    edges = road_edges(road())
    rows, columns = np.nonzero(edges)
    assert rows.max() < 33  # nothing below the surface in front of the car
    sides = columns[(rows > 20) & (rows < 32)]
    assert {int(np.abs(sides - side).min()) for side in (20, 59)} <= {0, 1, 2}
    assert np.minimum(np.abs(sides - 20), np.abs(sides - 59)).max() <= 3


def test_distances_to_edges() -> None:
    distances = distances_to_edges(road(), (5, 10)).reshape(5, 10)
    assert distances[3, 2] < distances[3, 4]  # at the left edge, and in the middle of the road
    assert distances[3, 7] < distances[3, 9]
    assert distances[0, 0] > 10
    assert np.isnan(distances_to_edges(np.zeros((40, 80, 3), np.uint8), (5, 10))).all()


def test_an_effect_is_the_distance_from_the_steering_of_its_own_frame() -> None:
    weights = np.stack([attention((1, 1)), attention((1, 1))])
    regions = causal_regions(weights, GRID, lambda frames, given: 3 * given[:, 11:13].sum(axis=1) + 5 * frames)
    assert [round(own[0].effect, 6) for own in regions] == [0.9, 0.9]


def test_a_region_with_exactly_the_least_effect_is_kept() -> None:
    region = Region(np.array([3]), 0.5, 0.25)
    assert kept_weights(np.full(60, 0.5), [region], 0.25)[3] == 0.5


@pytest.mark.parametrize(("times", "regions"), [(13.4, 0), (13.6, 1)])
def test_a_core_has_the_density_on_average_over_nine_cells(times: float, regions: int) -> None:
    """1.5 times 9 uniform weights, whatever the sum of the weights is."""
    weights = np.full(60, (1 - times / 60) / 59)
    weights[25] = times / 60
    assert len(attended_regions(weights, GRID)) == regions
    assert len(attended_regions(3 * weights, GRID)) == regions


def test_distances_are_those_of_the_centres_of_cells() -> None:
    of_pixels = distances_to_edges(road(), (40, 80)).reshape(40, 80)
    np.testing.assert_array_equal(distances_to_edges(road(), (5, 10)).reshape(5, 10), of_pixels[4::8, 4::8])


@pytest.mark.parametrize(("channel", "is_divided"), [(1, True), (2, False)])
def test_a_difference_of_40_divides_a_surface_in_saturation_but_not_in_value(channel: int, is_divided: bool) -> None:
    image = np.full((40, 80, 3), (0, 100, 110), np.uint8)
    image[:, 60:, channel] += 40
    assert road_edges(image).any() == is_divided
