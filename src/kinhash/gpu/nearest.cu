// Hamming search on a card. W, the number of 64-bit words of a code, is set when this is compiled.
//
// Codes lie in planes: word w of row r is codes[w * stride + r], and stride is a whole number of tiles of
// 1024 rows, so loads need no test. A launch looks at the tiles first, first + step, ..., n_tiles of them.
//
// A distance is sum_i weight_i [bit i differs] with whole weights from 0 to 15, one row of weights for each
// query. Rows within the limit of a query are noted as keys, distance << 40 | row, in any order: counts[q]
// goes on counting where there is no room for more than cap of them.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define TILE 1024
#define SHIFT 40
#define ROW ((1ull << SHIFT) - 1)
#define THREADS 256
#define LARGEST (15 * 64 * W)  // no distance is larger: the limit where none is given

__device__ __forceinline__ void note(u32 query, i64 row, int distance, const u32* mask, u32 cap, u32* counts,
                                     u64* keys) {
  if (mask && !((mask[row >> 5] >> (row & 31)) & 1)) return;
  u32 place = atomicAdd(counts + query, 1u);
  if (place < cap) keys[(u64)query * cap + place] = (u64)distance << SHIFT | (u64)row;
}

// ---- few queries: one popcount for every bit plane of the weights -------------------------------------------
// Four codes to a thread. P = 1 stands for weights that are all one; otherwise there are four planes.

template <int NQ, int P>
struct Few {  // handed over by value: a copy to the card would take longer than a small scan
  u64 words[NQ][W], planes[NQ][P][W];
};

template <int NQ, int P>
__global__ void few(const u64* __restrict__ codes, i64 stride, i64 n_rows, i64 first, i64 n_tiles, i64 step,
                    const Few<NQ, P> given, int first_query, int n_queries, const int* __restrict__ limits, const u32* __restrict__ mask, u32 cap, u32* counts,
                    u64* keys) {
  __shared__ u64 asked[NQ][W], weight[NQ][P][W];
  for (int i = threadIdx.x; i < NQ * W; i += blockDim.x) {
    asked[i / W][i % W] = given.words[i / W][i % W];
    if (P > 1)
      for (int p = 0; p < P; p++) weight[i / W][p][i % W] = given.planes[i / W][p][i % W];
  }
  __syncthreads();
  int limit[NQ];
#pragma unroll
  for (int q = 0; q < NQ; q++) limit[q] = q >= n_queries ? -1 : limits ? limits[first_query + q] : LARGEST;
  for (i64 j = blockIdx.x; j < n_tiles; j += gridDim.x) {
    i64 base = (first + j * step) * TILE + 2 * threadIdx.x;
    int d[NQ][4] = {};
#pragma unroll
    for (int w = 0; w < W; w++) {
      ulonglong2 a = __ldcs((const ulonglong2*)(codes + w * stride + base));
      ulonglong2 b = __ldcs((const ulonglong2*)(codes + w * stride + base + 2 * THREADS));
      u64 c[4] = {a.x, a.y, b.x, b.y};
#pragma unroll
      for (int q = 0; q < NQ; q++)
#pragma unroll
        for (int r = 0; r < 4; r++) {
          u64 differing = c[r] ^ asked[q][w];
          if (P == 1) d[q][r] += __popcll(differing);
          else
#pragma unroll
            for (int p = 0; p < P; p++) d[q][r] += __popcll(differing & weight[q][p][w]) << p;
        }
    }
#pragma unroll
    for (int q = 0; q < NQ; q++)
      if (min(min(d[q][0], d[q][1]), min(d[q][2], d[q][3])) <= limit[q])
#pragma unroll
        for (int r = 0; r < 4; r++) {
          i64 row = base + (r & 1) + (r >> 1) * 2 * THREADS;
          if (d[q][r] <= limit[q] && row < n_rows) note(first_query + q, row, d[q][r], mask, cap, counts, keys);
        }
  }
}

// ---- many queries: tensor cores ----------------------------------------------------------------------------
// sum_i w_i [q_i differs from c_i] = sum_i w_i q_i + sum_i c_i w_i (1 - 2 q_i): a product of bits, 0 or 1, with
// small whole numbers. A warp holds 16 MT codes as bytes in registers and meets eight queries at a time. Sums
// start at (what the query's own ones count) - limit - 1, so that a hit is a negative number: the "or" of all
// sums of a thread tells by its sign whether there is one, and nothing of size queries x rows is written.

#define MT (W >= 8 ? 1 : 8 / W)
#define WARP_ROWS (16 * MT)
#define BLOCK_ROWS (WARP_ROWS * THREADS / 32)

__device__ __forceinline__ void multiply(int (&d)[4], const u32* a, u32 b0, u32 b1, int c0, int c1, int c2,
                                         int c3) {
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
               "{%10,%11,%12,%13};"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(c0), "r"(c1), "r"(c2), "r"(c3));
#endif
}

// Sixteen bits as four registers of four bytes: register r has bits r, 4 + r, 8 + r, 12 + r.
__device__ __forceinline__ void unpack(u32 h, u32* out) {
  u32 nibbles = (h & 0xf) | (h & 0xf0) << 4 | (h & 0xf00) << 8 | (h & 0xf000) << 12;
#pragma unroll
  for (int r = 0; r < 4; r++) out[r] = (nibbles >> r) & 0x01010101;
}

// factors[(tile * W + w) * 32 + lane]: the four registers of a lane for eight queries; own[q]: what the ones of
// query q count, far too much for queries that only fill up a tile. per_block tiles of queries in blockIdx.y.
extern "C" __global__ void __launch_bounds__(THREADS, W > 8 ? 1 : 2)
    many(const u64* __restrict__ codes, i64 stride, i64 n_rows, i64 first, i64 n_tiles, i64 step,
         const uint4* __restrict__ factors, const int* __restrict__ own, int n_query_tiles, int per_block,
         int n_queries, const int* __restrict__ limits, const u32* __restrict__ mask, u32 cap, u32* counts,
         u64* keys) {
  extern __shared__ uint4 shared[];
  int tile0 = blockIdx.y * per_block;
  int tiles = min(per_block, n_query_tiles - tile0);
  uint4* b = shared;
  int* start = (int*)(shared + per_block * W * 32);
  for (int i = threadIdx.x; i < tiles * W * 32; i += THREADS) b[i] = factors[(i64)tile0 * W * 32 + i];
  for (int i = threadIdx.x; i < tiles * 8; i += THREADS) {
    int q = tile0 * 8 + i;
    start[i] = q < n_queries ? own[q] - limits[q] - 1 : 1 << 30;
  }
  __syncthreads();
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  const int parts = TILE / BLOCK_ROWS;
  for (i64 j = blockIdx.x; j < n_tiles * parts; j += gridDim.x) {
    i64 base = (first + j / parts * step) * TILE + j % parts * BLOCK_ROWS + warp * WARP_ROWS;
    u32 a[MT][W][8];  // registers of the first product, then of the second
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
      for (int w = 0; w < W; w++) {
        const u16* chunks = (const u16*)(codes + w * stride + base + 16 * m) + t;
        u32 low[4], high[4];
        unpack(__ldg(chunks + 4 * g), low);
        unpack(__ldg(chunks + 4 * (g + 8)), high);
#pragma unroll
        for (int s = 0; s < 2; s++) {
          a[m][w][4 * s] = low[2 * s], a[m][w][4 * s + 1] = high[2 * s];
          a[m][w][4 * s + 2] = low[2 * s + 1], a[m][w][4 * s + 3] = high[2 * s + 1];
        }
      }
    for (int tile = 0; tile < tiles; tile++) {
      int2 c = ((const int2*)start)[tile * 4 + t];
      int d[MT][4];
#pragma unroll
      for (int w = 0; w < W; w++) {
        uint4 f = b[(tile * W + w) * 32 + lane];
#pragma unroll
        for (int m = 0; m < MT; m++) {
          if (w == 0) multiply(d[m], a[m][w], f.x, f.y, c.x, c.y, c.x, c.y);
          else multiply(d[m], a[m][w], f.x, f.y, d[m][0], d[m][1], d[m][2], d[m][3]);
        }
#pragma unroll
        for (int m = 0; m < MT; m++)
          multiply(d[m], a[m][w] + 4, f.z, f.w, d[m][0], d[m][1], d[m][2], d[m][3]);
      }
      int sign = 0;
#pragma unroll
      for (int m = 0; m < MT; m++) sign |= d[m][0] | d[m][1] | d[m][2] | d[m][3];
      if (sign < 0)
#pragma unroll
        for (int m = 0; m < MT; m++)
#pragma unroll
          for (int i = 0; i < 4; i++)
            if (d[m][i] < 0) {
              int q = (tile0 + tile) * 8 + 2 * t + (i & 1);
              i64 row = base + 16 * m + g + 8 * (i >> 1);
              if (row < n_rows) note(q, row, d[m][i] + limits[q] + 1, mask, cap, counts, keys);
            }
    }
  }
}

// Factors and own sums of the queries, see questions.py. weights: a row of 64 W for each, or
// null where every bit counts one.
extern "C" __global__ void prepare(const u64* __restrict__ queries, const u8* __restrict__ weights,
                                   int n_queries, u32* factors, int* own) {
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  int r = i & 3, lane = i >> 2 & 31, w = (i >> 7) % W, q = (i >> 7) / W * 8 + (lane >> 2);
  if (q >= (n_queries + 7) / 8 * 8) return;
  u32 bytes = 0;
  if (q < n_queries) {
    u64 word = queries[q * W + w];
    const u8* mine = weights ? weights + (i64)q * 64 * W + 64 * w : 0;
    for (int j = 0; j < 4; j++) {
      int bit = 16 * (lane & 3) + 4 * j + r, weight = mine ? mine[bit ^ 7] : 1;
      bytes |= (u32)(u8)(word >> bit & 1 ? -weight : weight) << 8 * j;
    }
    if (r == 0 && w == 0 && (lane & 3) == 0) {
      int sum = 0;
      for (int k = 0; k < 64 * W; k++)
        if (queries[q * W + k / 64] >> (k % 64) & 1) sum += weights ? mine[k ^ 7] : 1;
      own[q] = sum;
    }
  }
  factors[i] = bytes;
}

// ---- what was noted ----------------------------------------------------------------------------------------

// The smallest distance with at least `wanted` of the noted rows of a query within it, or `largest`. Bins are
// in shared memory; every thread of the block gets the answer.
__device__ int level(const u64* keys, u32 noted, u32 wanted, int largest, u32* bins, u32* sums) {
  for (int i = threadIdx.x; i <= largest; i += THREADS) bins[i] = 0;
  __syncthreads();
  for (u32 i = threadIdx.x; i < noted; i += THREADS) atomicAdd(bins + (keys[i] >> SHIFT), 1u);
  __syncthreads();
  int per = largest / THREADS + 1, begin = threadIdx.x * per;
  u32 sum = 0;
  for (int i = begin; i < min(begin + per, largest + 1); i++) sum += bins[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    u32 total = 0;
    int part = 0, found = largest;
    while (part < THREADS && total + sums[part] < wanted) total += sums[part++];
    if (part < THREADS)
      for (found = part * per; total + bins[found] < wanted; found++) total += bins[found];
    sums[0] = found;
  }
  __syncthreads();
  int found = sums[0];
  __syncthreads();
  return found;
}

// The limit of every query from the rows of a sample within the limit before (none: all rows); counts start again
// at zero. Where the sample has too few, the limit was a little too low.
extern "C" __global__ void lower(u32* counts, u32 cap, const u64* keys, u32 wanted, int largest, const int* before,
                                 int* limits) {
  extern __shared__ u32 bins[];
  u32 count = counts[blockIdx.x];
  u32 noted = min(count, cap);
  if (count > cap) wanted = max(1u, (u32)((double)wanted * cap / count));
  int found = level(keys + (u64)blockIdx.x * cap, noted, wanted, largest, bins + THREADS, bins);
  if (threadIdx.x == 0) {
    int limit = before ? before[blockIdx.x] : largest;
    limits[blockIdx.x] = noted < wanted ? min(largest, limit + limit / 4 + 1) : found;
    counts[blockIdx.x] = 0;
  }
}

// The k smallest keys of every query in ascending order, and what came of it.
#define FOUND 0
#define TOO_FEW 1
#define TOO_MANY 2   // rows than there was room for
#define TOO_TIED 3   // rows to be sorted here

extern "C" __global__ void smallest(const u32* counts, u32 cap, const u64* keys, u32 k, int largest, u32 room,
                                    u64* out, u64* status) {
  extern __shared__ u64 sorted[];
  __shared__ u32 filled;
  u32* sums = (u32*)(sorted + room);
  const u64* mine = keys + (u64)blockIdx.x * cap;
  u32 count = counts[blockIdx.x];
  if (count < k || count > cap) {
    if (threadIdx.x == 0) status[blockIdx.x] = count < k ? TOO_FEW : TOO_MANY;
    return;
  }
  int limit = level(mine, count, k, largest, sums + THREADS, sums);
  if (threadIdx.x == 0) filled = 0;
  __syncthreads();
  for (u32 i = threadIdx.x; i < count; i += THREADS)
    if ((int)(mine[i] >> SHIFT) <= limit) {
      u32 place = atomicAdd(&filled, 1u);
      if (place < room) sorted[place] = mine[i];
    }
  __syncthreads();
  if (filled > room) {
    if (threadIdx.x == 0) status[blockIdx.x] = TOO_TIED;
    return;
  }
  u32 size = 2;
  while (size < filled) size *= 2;
  for (u32 i = filled + threadIdx.x; i < size; i += THREADS) sorted[i] = ~0ull;
  for (u32 run = 2; run <= size; run *= 2)
    for (u32 gap = run / 2; gap; gap /= 2) {
      __syncthreads();
      for (u32 i = threadIdx.x; i < size / 2; i += THREADS) {
        u32 low = 2 * i - (i & (gap - 1)), high = low + gap;
        bool up = !(low & run);
        u64 x = sorted[low], y = sorted[high];
        if ((x > y) == up) sorted[low] = y, sorted[high] = x;
      }
    }
  __syncthreads();
  for (u32 i = threadIdx.x; i < k; i += THREADS) out[(u64)blockIdx.x * k + i] = sorted[i];
  if (threadIdx.x == 0) status[blockIdx.x] = FOUND;
}

// How many rows there are at each distance from every query (blockIdx.y).
template <int P>
__global__ void histogram(const u64* __restrict__ codes, i64 stride, i64 n_rows, const u64* __restrict__ queries,
                          const u64* __restrict__ planes, const u32* __restrict__ mask, int largest, u64* out) {
  extern __shared__ u32 bins[];
  int q = blockIdx.y;
  for (int i = threadIdx.x; i <= largest; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n_rows; row += (i64)gridDim.x * blockDim.x) {
    if (mask && !((mask[row >> 5] >> (row & 31)) & 1)) continue;
    int d = 0;
    for (int w = 0; w < W; w++) {
      u64 differing = codes[w * stride + row] ^ queries[q * W + w];
      if (P == 1) d += __popcll(differing);
      else
        for (int p = 0; p < P; p++) d += __popcll(differing & planes[(q * P + p) * W + w]) << p;
    }
    atomicAdd(bins + d, 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i <= largest; i += blockDim.x)
    if (bins[i]) atomicAdd(out + (u64)q * (largest + 1) + i, (u64)bins[i]);
}
