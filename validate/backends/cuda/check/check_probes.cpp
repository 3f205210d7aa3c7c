#include <algorithm>
#include <cmath>

#include "validate/backends/cuda/check/check_steps.hpp"
#include "validate/backends/cuda/gpu_owners.hpp"
#include "validate/backends/cuda/measuring/gpu_trials.hpp"

namespace penstock {
namespace {

/// Two actions alone on their SMs: some milliseconds on an H200.
std::uint64_t probe_amount(const CheckRun& run, GpuWork work) {
  if (work == GpuWork::products) return run.quick ? 1 : 16;
  const std::uint64_t whole =
      work == GpuWork::flops ? std::uint64_t{1} << 19 : std::uint64_t{1} << 24;
  return run.quick ? whole >> 8 : whole;
}

/// What all threads do: bytes are read and written.
std::string shape_of(GpuWork work, std::uint64_t amount, std::uint32_t sms) {
  constexpr std::uint64_t bytes_of_word = 32;
  const std::string on = " sms=" + std::to_string(sms);
  if (work == GpuWork::bytes) return "bytes=" + std::to_string(bytes_of_word * amount) + on;
  if (work == GpuWork::products) {
    return "products=" + std::to_string(amount) + " size=" + std::to_string(action_product_size) +
           on;
  }
  const GpuGrid grid = grid_of(work, sms);
  return "multiply_adds=" + std::to_string(amount * grid.blocks * grid.threads) + on;
}

/// The bodies of synthetic actions, and products with the library.
std::vector<GpuWork> probed_works(const CheckRun& run) {
  std::vector<GpuWork> works{GpuWork::flops, GpuWork::bytes};
  if (*run.calls.why_no_products() == '\0') works.push_back(GpuWork::products);
  return works;
}

std::vector<double> lengths_of(GpuExecutor& executor, std::uint32_t task, std::uint32_t turns) {
  return task_samples_ns(executor, turns)[task];
}

/// An action of rank 0 alone: the first rank's weight gives it these SMs of the device, where its
/// SMs can be shared.
void probe_alone(const CheckRun& run, GpuWork work, std::uint32_t sms, std::uint32_t others) {
  const std::uint32_t ranks = others == 0 ? 1 : 2;
  std::vector<double> weights{static_cast<double>(sms)};
  if (ranks == 2) weights.push_back(others);
  const GpuDevice device(run.calls, ranks, 0, weights);
  if (ranks > 1 && !device.is_partitioned()) return;  // nothing holds it to its share
  const std::uint64_t amount = probe_amount(run, work);
  GpuProgram program{ranks, 0, {{.lane = 0}}, {{work, amount}}};
  GpuExecutor executor(device, program, {.ordering = GpuOrdering::host_issued});
  run.output.times({name(work), "", shape_of(work, amount, device.sms_of_rank(0)), "solo",
                    lengths_of(executor, 0, sample_count(run))});
}

/// The SMs that parts can have: all multiples of the smallest one that leave some.
std::vector<std::uint32_t> part_sizes(const CheckRun& run) {
  SmGroup all;
  if (run.calls.all_sms == nullptr) return {};
  check(run.calls, run.calls.all_sms(&all), "asking for the SMs");
  const std::uint32_t unit = std::max({all.least, all.alignment, 1U});
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t sms = unit; sms < all.sms; sms += unit) sizes.push_back(sms);
  return sizes;
}

struct Neighbours {
  GpuWork work;
  std::uint32_t count;
  std::uint64_t amount;  // of each
};

/// As much work as takes three times as long as both actions of rank 0.
std::uint64_t amount_beside(const CheckRun& run, const GpuDevice& device, GpuWork work,
                            GpuWork other) {
  const double ns =
      2 * static_cast<double>(probe_amount(run, work)) * ns_per_amount(device, work, 0);
  return std::max<std::uint64_t>(std::llround(3 * ns / ns_per_amount(device, other, 1)), 1);
}

/// The length of rank 0's action while other ranks run theirs: those begin before, and end after.
void probe_beside(const CheckRun& run, const GpuDevice& device, GpuWork work,
                  const Neighbours& neighbours) {
  const std::uint64_t amount = probe_amount(run, work);
  GpuProgram program{device.lanes(), 0, {}, {{work, amount}, {neighbours.work, neighbours.amount}}};
  for (std::uint32_t rank = 1; rank <= neighbours.count; ++rank) {
    program.tasks.push_back({.lane = rank, .body = 1});
  }
  const std::uint32_t first = neighbours.count;  // of rank 0: the second one counts
  for (std::uint32_t turn = 0; turn < 2; ++turn) program.tasks.push_back({.lane = 0});
  const bool has_graph = device.why_no_graph().empty();
  GpuExecutor executor(device, program,
                       {.ordering = has_graph ? GpuOrdering::graph : GpuOrdering::host_issued});
  const std::vector<double> lengths = lengths_of(executor, first + 1, sample_count(run));
  const GpuRun last = executor.run();
  bool beside = true;
  for (std::uint32_t other = 0; other < neighbours.count; ++other) {
    beside = beside && last.begin_ns[other] <= last.begin_ns[first + 1] &&
             last.end_ns[other] >= last.end_ns[first + 1];
  }
  const std::string condition = neighbours.count == 0 ? "solo"
                                                      : "pair:" + name(neighbours.work) + " x" +
                                                            std::to_string(neighbours.count);
  run.output.times({name(work), "", shape_of(work, amount, device.sms_of_rank(0)),
                    condition + (beside ? "" : " in part"), lengths});
}

}  // namespace

void check_scaling(const CheckRun& run) {
  const std::vector<std::uint32_t> sizes = part_sizes(run);
  for (const GpuWork work : probed_works(run)) {
    for (const std::uint32_t sms : sizes) {
      const std::uint32_t rest = sizes.back() - sms;
      try {
        probe_alone(run, work, sms, rest);
      } catch (const GpuError& error) {  // a product that the library has no algorithm for
        run.output.facts("scaling", {{"body", json(name(work))},
                                     {"sms", json(std::uint64_t{sms})},
                                     {"fault", json(std::string(error.what()))}});
      }
    }
  }
}

void check_interference(const CheckRun& run) {
  for (const std::uint32_t ranks : rank_counts(run)) {
    const GpuDevice device(run.calls, ranks, 0);
    for (const GpuWork work : probed_works(run)) {
      probe_beside(run, device, work, {work, 0, 0});
      for (const GpuWork other : probed_works(run)) {
        const std::uint64_t beside = amount_beside(run, device, work, other);
        for (std::uint32_t count = 1; count < ranks; ++count) {
          probe_beside(run, device, work, {other, count, beside});
        }
      }
    }
  }
}

double probe_copy(const CheckRun& run, const GpuDevice& device, std::size_t bytes) {
  const GpuOwner<void> from = make_memory(run.calls, bytes);
  const GpuOwner<void> to = make_memory(run.calls, bytes);
  const std::vector<double> times = timed(run, device, std::nullopt, [&](GpuStream stream) {
    check(run.calls, run.calls.copy_within(to.get(), from.get(), bytes, stream), "copying");
  });
  run.output.times({"copy", "", "bytes=" + std::to_string(bytes), "solo", times});
  return middle(times);
}

/// Copies as fast as they go, alone, by the SMs of the link engine and by size; and within the
/// memory of the GPU, by the driver, far below and far above its cache.
void check_copies(const CheckRun& run) {
  {
    const GpuDevice device(run.calls, 1, 0);
    for (std::size_t bytes = 1 << 16; bytes <= (run.quick ? 1U << 16 : 1U << 30); bytes *= 2) {
      probe_copy(run, device, bytes);
    }
  }
  for (const std::uint32_t ranks : {1U, 3U, 4U}) {
    for (const std::uint32_t links : {1U, 2U, 6U}) {
      const GpuDevice device(run.calls, ranks, links);
      for (std::uint64_t bytes = 1 << 16; bytes <= (run.quick ? 1U << 16 : 1U << 28); bytes *= 4) {
        const GpuProgram program{ranks, links, {{.lane = ranks, .bytes = bytes}}, {}};
        for (const GpuLinkKind kind : {GpuLinkKind::paced, GpuLinkKind::host}) {
          GpuExecutor executor(device, program,
                               {.ordering = GpuOrdering::host_issued, .links = kind});
          run.output.times({"transfer_" + name(kind), "",
                            "bytes=" + std::to_string(bytes) + " links=" + std::to_string(links) +
                                " sms=" + std::to_string(device.shares().links.sms),
                            "solo", lengths_of(executor, 0, sample_count(run))});
        }
      }
    }
  }
}

/// Clock cycles per microsecond of one SM, while no rank, or all others, multiply and add.
void check_clocks(const CheckRun& run) {
  const GpuDevice device(run.calls, 4, 0);
  const auto memory = make_memory(run.calls, 2 * sizeof(std::uint64_t));
  auto* const numbers = static_cast<std::uint64_t*>(memory.get());
  for (const std::uint32_t busy : {0U, 1U, 3U}) {
    GpuProgram program{4, 0, {}, {{GpuWork::flops, 8 * probe_amount(run, GpuWork::flops)}}};
    for (std::uint32_t rank = 1; rank <= busy; ++rank) program.tasks.push_back({.lane = rank});
    if (busy == 0) program.tasks.push_back({.lane = 1, .body = 1});
    GpuExecutor executor(device, program, {.ordering = GpuOrdering::host_issued});
    std::vector<double> mhz;
    std::vector<double> ns;
    for (std::uint32_t turn = 0; turn < sample_count(run); ++turn) {
      // Issued first, so that it runs while the others do.
      check(run.calls,
            run.calls.launch_cycle_counter(device.lane(0), numbers, run.quick ? 1000 : 1'000'000),
            "counting cycles");
      executor.run();
      device.wait_for(device.lane(0), "counting cycles");
      std::uint64_t read[2] = {};
      check(run.calls, run.calls.read(read, numbers, sizeof read), "reading cycles");
      mhz.push_back(1e3 * static_cast<double>(read[0]) / static_cast<double>(read[1]));
      ns.push_back(1e3 * static_cast<double>(read[1]) / static_cast<double>(read[0]));
    }
    run.output.times({"clock", "", "cycles=1000",
                      busy == 0 ? "solo" : "pair:flops x" + std::to_string(busy), ns});
    run.output.facts("sm clock", {{"busy_ranks_beside", json(std::uint64_t{busy})},
                                  {"mhz", json(mhz)},
                                  {"median_mhz", json(middle(mhz))}});
  }
}

}  // namespace penstock
