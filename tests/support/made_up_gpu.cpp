#include "tests/support/made_up_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/base/random.hpp"
#include "validate/statistics/bootstrap.hpp"

namespace penstock::testing {
namespace {

constexpr std::uint32_t samples_of_row = 10;

/// One row, whose samples depend on the seed and on what it is.
ProfileRow made_up_row(const MadeUpGpu& gpu, const KernelPoint& point, double ns) {
  const std::uint64_t what =
      text_hash(point.kernel + "\n" + point.shape + "\n" + point.condition) ^ gpu.seed;
  std::vector<double> samples;
  for (std::uint32_t i = 0; i < samples_of_row; ++i) {
    const auto bits = philox({i, static_cast<std::uint32_t>(what), 0, 0},
                             {static_cast<std::uint32_t>(what >> 32), 3});
    const double drawn = normal_quantile(uniform(std::uint64_t{bits[0]} << 32 | bits[1]));
    samples.push_back(ns * (1 + gpu.noise * drawn));
  }
  return {.point = point,
          .build = "",
          .environment = {{"device", "made-up GPU"}, {"cc", "9.0"}, {"sms", "132"}},
          .canary_ns = 0,
          .samples_ns = std::move(samples),
          .measured_at = "2026-11-20T12:00:00Z"};
}

struct MadeUpAction {
  std::string kernel;
  double multiply_adds;
  double bytes;

  std::string shape(double sms) const {
    return multiply_adds > 0 ? fmt::format("multiply_adds={:.0f} sms={}", multiply_adds * sms, sms)
                             : fmt::format("bytes={:.0f} sms={}", bytes, sms);
  }
  double alone_ns(const MadeUpGpu& gpu, double sms) const {
    if (multiply_adds > 0) return 2 * multiply_adds / gpu.flops_of_sm;
    return bytes / std::min(gpu.bytes_of_sm * sms, gpu.bandwidth);
  }
  double demand(const MadeUpGpu& gpu, double sms) const { return bytes / alone_ns(gpu, sms); }
};

const MadeUpAction actions[] = {{"flops", 1e9, 0}, {"bytes", 0, 1e9}};

ProfileRow pair_row(const MadeUpGpu& gpu, const MadeUpAction& own, const MadeUpAction& other,
                    std::uint32_t count, double sms) {
  const double clock = 1 + (other.multiply_adds > 0 ? gpu.clock_slope * count : 0);
  const double demand = own.demand(gpu, sms) + count * other.demand(gpu, sms);
  const double memory = own.bytes > 0 ? demand / gpu.bandwidth : 0;
  const bool hidden = own.bytes > 0 && other.bytes > 0 && count >= gpu.hidden_from;
  const double slow = std::max(clock, memory) * (hidden ? gpu.hidden_slow_down : 1);
  return made_up_row(
      gpu, {own.kernel, "", own.shape(sms), fmt::format("pair:{} x{}", other.kernel, count)},
      slow * own.alone_ns(gpu, sms));
}

}  // namespace

std::vector<ProfileRow> MadeUpGpu::scaling() const {
  std::vector<ProfileRow> rows;
  for (const MadeUpAction& action : actions) {
    for (double sms = 8; sms <= 128; sms += 8) {
      rows.push_back(made_up_row(*this, {action.kernel, "", action.shape(sms), "solo"},
                                 action.alone_ns(*this, sms)));
    }
  }
  for (double sms = 8; sms <= 128; sms += 8) {
    constexpr double flop = 16 * 2 * 2048.0 * 2048 * 2048;
    rows.push_back(made_up_row(
        *this, {"products", "", fmt::format("products=16 size=2048 sms={}", sms), "solo"},
        flop / (product_of_sm * sms)));
  }
  return rows;
}

std::vector<ProfileRow> MadeUpGpu::products() const {
  constexpr double shapes[][3] = {{512, 512, 512},    {1024, 1024, 1024},  {2048, 2048, 2048},
                                  {4096, 4096, 4096}, {4096, 512, 4096},   {16384, 2048, 4096},
                                  {640, 4096, 512},   {4096, 2048, 16384}, {512, 8192, 1024}};
  std::vector<ProfileRow> rows;
  for (const double sms : {132.0, 64.0, 32.0, 16.0, 8.0}) {
    for (const auto& [m, n, k] : shapes) {
      const double waves = std::ceil(m / tile_rows) * std::ceil(n / tile_columns) / sms;
      const double work = 2 * m * n * k / (product_of_sm * sms) * std::ceil(waves) / waves;
      const double operands = 2 * (n * k + m * k + m * n) / operand_rate;
      rows.push_back(made_up_row(
          *this, {"product", "", fmt::format("k={} m={} n={} sms={}", k, m, n, sms), "solo"},
          1e3 * product_start_us + work + operands));
    }
  }
  return rows;
}

std::vector<ProfileRow> MadeUpGpu::transfers(const std::vector<int>& links) const {
  std::vector<ProfileRow> rows;
  for (double bytes = 65536; bytes < 3e8; bytes *= 4) {
    for (const int count : links) {
      const std::string shape = fmt::format("bytes={} links={} sms=4", bytes, count);
      rows.push_back(made_up_row(*this, {"transfer_paced", "", shape, "solo"},
                                 1e3 * link_latency_us + bytes / (link_rate / count)));
    }
    rows.push_back(made_up_row(*this, {"copy", "", fmt::format("bytes={}", bytes), "solo"},
                               2 * (1e3 * link_latency_us + bytes / link_rate)));
  }
  return rows;
}

std::vector<ProfileRow> MadeUpGpu::launches() const {
  std::vector<ProfileRow> rows;
  const auto add = [&](const char* kernel, const char* size, int count, double us) {
    rows.push_back(
        made_up_row(*this, {kernel, "", fmt::format("{}={}", size, count), "solo"}, 1e3 * us));
  };
  for (const int count : {1, 10, 100}) {
    add("launch_issue", "launches", count, 0.5 + launch_us * count);
    add("launch_round_trip", "launches", count, latency_us + launch_us * count);
  }
  for (const int count : {1, 10, 100}) {
    add("graph", "nodes", count, 6 + node_us * count);
    add("stamp", "nodes", count, 6 + stamp_us * count);
  }
  return rows;
}

std::vector<ProfileRow> MadeUpGpu::clocks() const {
  std::vector<ProfileRow> rows;
  for (const int busy : {0, 1, 3}) {
    const std::string condition = busy == 0 ? "solo" : fmt::format("pair:flops x{}", busy);
    rows.push_back(made_up_row(*this, {"clock", "", "cycles=1000", condition},
                               1e6 / clock_mhz * (1 + clock_slope * busy)));
  }
  rows.push_back(made_up_row(*this, {"clock_step", "", "readings=1000", "solo"}, 32));
  return rows;
}

std::vector<ProfileRow> MadeUpGpu::pairs() const {
  std::vector<ProfileRow> rows;
  for (const std::uint32_t ranks : {2U, 4U, 8U}) {
    const double sms = 128.0 / ranks;
    for (const MadeUpAction& own : actions) {
      rows.push_back(
          made_up_row(*this, {own.kernel, "", own.shape(sms), "solo"}, own.alone_ns(*this, sms)));
      for (const MadeUpAction& other : actions) {
        for (std::uint32_t count = 1; count < ranks; ++count) {
          rows.push_back(pair_row(*this, own, other, count, sms));
        }
      }
    }
  }
  return rows;
}

std::vector<ProfileRow> MadeUpGpu::all() const {
  std::vector<ProfileRow> rows;
  for (const auto& part : {scaling(), products(), transfers(), launches(), clocks(), pairs()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace penstock::testing
