"use strict";
// Whole-number models, one row at a time: the same numbers as `Step.run` in kinhash/models. Sums are of
// whole numbers below 2^53, so they are exact in any order. All else happens entry by entry, in double precision
// and in the order of operations of `Step.run`. This file needs nothing of the page.

const NUMBER_KINDS = { i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, f8: Float64Array };
const RELATIVE = 2 ** 14, SHARE = 2 ** 24, SIMILARITY = 2 ** 15, CHANCE = 2 ** 16, SOLUTION = 2 ** 16;
const BY_ROW = 0, SYMMETRIC = 1; // how a solution is stretched
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

/** Entries of a table at (v + half) >> shift, held at its ends or, with `wrap`, around again. */
function lookUp(v, table, shift, wrap = 0) {
  const half = shift ? powerOfTwo(shift - 1) : 0, scale = powerOfTwo(-shift), n = table.length;
  return v.map((x) => {
    const place = Math.floor((x + half) * scale);
    return table[wrap ? ((place % n) + n) % n : clip(place, 0, n - 1)];
  });
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

/** matrix @ v. */
function productOfRows(matrix, v) {
  const width = v.length, out = new Float64Array(width ? matrix.length / width : 0);
  for (let i = 0; i < out.length; i++) {
    let sum = 0;
    for (let j = 0, at = i * width; j < width; j++, at++) sum += matrix[at] * v[j];
    out[i] = sum;
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

  similarities({ centers, table, shift, root }, u) {
    const width = u.length, squared = new Float64Array(centers.length / width);
    for (let i = 0, at = 0; i < squared.length; i++) {
      let sum = 0;
      for (let j = 0; j < width; j++, at++) sum += (u[j] - centers[at]) * (u[j] - centers[at]);
      squared[i] = root ? rint(Math.sqrt(sum)) : sum;
    }
    return lookUp(squared, table, shift);
  },

  softmax({ table, shift }, v) {
    const top = largest(v), e = lookUp(v.map((x) => top - x), table, shift), sum = total(e);
    return e.map((x) => rint((x / sum) * SHARE));
  },

  lookup: ({ table, low, shift, wrap }, v) => lookUp(v.map((x) => x - low), table, shift, wrap),

  tags({ patterns, table, shift, graded }, chances, logs) {
    const none = lookUp(productOfRows(patterns, logs), table, shift);
    if (!graded) return none.map((x) => SIMILARITY - 2 * x);
    const ones = productOfRows(patterns, new Float64Array(chances.length).fill(1)), sum = total(chances);
    return productOfRows(patterns, chances).map(
      (common, i) => rint((common / (sum - common + Math.max(ones[i], 1) * CHANCE)) * SIMILARITY) - none[i]);
  },

  settle({ coupling, n_sweeps: sweeps }, b) {
    const d = b.length, bits = b.map((x) => (x > 0 ? 1 : -1));
    const field = (k) => {
      let sum = 0;
      for (let l = 0; l < d; l++) if (l !== k) sum += coupling[k * d + l] * bits[l];
      return b[k] - sum;
    };
    for (let sweep = 0, changed = true; sweep < sweeps && changed; sweep++) {
      changed = false;
      for (let k = 0; k < d; k++) {
        const bit = Math.sign(field(k)) || bits[k];
        changed = changed || bit !== bits[k];
        bits[k] = bit;
      }
    }
    return b.map((_, k) => field(k) || bits[k]);
  },

  solve({ vectors, values, sums, clip: [end], how }, b) {
    const part = 1 / SOLUTION, most = 2 * end * b.length;
    const lambda = largest(b.map((x, k) => sums[k] + Math.abs(x))) / end || 1;
    const along = product(b, vectors, b.length).map((x, k) => {
      const away = Math.max(lambda - values[k], lambda * powerOfTwo(-20));
      return rint(clip((x * part) / away, -most, most) / part);
    });
    const v = productOfRows(vectors, along).map((x) => rint(x * part));
    if (how !== BY_ROW && how !== SYMMETRIC) return v;
    const high = largest(v), low = -largest(v.map((x) => -x));
    const middle = how === SYMMETRIC ? 0 : low + high;
    const reach = how === SYMMETRIC ? 2 * Math.max(Math.abs(low), Math.abs(high)) : high - low;
    return v.map((x) => rint(((reach === 0 ? Math.sign(x) : (2 * x - middle) / reach) * end) / part));
  },

  trees({ edges, edge_starts: starts, base, feature, threshold, right, value, nodes, trees }, v) {
    const places = v.map((x, j) => {
      let place = starts[j];
      while (place < starts[j + 1] && edges[place] < x) place++;
      return place - starts[j];
    });
    let root = 0, tree = 0;
    return Float64Array.from(base, (sum, bit) => {
      for (const last = tree + trees[bit]; tree < last; root += nodes[tree++]) {
        let node = root;
        while (right[node] > 0) node = places[feature[node]] <= threshold[node] ? node + 1 : root + right[node];
        sum += value[node];
      }
      return sum;
    });
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
