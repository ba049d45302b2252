// The arithmetic whose digits are the same on every machine (kinhash._arithmetic, FIXED), on a card: float64, the
// terms of a sum from the first to the last, every operation rounded by itself. Compiled without fused
// multiplication and addition.

typedef long long i64;

#define TILE 64
#define DEPTH 16

// out (m, d) = a (m, n) times b (n, d). A block makes 64 x 64 entries, a thread 4 x 4 of them.
extern "C" __global__ void __launch_bounds__(256)
    product(const double* __restrict__ a, const double* __restrict__ b, i64 m, i64 n, i64 d, double* out) {
  __shared__ double left[DEPTH][TILE + 1], right[DEPTH][TILE];
  i64 row0 = (i64)blockIdx.x * TILE, column0 = (i64)blockIdx.y * TILE;
  int x = threadIdx.x % 16, y = threadIdx.x / 16;
  double sum[4][4] = {};
  for (i64 k0 = 0; k0 < n; k0 += DEPTH) {
    for (int i = threadIdx.x; i < TILE * DEPTH; i += 256) {
      i64 row = row0 + i / DEPTH, k = k0 + i % DEPTH;
      left[i % DEPTH][i / DEPTH] = row < m && k < n ? a[row * n + k] : 0.0;
      i64 column = column0 + i % TILE, j = k0 + i / TILE;
      right[i / TILE][i % TILE] = column < d && j < n ? b[j * d + column] : 0.0;
    }
    __syncthreads();
    int depth = n - k0 < DEPTH ? n - k0 : DEPTH;
    for (int k = 0; k < depth; k++)
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) sum[i][j] = sum[i][j] + left[k][y + 16 * i] * right[k][x + 16 * j];
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      i64 row = row0 + y + 16 * i, column = column0 + x + 16 * j;
      if (row < m && column < d) out[row * d + column] = sum[i][j];
    }
}

// out (m,): sums of the rows of a (m, n).
extern "C" __global__ void sums(const double* __restrict__ a, i64 m, i64 n, double* out) {
  i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m) return;
  double sum = 0.0;
  for (i64 k = 0; k < n; k++) sum = sum + a[row * n + k];
  out[row] = sum;
}

// ---- exp, log, tanh as in kinhash._elementary_loops ----------------------------------------------------------

__device__ double scaled(double x, double n) {
  double first = n > -1000.0 ? n : -1000.0;
  double one = __longlong_as_double(((i64)first + 1023) << 52);
  double two = __longlong_as_double(((i64)(n - first) + 1023) << 52);
  return x * one * two;
}

__device__ double grown(double x, double* n) {
  const double high = 0x1.62e42fee00000p-1, low = 0x1.a39ef35793c76p-33;
  const double c[12] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                        1.0 / 5040,       1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      1.0 / 2};
  if (x < -800.0) x = -800.0;
  if (x > 709.0) x = 709.0;
  *n = rint(x * (1 / 0.6931471805599453));
  double r = (x - *n * high) - *n * low;
  double value = c[0];
  for (int i = 1; i < 12; i++) value = value * r + c[i];
  return r + r * r * value;
}

__device__ double less_one(double x) {
  double n, g = grown(x, &n);
  return n == 0 ? g : scaled(1.0 + g, n) - 1.0;
}

extern "C" __global__ void exponentials(const double* x, i64 size, double* out) {
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  double n, g = grown(x[i], &n);
  out[i] = scaled(1.0 + g, n);
}

extern "C" __global__ void hyperbolic_tangents(const double* x, i64 size, double* out) {
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  double fallen = less_one(-2 * fabs(x[i]));
  out[i] = copysign(-fallen / (2 + fallen), x[i]);
}

extern "C" __global__ void logarithms(const double* x, i64 size, double* out) {
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  i64 bits = __double_as_longlong(x[i]);
  double n = (double)((bits >> 52) - 1022);
  double m = __longlong_as_double((bits & ((1ll << 52) - 1)) | (1022ll << 52));
  if (m < 0.70710678118654757) m = 2 * m, n = n - 1;
  double s = (m - 1) / (m + 1), square = s * s, tail = 1.0 / 25;
  for (int k = 23; k > 1; k -= 2) tail = tail * square + 1.0 / k;
  tail = 2 * s * (square * tail);
  out[i] = n * 0x1.62e42fee00000p-1 + (2 * s + (tail + n * 0x1.a39ef35793c76p-33));
}
