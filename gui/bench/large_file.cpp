// Writes a `.timeline` of any size in little memory: 1F1B on 64 ranks in its steady state, with all
// that a recorded run has. Usage: penstock_large_file OUT.timeline TASKS

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/report/idle.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "sim/timeline/timeline_overview.hpp"
#include "sim/timeline/timeline_sections.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t ranks = 64;
constexpr Time forward{1'000'000'000};
constexpr Time backward{2'000'000'000};
constexpr Time transfer{2'000'000};
constexpr Time period{3'010'000'000};  // from one microbatch to the next

// Classes by rank: F, B, sent activation, sent gradient.
constexpr std::uint32_t kinds = 4;

Plan head(std::uint32_t microbatches) {
  Plan plan;
  plan.schedule = "1f1b";
  plan.ranks = ranks;
  plan.microbatches = microbatches;
  const auto add_link = [&](std::uint32_t from, std::uint32_t to) {
    plan.links.push_back({Rank{from}, Rank{to}});
    return ranks + static_cast<std::uint32_t>(plan.links.size()) - 1;
  };
  for (std::uint32_t r = 0; r < ranks; ++r) {
    plan.model_stage.push_back(r);
    plan.buffers.push_back({BufferKind::gradient, Stage{r}, Rank{r}});
    const std::uint32_t down = r + 1 < ranks ? add_link(r, r + 1) : 0;
    const std::uint32_t up = r > 0 ? add_link(r, r - 1) : 0;
    plan.classes.push_back(
        {.pass = Pass::forward, .stage = Stage{r}, .resource = r, .effects = {}});
    plan.classes.push_back(
        {.pass = Pass::backward, .stage = Stage{r}, .resource = r, .effects = {}});
    // The ends of the pipeline have no use of one of these.
    plan.classes.push_back({.pass = Pass::send_activation,
                            .stage = Stage{r},
                            .resource = down == 0 ? up : down,
                            .buffer = r,
                            .effects = {}});
    plan.classes.push_back({.pass = Pass::send_gradient,
                            .stage = Stage{r},
                            .resource = up == 0 ? down : up,
                            .buffer = r,
                            .effects = {}});
  }
  return plan;
}

/// Makes the tasks one after the other: in each turn a forward and a backward of every rank, as far
/// as there are any.
class Tasks {
 public:
  Tasks(std::uint32_t microbatches, const std::function<void(const TaskColumns&)>& visit)
      : microbatches_(microbatches), visit_(visit), gradient_(ranks + 1, no_task) {}

  void make() {
    for (std::uint32_t turn = 0; turn < microbatches_ + ranks; ++turn) {
      TaskId activation = no_task;
      for (std::uint32_t r = 0; r < ranks; ++r) {
        const Time begin =
            Time{turn * period.picoseconds} + Time{r * (forward + transfer).picoseconds};
        if (turn < microbatches_) {
          const TaskId own = add(r, 0, turn, activation, begin, forward);
          activation = r + 1 < ranks ? add(r, 2, turn, own, begin + forward, transfer) : no_task;
        }
        const std::uint32_t behind = ranks - 1 - r;
        if (turn < behind || turn - behind >= microbatches_) continue;
        // The gradient of the rank below has come in the turn before.
        const TaskId own = add(r, 1, turn - behind, gradient_[r + 1], begin + forward, backward);
        next_.push_back(r > 0 ? add(r, 3, turn - behind, own, begin + forward + backward, transfer)
                              : no_task);
        sent_.push_back(r);
      }
      for (std::size_t i = 0; i < sent_.size(); ++i) gradient_[sent_[i]] = next_[i];
      sent_.clear();
      next_.clear();
    }
    if (!block_.work.empty()) visit_(block_);
  }
  std::uint32_t count() const { return count_; }

 private:
  TaskId add(std::uint32_t rank, std::uint32_t kind, std::uint32_t microbatch, TaskId input,
             Time begin, Time length) {
    block_.work.push_back(rank * kinds + kind);
    block_.microbatch.push_back(Microbatch{microbatch});
    block_.input.push_back(input);
    block_.begin.push_back(begin);
    block_.end.push_back(begin + length);
    block_.last_input.push_back(input);
    if (block_.work.size() == tasks_per_block) {
      visit_(block_);
      block_ = {};
    }
    return count_++;
  }

  std::uint32_t microbatches_;
  const std::function<void(const TaskColumns&)>& visit_;
  TaskColumns block_;
  std::uint32_t count_ = 0;
  std::vector<TaskId> gradient_;  // by rank: the last one sent to the rank above
  std::vector<TaskId> next_;
  std::vector<std::uint32_t> sent_;
};

/// Ranks wait for nothing but inputs.
TimelineOverview overview_of(const Plan& plan, const StreamedRecording& recording) {
  OverviewMaker maker(plan);
  std::vector<Time> free(ranks);
  const auto idle = [&](std::uint32_t rank, Time until, IdleCause cause) {
    if (until > free[rank])
      maker.add_idle(rank, free[rank], until, static_cast<std::uint8_t>(cause));
  };
  recording.for_each_block([&](const TaskColumns& block) {
    for (std::size_t i = 0; i < block.work.size(); ++i) {
      maker.add(block.work[i], block.begin[i], block.end[i]);
      const std::uint32_t resource = plan.classes[block.work[i]].resource;
      if (plan.is_link(resource)) continue;
      idle(resource, block.begin[i],
           free[resource] == Time{} ? IdleCause::warmup : IdleCause::dependency);
      free[resource] = block.end[i];
    }
  });
  for (std::uint32_t rank = 0; rank < ranks; ++rank) idle(rank, maker.makespan(), IdleCause::drain);
  return maker.take();
}

void write(const std::string& path, std::uint64_t tasks) {
  const auto microbatches =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(1, tasks / (4 * ranks - 2)));
  const Plan plan = head(microbatches);
  const Timeline timeline;
  StreamedRecording recording{
      plan, timeline, fmt::format("1f1b, {} ranks, {} microbatches, made up", ranks, microbatches),
      (4 * ranks - 2) * microbatches, [&](const std::function<void(const TaskColumns&)>& visit) {
        Tasks(microbatches, visit).make();
      }};
  std::ofstream file(path, std::ios::binary);
  write_timeline(recording, overview_of(plan, recording), [&](std::string_view piece) {
    file.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  });
  if (!file.flush()) throw std::runtime_error(path + ": cannot write");
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: penstock_large_file OUT.timeline TASKS\n");
    return 2;
  }
  penstock::write(argv[1], std::strtoull(argv[2], nullptr, 10));
  return 0;
}
