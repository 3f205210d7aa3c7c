#pragma once

#include <cuda_runtime.h>

#include "validate/backends/cuda/cuda_kernels.hpp"
#include "validate/backends/cuda/layers/causal_attention.hpp"

// Products of small matrices on tensor cores, for attention: a warp has 16 rows in registers, a block
// goes along the columns that they see, 64 at a time, in shared memory.
//
// Fragments of 16 x 16 numbers are those of mma.sync.m16n8k16: lane 4 g + t has rows g and g + 8, and
// in each the numbers 2 t, 2 t + 1, 2 t + 8 and 2 t + 9.

namespace penstock::tiles {

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

__device__ inline unsigned lane() { return threadIdx.x % 32; }
__device__ inline unsigned group() { return lane() / 4; }
__device__ inline unsigned place() { return 2 * (lane() % 4); }

__device__ inline std::uint32_t shared_address(const Bf16* place) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(place));
}

__device__ inline void multiply(Sums& to, const Fragment& a, Pair low, Pair high) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(to.of[0]), "+f"(to.of[1]), "+f"(to.of[2]), "+f"(to.of[3])
      : "r"(a.of[0]), "r"(a.of[1]), "r"(a.of[2]), "r"(a.of[3]), "r"(low), "r"(high));
}

/// Four squares of 8 x 8 numbers; lane 8 i + j names row j of square i.
__device__ inline Fragment load(const Bf16* row) {
  Fragment to;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.of[0]), "=r"(to.of[1]), "=r"(to.of[2]), "=r"(to.of[3])
               : "r"(shared_address(row))
               : "memory");
  return to;
}
__device__ inline Fragment load_transposed(const Bf16* row) {
  Fragment to;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.of[0]), "=r"(to.of[1]), "=r"(to.of[2]), "=r"(to.of[3])
               : "r"(shared_address(row))
               : "memory");
  return to;
}

__device__ inline Pair pair_of(float low, float high) {
  Pair to;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(to) : "f"(high), "f"(low));
  return to;
}
__device__ inline float low_of(Pair pair) { return __uint_as_float(pair << 16); }
__device__ inline float high_of(Pair pair) { return __uint_as_float(pair & 0xFFFF0000U); }

/// Sums of 16 columns as numbers that rows are multiplied with.
__device__ inline Fragment numbers_of(const Sums& left, const Sums& right) {
  return {{pair_of(left.of[0], left.of[1]), pair_of(left.of[2], left.of[3]),
           pair_of(right.of[0], right.of[1]), pair_of(right.of[2], right.of[3])}};
}

/// 2^x; the GPU's approximation.
__device__ inline float power_of_two(float x) {
  float to;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(to) : "f"(x));
  return to;
}

/// Over the four lanes of a row.
__device__ inline float sum_of_row(float part) {
  part += __shfl_xor_sync(0xFFFFFFFFU, part, 1);
  return part + __shfl_xor_sync(0xFFFFFFFFU, part, 2);
}
__device__ inline float largest_of_row(float part) {
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
__device__ inline void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits for all but the newest `left` groups.
template <unsigned left>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

/// Row `first` + 8 i + g of two rows at `place` + 2 t: 0 beyond the end.
__device__ inline Pair pair_at(const Rows& from, unsigned row, unsigned at, unsigned tokens) {
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

}  // namespace penstock::tiles
