#pragma once

#include <cstdint>
#include <vector>

#include "validate/store/stored_row.hpp"

namespace penstock::testing {

/// A GPU whose measurements follow known constants, with normal noise in proportion. Rates are per
/// nanosecond: GFLOP/s and GB/s.
struct MadeUpGpu {
  double noise = 0;  // standard deviation of a sample
  std::uint64_t seed = 1;

  double flops_of_sm = 400;
  double bytes_of_sm = 60;
  double bandwidth = 2400;  // 40 SMs reach it
  double clock_mhz = 1700;
  double clock_slope = 0.03;  // of a cycle, beside each rank that multiplies
  double product_start_us = 5;
  double product_of_sm = 6000;
  double operand_rate = 3000;  // of each operand
  double tile_rows = 128;      // of a result, that an SM computes at a time
  double tile_columns = 128;
  double link_latency_us = 2;
  double link_rate = 200;
  double launch_us = 2.5;  // of the host
  double latency_us = 7;   // until an idle stream has run a kernel
  double node_us = 1.25;
  double stamp_us = 2;
  /// Beyond the model: bytes beside `hidden_from` and more neighbours that move bytes.
  double hidden_slow_down = 1;
  std::uint32_t hidden_from = 3;

  std::vector<ProfileRow> scaling() const;
  std::vector<ProfileRow> products() const;
  /// Of one link of an engine of 4 SMs, for each number of links that share it.
  std::vector<ProfileRow> transfers(const std::vector<int>& links = {1}) const;
  std::vector<ProfileRow> launches() const;
  std::vector<ProfileRow> clocks() const;
  std::vector<ProfileRow> pairs() const;  // of 2, 4 and 8 ranks
  std::vector<ProfileRow> all() const;
};

}  // namespace penstock::testing
