// How many rows lie at every distance and grade from every query. W words of a code and V words of labels are
// set when this is compiled. Codes and labels lie in planes, as in nearest.cu.
//
// A block counts for PER queries at a time in shared memory; a thread takes a row and meets all of them.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define SAME 0
#define SHARED 1
#define GIVEN 2

// kin has ones at the kin bits; a differing bit counts kin_weight or alike_weight. grades (n_queries, n_rows) are
// read where how is GIVEN. counts (n_queries, bins), bins = (largest + 1) * (top_grade + 1).
extern "C" __global__ void tally(const u64* __restrict__ codes, i64 stride, i64 n_rows,
                                 const u64* __restrict__ labels, const u8* __restrict__ grades,
                                 const u64* __restrict__ queries, const u64* __restrict__ query_labels,
                                 int n_queries, int per, const u64* __restrict__ kin, int kin_weight,
                                 int alike_weight, int how, int top_grade, int bins, u64* counts) {
  extern __shared__ u64 shared[];
  u64* asked = shared;
  u64* wanted = asked + per * W;
  u32* hist = (u32*)(wanted + per * V);
  int q0 = blockIdx.y * per, n = min(per, n_queries - q0);
  for (int i = threadIdx.x; i < n * W; i += blockDim.x) asked[i] = queries[(i64)q0 * W + i];
  if (how != GIVEN)
    for (int i = threadIdx.x; i < n * V; i += blockDim.x) wanted[i] = query_labels[(i64)q0 * V + i];
  for (int i = threadIdx.x; i < n * bins; i += blockDim.x) hist[i] = 0;
  __syncthreads();
  bool plain = kin_weight == alike_weight;
  for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n_rows; row += (i64)gridDim.x * blockDim.x) {
    u64 code[W], mine[V];
#pragma unroll
    for (int w = 0; w < W; w++) code[w] = codes[w * stride + row];
#pragma unroll
    for (int v = 0; v < V; v++) mine[v] = how == GIVEN ? 0 : labels[v * stride + row];
    for (int q = 0; q < n; q++) {
      int d = 0, k = 0, grade = 0;
#pragma unroll
      for (int w = 0; w < W; w++) {
        u64 differing = code[w] ^ asked[q * W + w];
        d += __popcll(differing);
        if (!plain) k += __popcll(differing & kin[w]);
      }
      d = alike_weight * d + (kin_weight - alike_weight) * k;
      if (how == SAME) grade = mine[0] == wanted[q * V];
      else if (how == SHARED) {
#pragma unroll
        for (int v = 0; v < V; v++) grade += __popcll(mine[v] & wanted[q * V + v]);
        grade = min(grade, top_grade);
      } else grade = min((int)grades[(i64)(q0 + q) * n_rows + row], top_grade);
      atomicAdd(hist + q * bins + d * (top_grade + 1) + grade, 1u);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n * bins; i += blockDim.x)
    if (hist[i]) atomicAdd(counts + (i64)q0 * bins + i, (u64)hist[i]);
}
