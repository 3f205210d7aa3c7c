#include <cuda_runtime.h>

#include "validate/backends/cuda/cuda_kernels.hpp"
#include "validate/backends/cuda/gpu_steps.hpp"

// Causal attention on tensor cores, in tiles: what CausalAttention, QueryGradient and KeyGradient do
// row by row, of the same memory. A warp has 16 rows in registers, and the block goes along the
// columns that they see, 64 at a time, in shared memory. Scores are never written.
//
// Fragments of 16 x 16 numbers are those of mma.sync.m16n8k16: lane 4 g + t has rows g and g + 8, and
// in each the numbers 2 t, 2 t + 1, 2 t + 8 and 2 t + 9.

namespace penstock {
namespace {

constexpr unsigned warps = attention_threads / 32;
constexpr unsigned rows_of_warp = attention_rows / warps;
static_assert(rows_of_warp == 16);
constexpr unsigned tile_columns = 64;
constexpr float log2_of_e = 1.44269504F;

/// Two numbers, and two times two of rows 8 apart.
using Pair = std::uint32_t;
struct Fragment {
  Pair of[4];
};
/// Sums of 16 rows and 8 columns: numbers 2 t and 2 t + 1 of row g, then of row g + 8.
struct Sums {
  float of[4] = {};
};

template <unsigned head>
struct Tile {
  static constexpr unsigned pitch = head + 8;  // rows begin in other banks
  alignas(16) Bf16 numbers[tile_columns * pitch];
};

/// The head of an example: rows of numbers, `stride` apart.
struct Rows {
  const Bf16* first;
  std::uint64_t stride;

  __device__ const Bf16* at(unsigned token) const { return first + token * stride; }
};

__device__ unsigned lane() { return threadIdx.x % 32; }
__device__ unsigned group() { return lane() / 4; }
__device__ unsigned place() { return 2 * (lane() % 4); }

__device__ std::uint32_t shared_address(const Bf16* place) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(place));
}

__device__ void multiply(Sums& to, const Fragment& a, Pair low, Pair high) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(to.of[0]), "+f"(to.of[1]), "+f"(to.of[2]), "+f"(to.of[3])
      : "r"(a.of[0]), "r"(a.of[1]), "r"(a.of[2]), "r"(a.of[3]), "r"(low), "r"(high));
}

/// Four squares of 8 x 8 numbers; lane 8 i + j names row j of square i.
__device__ Fragment load(const Bf16* row) {
  Fragment to;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.of[0]), "=r"(to.of[1]), "=r"(to.of[2]), "=r"(to.of[3])
               : "r"(shared_address(row))
               : "memory");
  return to;
}
__device__ Fragment load_transposed(const Bf16* row) {
  Fragment to;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.of[0]), "=r"(to.of[1]), "=r"(to.of[2]), "=r"(to.of[3])
               : "r"(shared_address(row))
               : "memory");
  return to;
}

__device__ Pair pair_of(float low, float high) {
  Pair to;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(to) : "f"(high), "f"(low));
  return to;
}
__device__ float low_of(Pair pair) { return __uint_as_float(pair << 16); }
__device__ float high_of(Pair pair) { return __uint_as_float(pair & 0xFFFF0000U); }

/// Sums of 16 columns as numbers that rows are multiplied with.
__device__ Fragment numbers_of(const Sums& left, const Sums& right) {
  return {{pair_of(left.of[0], left.of[1]), pair_of(left.of[2], left.of[3]),
           pair_of(right.of[0], right.of[1]), pair_of(right.of[2], right.of[3])}};
}

/// 2^x; the GPU's approximation.
__device__ float power_of_two(float x) {
  float to;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(to) : "f"(x));
  return to;
}

/// Over the four lanes of a row.
__device__ float sum_of_row(float part) {
  part += __shfl_xor_sync(0xFFFFFFFFU, part, 1);
  return part + __shfl_xor_sync(0xFFFFFFFFU, part, 2);
}
__device__ float largest_of_row(float part) {
  part = fmaxf(part, __shfl_xor_sync(0xFFFFFFFFU, part, 1));
  return fmaxf(part, __shfl_xor_sync(0xFFFFFFFFU, part, 2));
}

/// Begins to copy 64 rows to a tile, zeros for those beyond the end.
template <unsigned head>
__device__ void begin_copy(Tile<head>& to, const Rows& from, unsigned first, unsigned tokens) {
  constexpr unsigned numbers = 8;  // of 16 bytes
  constexpr unsigned parts = head / numbers;
#pragma unroll (head == 128 ? 2 : 4)
  for (unsigned part = threadIdx.x; part < tile_columns * parts; part += attention_threads) {
    const unsigned row = part / parts;
    const unsigned at = part % parts * numbers;
    const bool is_there = first + row < tokens;
    const Bf16* const source = from.at(is_there ? first + row : 0) + at;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(to.numbers + row * to.pitch + at)),
                   "l"(__cvta_generic_to_global(source)), "r"(is_there ? 16 : 0)
                 : "memory");
  }
}
__device__ void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits for all but the newest `left` groups.
template <unsigned left>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

/// Row `first` + 8 i + g of two rows at `place` + 2 t: 0 beyond the end.
__device__ Pair pair_at(const Rows& from, unsigned row, unsigned at, unsigned tokens) {
  return row < tokens ? *reinterpret_cast<const Pair*>(from.at(row) + at) : 0;
}

/// The rows of a warp.
template <unsigned head>
struct Held {
  static constexpr unsigned steps = head / 16;
  Fragment of[steps];

  __device__ Held(const Rows& from, unsigned first, unsigned tokens) {
#pragma unroll
    for (unsigned step = 0; step < steps; ++step) {
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        of[step].of[i] = pair_at(from, first + group() + i % 2 * 8, 16 * step + i / 2 * 8 + place(),
                                 tokens);
      }
    }
  }
};

/// Products of the warp's rows with rows `first` to `first` + 15 of a tile.
template <unsigned head>
__device__ void score(const Held<head>& rows, const Tile<head>& tile, unsigned first, Sums to[2]) {
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const Bf16* const own =
        tile.numbers + (first + 8 * half + lane() % 8) * tile.pitch + lane() / 8 * 8;
    to[half] = Sums{};
#pragma unroll
    for (unsigned step = 0; step < rows.steps; step += 2) {
      const Fragment other = load(own + 16 * step);
      multiply(to[half], rows.of[step], other.of[0], other.of[1]);
      multiply(to[half], rows.of[step + 1], other.of[2], other.of[3]);
    }
  }
}

/// Sums of a row of a head for each of the warp's rows.
template <unsigned head>
struct Results {
  Sums of[head / 8];

  /// Adds rows `first` to `first` + 15 of a tile, by their shares.
  __device__ void add(const Fragment& shares, const Tile<head>& tile, unsigned first) {
    const Bf16* const own =
        tile.numbers + (first + lane() % 16) * tile.pitch + lane() / 16 * 8;
#pragma unroll
    for (unsigned at = 0; at < head / 8; at += 2) {
      const Fragment other = load_transposed(own + 8 * at);
      multiply(of[at], shares, other.of[0], other.of[1]);
      multiply(of[at + 1], shares, other.of[2], other.of[3]);
    }
  }

  __device__ void write(Bf16* to, std::uint64_t stride, unsigned first, unsigned tokens,
                        const float factors[2]) const {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned row = first + group() + 8 * half;
      if (row >= tokens) continue;
#pragma unroll
      for (unsigned at = 0; at < head / 8; ++at) {
        *reinterpret_cast<Pair*>(to + row * stride + 8 * at + place()) =
            pair_of(of[at].of[2 * half] * factors[half], of[at].of[2 * half + 1] * factors[half]);
      }
    }
  }
};

/// What a block does: 64 rows of a head of an example.
template <unsigned head>
struct Part {
  unsigned tokens;
  unsigned tiles;  // of all tokens
  unsigned tile;   // whose rows it has
  std::uint64_t hidden;
  std::uint64_t at;      // of its head, in a column of `projected`
  std::uint64_t result;  // in a column of hidden numbers
  std::uint64_t row;     // of its first token

  /// Tiles with much work come first: `downwards` where these are the last ones.
  __device__ Part(const AttentionSizes<head>& sizes, bool downwards)
      : tokens(sizes.tokens),
        tiles((sizes.tokens + attention_rows - 1) / attention_rows),
        hidden(sizes.hidden()) {
    const unsigned heads = sizes.examples * sizes.heads;
    const unsigned turn = blockIdx.x / heads;
    const unsigned which = blockIdx.x % heads;
    tile = downwards ? tiles - 1 - turn : turn;
    const std::uint64_t first = std::uint64_t{which / sizes.heads} * tokens;
    at = first * 3 * hidden + which % sizes.heads * head;
    result = first * hidden + which % sizes.heads * head;
    row = std::uint64_t{which} * tokens;
  }

  __device__ unsigned first_of_warp() const {
    return tile * attention_rows + threadIdx.x / 32 * rows_of_warp;
  }
  __device__ Rows queries(const Bf16* projected) const { return {projected + at, 3 * hidden}; }
  __device__ Rows keys(const Bf16* projected) const { return {projected + at + hidden, 3 * hidden}; }
  __device__ Rows values(const Bf16* projected) const {
    return {projected + at + 2 * hidden, 3 * hidden};
  }
};

/// Goes through tiles of two kinds of rows; where there is room, with those of the next step under
/// way.
template <unsigned head, class Work>
__device__ void for_each_tile(const Rows& left, const Rows& right, unsigned begin, unsigned end,
                              unsigned tokens, const Work& work) {
  constexpr unsigned most_bytes = 48 << 10;  // of a block
  constexpr unsigned ahead = 4 * sizeof(Tile<head>) <= most_bytes ? 1 : 0;
  __shared__ Tile<head> tiles[ahead + 1][2];
  const auto copy = [&](unsigned tile) {
    if (tile < end) {
      begin_copy(tiles[tile % (ahead + 1)][0], left, tile * tile_columns, tokens);
      begin_copy(tiles[tile % (ahead + 1)][1], right, tile * tile_columns, tokens);
    }
    close_copies();
  };
  if (ahead == 1) copy(begin);
  for (unsigned tile = begin; tile < end; ++tile) {
    copy(tile + ahead);
    wait_for_copies<ahead>();
    __syncthreads();
    work(tile, tiles[tile % (ahead + 1)][0], tiles[tile % (ahead + 1)][1]);
    __syncthreads();
  }
}

/// F: the softmax of scores goes along with the largest one so far.
template <unsigned head>
__global__ void __launch_bounds__(attention_threads)
    attention(CausalAttention<Bf16, head> step) {
  const Part<head> part(step.sizes, true);
  const unsigned first = part.first_of_warp();
  const Held<head> queries(part.queries(step.projected), first, part.tokens);
  const float scale = step.sizes.template scale<float>() * log2_of_e;
  Results<head> mean;
  float largest[2] = {-INFINITY, -INFINITY};
  float total[2] = {};
  for_each_tile<head>(
      part.keys(step.projected), part.values(step.projected), 0, part.tile + 1, part.tokens,
      [&](unsigned tile, const Tile<head>& keys, const Tile<head>& values) {
        Sums scores[tile_columns / 8];
#pragma unroll
        for (unsigned at = 0; at < tile_columns / 8; at += 2) score(queries, keys, 8 * at, scores + at);
#pragma unroll
        for (unsigned at = 0; at < tile_columns / 8; ++at) {
#pragma unroll
          for (unsigned i = 0; i < 4; ++i) {
            const bool seen = tile * tile_columns + 8 * at + place() + i % 2 <= first + group() + i / 2 * 8;
            scores[at].of[i] = seen ? scores[at].of[i] * scale : -INFINITY;
          }
        }
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
          float most = largest[half];
#pragma unroll
          for (const Sums& some : scores) {
            most = fmaxf(most, fmaxf(some.of[2 * half], some.of[2 * half + 1]));
          }
          most = largest_of_row(most);
          const float shrinks = power_of_two(largest[half] - most);
          largest[half] = most;
          total[half] *= shrinks;
#pragma unroll
          for (Sums& some : mean.of) {
            some.of[2 * half] *= shrinks;
            some.of[2 * half + 1] *= shrinks;
          }
#pragma unroll
          for (Sums& some : scores) {
#pragma unroll
            for (unsigned i = 2 * half; i < 2 * half + 2; ++i) {
              some.of[i] = power_of_two(some.of[i] - most);
              total[half] += some.of[i];
            }
          }
        }
#pragma unroll
        for (unsigned at = 0; at < tile_columns / 8; at += 2) {
          mean.add(numbers_of(scores[at], scores[at + 1]), values, 8 * at);
        }
      });
  float factors[2];
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned row = first + group() + 8 * half;
    const float all = sum_of_row(total[half]);
    factors[half] = 1 / all;
    if (place() == 0 && row < part.tokens) {
      step.log_sums[part.row + row] = largest[half] / log2_of_e + logf(all);
    }
  }
  mean.write(step.out + part.result, part.hidden, first, part.tokens, factors);
}

/// I: the gradient of queries.
template <unsigned head>
__global__ void __launch_bounds__(attention_threads)
    query_gradient(QueryGradient<Bf16, head> step) {
  const Part<head> part(step.sizes, true);
  const unsigned first = part.first_of_warp();
  const Held<head> queries(part.queries(step.projected), first, part.tokens);
  const Rows above{step.out_gradient + part.result, part.hidden};
  const Held<head> gradients(above, first, part.tokens);
  const float scale = step.sizes.template scale<float>();
  float mean_slope[2];
  float log_sum[2];  // to the base 2
  {
    const Held<head> results({step.out + part.result, part.hidden}, first, part.tokens);
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned row = first + group() + 8 * half;
      float sum = 0;
#pragma unroll
      for (unsigned at = 0; at < gradients.steps; ++at) {
#pragma unroll
        for (unsigned i = half; i < 4; i += 2) {
          const Pair result = results.of[at].of[i];
          const Pair gradient = gradients.of[at].of[i];
          sum += low_of(result) * low_of(gradient) + high_of(result) * high_of(gradient);
        }
      }
      mean_slope[half] = sum_of_row(sum);
      const bool is_there = row < part.tokens;
      log_sum[half] = is_there ? step.log_sums[part.row + row] * log2_of_e : 0;
      if (place() == 0 && is_there) step.mean_slopes[part.row + row] = mean_slope[half];
    }
  }
  Results<head> sum;
  for_each_tile<head>(
      part.keys(step.projected), part.values(step.projected), 0, part.tile + 1, part.tokens,
      [&](unsigned tile, const Tile<head>& keys, const Tile<head>& values) {
#pragma unroll (head == 128 ? 1 : 4)
        for (unsigned at = 0; at < tile_columns; at += 16) {
          Sums shares[2];
          Sums slopes[2];
          score(queries, keys, at, shares);
          score(gradients, values, at, slopes);
#pragma unroll
          for (unsigned i = 0; i < 8; ++i) {
            const unsigned half = i / 2 % 2;
            const unsigned key = tile * tile_columns + at + i / 4 * 8 + place() + i % 2;
            const float share = power_of_two(
                shares[i / 4].of[i % 4] * (scale * log2_of_e) - log_sum[half]);
            float& slope = slopes[i / 4].of[i % 4];
            slope = key <= first + group() + half * 8 ? share * (slope - mean_slope[half]) : 0;
          }
          sum.add(numbers_of(slopes[0], slopes[1]), keys, at);
        }
      });
  const float factors[2] = {scale, scale};
  sum.write(step.projected_gradient + part.at, 3 * part.hidden, first, part.tokens, factors);
}

/// I, after that of queries: the gradients of keys and values.
template <unsigned head>
__global__ void __launch_bounds__(attention_threads) key_gradient(KeyGradient<Bf16, head> step) {
  const Part<head> part(step.sizes, false);
  const unsigned first = part.first_of_warp();
  const Held<head> keys(part.keys(step.projected), first, part.tokens);
  const Held<head> values(part.values(step.projected), first, part.tokens);
  const Rows above{step.out_gradient + part.result, part.hidden};
  const float scale = step.sizes.template scale<float>();
  Results<head> key_sum;
  Results<head> value_sum;
  for_each_tile<head>(
      part.queries(step.projected), above, part.tile, part.tiles, part.tokens,
      [&](unsigned tile, const Tile<head>& queries, const Tile<head>& gradients) {
#pragma unroll (head == 128 ? 1 : 4)
        for (unsigned at = 0; at < tile_columns; at += 16) {
          Sums shares[2];
          Sums slopes[2];
          score(keys, queries, at, shares);
          score(values, gradients, at, slopes);
#pragma unroll
          for (unsigned i = 0; i < 4; ++i) {
            const unsigned query = tile * tile_columns + at + i / 2 * 8 + place() + i % 2;
            const unsigned there = min(query, part.tokens - 1);
            const float log_sum = step.log_sums[part.row + there] * log2_of_e;
            const float mean_slope = step.mean_slopes[part.row + there];
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
              float& share = shares[i / 2].of[2 * half + i % 2];
              float& slope = slopes[i / 2].of[2 * half + i % 2];
              const bool seen = first + group() + 8 * half <= query && query < part.tokens;
              share = seen ? power_of_two(share * (scale * log2_of_e) - log_sum) : 0;
              slope = share * (slope - mean_slope);
            }
          }
          value_sum.add(numbers_of(shares[0], shares[1]), gradients, at);
          key_sum.add(numbers_of(slopes[0], slopes[1]), queries, at);
        }
      });
  const float of_keys[2] = {scale, scale};
  const float of_values[2] = {1, 1};
  Bf16* const to = step.projected_gradient + part.at;
  key_sum.write(to + part.hidden, 3 * part.hidden, first, part.tokens, of_keys);
  value_sum.write(to + 2 * part.hidden, 3 * part.hidden, first, part.tokens, of_values);
}

template <unsigned head>
void start(GpuStream stream, const CausalAttention<Bf16, head>& step) {
  attention<<<attention_blocks(step.sizes), attention_threads, 0, native(stream)>>>(step);
}
template <unsigned head>
void start(GpuStream stream, const QueryGradient<Bf16, head>& step) {
  query_gradient<<<attention_blocks(step.sizes), attention_threads, 0, native(stream)>>>(step);
}
template <unsigned head>
void start(GpuStream stream, const KeyGradient<Bf16, head>& step) {
  key_gradient<<<attention_blocks(step.sizes), attention_threads, 0, native(stream)>>>(step);
}

}  // namespace

int load_attention_kernels() {
  return load_all<cudaFuncAttributes>(attention<64>, query_gradient<64>, key_gradient<64>,
                                      attention<128>, query_gradient<128>, key_gradient<128>);
}

int launch_attention(GpuStream stream, const GpuStep& step) {
  std::visit(
      [&](const auto& kernel) {
        if constexpr (goes_in_tiles<std::decay_t<decltype(kernel)>>) start(stream, kernel);
      },
      step.kernel);
  return cudaGetLastError();
}

}  // namespace penstock
