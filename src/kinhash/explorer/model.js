"use strict";
// Whole-number models, one row at a time: the same numbers as `Step.run` in kinhash/models. Sums are of
// whole numbers below 2^53, so they are exact in any order. All else happens entry by entry, in double precision
// and in the order of operations of `Step.run`. This file needs nothing of the page.

const NUMBER_KINDS = { i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, f8: Float64Array };
const RELATIVE = 2 ** 14;
const WHOLE = 2 ** 52; // doubles from here on are whole numbers

/** Nearest whole number; halves go to the even one. */
function rint(x) {
  if (!(Math.abs(x) < WHOLE)) return x;
  return x < 0 ? x - WHOLE + WHOLE : x + WHOLE - WHOLE;
}

/** 2 to a whole power, without Math.pow, which need not be exact. */
function powerOfTwo(exponent) {
  let power = 1;
  for (; exponent > 0; exponent--) power *= 2;
  for (; exponent < 0; exponent++) power /= 2;
  return power;
}

const clip = (x, low, high) => Math.min(Math.max(x, low), high);
const largest = (v) => v.reduce((most, x) => Math.max(most, x), -Infinity);
const total = (v) => v.reduce((sum, x) => sum + x, 0);

/** Entries of a table at (v + half) >> shift, held at its ends. */
function lookUp(v, table, shift) {
  const half = shift ? powerOfTwo(shift - 1) : 0, scale = powerOfTwo(-shift);
  return v.map((x) => table[clip(Math.floor((x + half) * scale), 0, table.length - 1)]);
}

/** v @ matrix, with the rows of the matrix one after the other. */
function product(v, matrix, width) {
  const out = new Float64Array(width);
  for (let i = 0; i < v.length; i++) {
    const x = v[i], start = i * width;
    if (x !== 0) for (let j = 0; j < width; j++) out[j] += x * matrix[start + j];
  }
  return out;
}

// One function per kind of step: its settings and arrays, then the values that it takes. A step "unit" keeps the
// length that the row had as `own`.
const MODEL_STEPS = {
  columns: ({ mean, factor, limit }, x) => x.map((v, j) => clip(rint((v - mean[j]) * factor[j]), -limit, limit)),

  relative(_, x) {
    const top = largest(x.map(Math.abs)) || 1;
    return x.map((v) => rint((v / top) * RELATIVE));
  },

  unit({ length }, v) {
    const own = Math.sqrt(total(v.map((x) => x * x))), factor = own > 0 ? length / own : 0;
    return Object.assign(v.map((x) => rint(x * factor)), { own });
  },

  linear({ weights, shift, constant }, v, plus) {
    const own = v.own === undefined ? 1 : v.own;
    return product(v, weights, shift.length).map(
      (sum, j) => rint(sum * own * powerOfTwo(shift[j])) + constant[j] + (plus ? plus[j] : 0));
  },

  clip: ({ low, high }, v) => v.map((x) => clip(x, low, high)),

  similarities({ centers, table, shift, root }, u) {
    const width = u.length, squared = new Float64Array(centers.length / width);
    for (let i = 0, at = 0; i < squared.length; i++) {
      let sum = 0;
      for (let j = 0; j < width; j++, at++) sum += (u[j] - centers[at]) * (u[j] - centers[at]);
      squared[i] = root ? rint(Math.sqrt(sum)) : sum;
    }
    return lookUp(squared, table, shift);
  },

  join: (_, ...values) => Float64Array.from(values.flatMap((v) => Array.from(v))),
};

/** A model: `listed` are its steps [kind, inputs, settings], `kinds` the kinds of its arrays by name ("0.mean"),
 *  and `bytes(name)` gives an array's bytes, lowest first. */
function readModel(listed, kinds, bytes) {
  const steps = listed.map(([kind, inputs, settings]) => ({ run: MODEL_STEPS[kind], inputs, own: { ...settings } }));
  for (const [name, kind] of Object.entries(kinds)) {
    const dot = name.indexOf(".");
    steps[Number(name.slice(0, dot))].own[name.slice(dot + 1)] = new NUMBER_KINDS[kind](bytes(name).buffer);
  }
  return steps;
}

/** Whole scores of a row, a Float64Array. A bit is 1 where its score is above zero. */
function runModel(steps, row) {
  const values = [row];
  for (const { run, inputs, own } of steps) values.push(run(own, ...inputs.map((place) => values[place])));
  return values[values.length - 1];
}
