"""Steps of a model by Python's own whole numbers, which have no range to leave; slow, and the truth here."""

from __future__ import annotations

import math

LIFT = 1.5 * 2.0**52  # adding and subtracting it rounds to the nearest whole number, halves to even


def rint(x):
    return (x + LIFT) - LIFT if abs(x) < 2.0**51 else x


def whole(x):
    """An int, of a float that is one."""
    assert float(x).is_integer(), x
    return int(x)


def place(v, shift, n):
    return min(max((v + (1 << shift >> 1)) >> shift, 0), n - 1)


def columns(step, x):
    out = []
    for value, mean, factor in zip(x, step.mean, step.factor, strict=True):
        scaled = rint((float(value) - float(mean)) * float(factor))
        out.append(whole(min(max(scaled, -step.limit), step.limit)))
    return out


def relative(step, x):
    top = max(abs(float(value)) for value in x) or 1.0
    return [whole(rint(float(value) / top * 2.0**14)) for value in x]


def unit(step, v):
    n = math.sqrt(sum(value * value for value in v))
    factor = step.length / n if n > 0 else 0.0
    return [whole(rint(value * factor)) for value in v], n


def linear(step, v, plus=None):
    v, n = v if isinstance(v, tuple) else (v, None)
    out = []
    for k in range(step.weights.shape[1]):
        total = sum(value * int(weight) for value, weight in zip(v, step.weights[:, k], strict=True))
        scale = 2.0 ** int(step.shift[k])
        score = rint(float(total) * n * scale) if n is not None else rint(float(total) * scale)
        out.append(whole(score) + int(step.constant[k]) + (plus[k] if plus is not None else 0))
    return out


def similarities(step, u):
    u = u[0] if isinstance(u, tuple) else u
    out = []
    for center in step.centers:
        squared = sum((value - int(c)) ** 2 for value, c in zip(u, center, strict=True))
        if step.root:
            squared = whole(rint(math.sqrt(squared)))
        out.append(int(step.table[place(squared, step.shift, len(step.table))]))
    return out


def clip(step, v):
    return [min(max(value, step.low), step.high) for value in v]


def join(step, *parts):
    return [value for part in parts for value in part]


STEPS = {each.__name__: each for each in (clip, columns, join, linear, relative, similarities, unit)}


def run(model, row):
    """Whole scores of one row."""
    values = [row]
    for step in model.steps_:
        values.append(STEPS[step.kind](step, *(values[i] for i in step.inputs)))
    return values[-1]
