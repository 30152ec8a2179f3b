"""Group sizes worth trying: vectors of `groups` numbers that add up to at most m."""
import numpy as np

PRIMES = np.array([1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31])


def fill(rng, wanted, m):
    """Of the wanted sizes as much as there are rows for."""
    sizes = []
    for size in wanted:
        sizes.append(int(min(size, m - sum(sizes))))
    return sizes


def to_the_end(sizes, m):
    return sizes[:-1] + [m - sum(sizes[:-1])]


def random_cuts(rng, m, groups, tile):
    ends = np.sort(rng.integers(0, m + 1, groups - 1))
    return np.diff([0, *ends, m]).tolist()


def whole_tiles(rng, m, groups, tile):
    return to_the_end([int(tile * n) for n in fill(rng, rng.integers(0, 3, groups), m // tile)], m)


def around_tiles(rng, m, groups, tile):
    """Groups that end on the edge of a tile, a row before and a row after."""
    ends = np.clip(tile * rng.integers(0, m // tile + 2, groups - 1) + rng.integers(-1, 2, groups - 1), 0, m)
    return np.diff([0, *np.sort(ends), m]).tolist()


def ones(rng, m, groups, tile):
    return fill(rng, np.ones(groups, int), m)


def ones_and_the_rest(rng, m, groups, tile):
    return rng.permutation(to_the_end(ones(rng, m, groups, tile), m)).tolist()


def many_zeros(rng, m, groups, tile):
    kept = rng.random(groups) < 0.3
    return fill(rng, rng.integers(1, m, groups) * kept, m)


def primes(rng, m, groups, tile):
    return fill(rng, rng.choice(PRIMES, groups), m)


def one_group(rng, m, groups, tile):
    sizes = np.zeros(groups, int)
    sizes[rng.integers(groups)] = m
    return sizes.tolist()


def no_rows(rng, m, groups, tile):
    return [0] * groups


def rows_left_over(rng, m, groups, tile):
    return random_cuts(rng, int(rng.integers(1, m)), groups, tile)


KINDS = [
    random_cuts, primes, around_tiles, many_zeros, ones, rows_left_over, whole_tiles, one_group, random_cuts,
    ones_and_the_rest, around_tiles, no_rows,
]  # fmt: skip


def vectors(rng, count, m, groups, tile):
    for i in range(count):
        sizes = KINDS[i % len(KINDS)](rng, m, groups, tile)
        assert len(sizes) == groups and min(sizes) >= 0 and sum(sizes) <= m, (KINDS[i % len(KINDS)], sizes)
        yield sizes
