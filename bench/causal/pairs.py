"""Pairs of runs side by side, for what stands in this folder."""
from math import comb


def spread_of(values):
    """Half of the median's 95 % interval, of sorted values: between the order statistics that hold the median of as many with 95 % or more,
    whatever their distribution."""
    count, outside, chance = len(values), 0, 0.0
    while chance + comb(count, outside) / 2 ** count <= 0.025:
        chance += comb(count, outside) / 2 ** count
        outside += 1
    return (values[count - outside] - values[outside - 1]) / 2 if outside else (values[-1] - values[0])
