#include "validate/backends/cuda/cuda_tiles.cuh"
#include "validate/backends/cuda/gpu_steps.hpp"

// Causal attention on tensor cores: what CausalAttention, QueryGradient and KeyGradient do row by
// row, of the same memory. Scores are never written.

namespace penstock {
namespace {

using namespace tiles;

/// F: the softmax of scores goes along with the largest one so far.
template <unsigned head>
__global__ void __launch_bounds__(attention_threads, head == 128 ? 3 : 0)
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
        if (tile == part.tile) {  // rows see all of those before
#pragma unroll
          for (unsigned at = 0; at < tile_columns / 8; ++at) {
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
              const unsigned key = tile * tile_columns + 8 * at + place() + i % 2;
              if (key > first + group() + i / 2 * 8) scores[at].of[i] = -INFINITY;
            }
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
          const float shrinks = power_of_two((largest[half] - most) * scale);
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
              some.of[i] = power_of_two(some.of[i] * scale - most * scale);
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
      step.log_sums[part.row + row] = largest[half] * scale / log2_of_e + logf(all);
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
__global__ void __launch_bounds__(attention_threads, head == 64 ? 3 : 0)
    key_gradient(KeyGradient<Bf16, head> step) {
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
