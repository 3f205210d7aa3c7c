#include "experiments/measure/measured_runs/rank_traces.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/traces/nsys_trace.hpp"
#include "experiments/input/long_work/budget.hpp"
#include "experiments/measure/measured_runs/rank_ops.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 3> trace_suffixes{".json", ".json.gz", ".sqlite"};

/// The job's rank of a file that does not state it: files come in the order of their ranks.
std::uint32_t rank_by_order(const TraceReading& reading, std::size_t argument) {
  if (reading.pipeline_ranks.empty()) return static_cast<std::uint32_t>(argument);
  std::vector<std::uint32_t> ranks = reading.pipeline_ranks;
  std::ranges::sort(ranks);
  return ranks[argument];
}

/// Finds the pipeline rank of each file.
class RankFinder {
 public:
  explicit RankFinder(const TraceReading& reading)
      : reading_(reading), holder_(reading.files.size()) {}

  /// Throws InputError without the file's name for an unwanted or duplicate rank.

  std::uint32_t place(const KinetoTrace& trace, std::size_t argument) {
    if (says_rank_.value_or(trace.rank.has_value()) != trace.rank.has_value()) {
      throw InputError(
          "some of the files say of which rank they are (/distributedInfo/rank), and "
          "some do not; all or none must");
    }
    says_rank_ = trace.rank.has_value();
    if (trace.world_size && world_size_ && *world_size_ != *trace.world_size) {
      throw InputError("/distributedInfo/world_size",
                       fmt::format("its job has {}, that of {} has {}",
                                   counted(*trace.world_size, "rank"), sized_by_, *world_size_));
    }
    if (trace.world_size && !world_size_) {
      world_size_ = trace.world_size;
      sized_by_ = trace.source;
    }
    peer_ = std::max(peer_, trace.peer);
    const std::uint32_t rank = rank_of(trace, argument);
    if (!holder_[rank].empty()) {
      throw InputError("/distributedInfo/rank",
                       fmt::format("it is of rank {}, as is {}", *trace.rank, holder_[rank]));
    }
    holder_[rank] = trace.source;
    return rank;
  }

  bool by_order() const { return !says_rank_.value_or(true); }
  /// Throws InputError if ranks of the job have no file.

  void finish() const {
    if (!reading_.pipeline_ranks.empty()) return;
    if (!world_size_ && peer_ >= holder_.size()) {
      throw InputError(
          fmt::format("messages name rank {}, of which there is no trace; where only some of the "
                      "ranks are the pipeline, --pipeline-ranks says which",
                      peer_));
    }
    if (!world_size_ || *world_size_ <= holder_.size()) return;
    throw InputError(fmt::format(
        "{}: /distributedInfo/world_size: the job has {} ranks, and rank {} is missing; where only "
        "some of them are the pipeline, --pipeline-ranks says which",
        sized_by_, *world_size_, holder_.size()));
  }

 private:
  std::uint32_t rank_of(const KinetoTrace& trace, std::size_t argument) const {
    const std::vector<std::uint32_t>& wanted = reading_.pipeline_ranks;
    const std::uint32_t rank = trace.rank ? *trace.rank : rank_by_order(reading_, argument);
    if (wanted.empty()) {
      if (rank < holder_.size()) return rank;
      throw InputError(
          "/distributedInfo/rank",
          fmt::format("it is of rank {}; {}, or --pipeline-ranks says of which", rank,
                      holder_.size() == 1 ? std::string("one file must be of rank 0")
                                          : fmt::format("{} files must be of ranks 0 to {}",
                                                        holder_.size(), holder_.size() - 1)));
    }
    const auto found = std::find(wanted.begin(), wanted.end(), rank);
    if (found != wanted.end()) return static_cast<std::uint32_t>(found - wanted.begin());
    throw InputError("/distributedInfo/rank",
                     fmt::format("it is of rank {}, which --pipeline-ranks does not name", rank));
  }

  const TraceReading& reading_;
  std::vector<std::string> holder_;  // by pipeline rank: its file
  std::optional<bool> says_rank_;
  std::optional<std::uint32_t> world_size_;
  std::uint64_t peer_ = 0;  // the largest rank that messages state
  std::string sized_by_;    // the file that stated it
};

/// Suggests what to do if nothing assigns kernels to ops.
InputError nothing_matches(const KinetoTrace& trace, const NameUse& names) {
  std::string most;
  constexpr std::size_t shown = 3;
  for (std::size_t i = 0; i < std::min(shown, names.unmatched.size()); ++i) {
    most += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", shortened(names.unmatched[i].first));
  }
  return InputError(fmt::format(
      "no annotation of it matches; {}. A --pattern that fits them is needed; or, on devices, "
      "--schedule and --microbatches, to identify ops by the messages between them. PyTorch's "
      "Schedule1F1B marks no ops: penstock help traces has five lines that do{}",
      most.empty() ? "it has none" : "its most frequent ones are " + most,
      trace.among_others
          ? "; a process that is no rank is left out by naming the others: FILE#PROCESS ..."
          : ""));
}

RankOps ops_of(const KinetoTrace& trace, const TraceReading& reading, const NameUse& names,
               Rank rank) {
  const bool by_annotations = !reading.by_gaps && !names.matched.empty();
  if (by_annotations) return ops_of_annotations(trace, reading.patterns, Stage{index(rank)});
  if (!reading.order) throw nothing_matches(trace, names);
  return ops_of_bursts(trace, reading.order->schedule, reading.order->placement, rank);
}

void move_to_common_clock(std::int64_t base_ns, RankOps& rank) {
  for (MeasuredOp& op : rank.ops) {
    op.span.begin_ns += base_ns;
    op.span.end_ns += base_ns;
  }
  for (IssuedComm& comm : rank.comms) comm.at_ns += base_ns;
}

TracedRank boil_down(const KinetoTrace& trace, const TraceReading& reading, Rank rank,
                     bool ops_too) {
  TracedRank result{.source = trace.source,
                    .job_rank = trace.rank,
                    .events = trace.events,
                    .device = trace.device,
                    .backend = trace.backend,
                    .names = name_use(trace, reading.patterns),
                    .ops = {}};
  if (!ops_too) return result;
  result.ops = ops_of(trace, reading, result.names, rank);
  move_to_common_clock(trace.base_ns, result.ops);
  return result;
}

/// How long the folders are that all paths begin with.
std::size_t shared_folders(const std::vector<std::string>& paths) {
  std::string_view shared = paths.front();
  for (const std::string& path : paths) {
    const auto differs = std::ranges::mismatch(shared, path).in1;
    shared = shared.substr(0, static_cast<std::size_t>(differs - shared.begin()));
  }
  const std::size_t last = shared.rfind('/');
  return last == std::string_view::npos ? 0 : last + 1;
}

/// Which file is of which rank, where only their order says it.
std::string ranks_by_order(const TraceReading& reading) {
  constexpr std::size_t most_shown = 16;
  const std::vector<std::string>& files = reading.files;
  const std::size_t shared = shared_folders(files);
  std::string text = "the files do not say of which rank they are: taken in the order given";
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i == most_shown && files.size() > most_shown + 1) text += ", …";
    if (i >= most_shown && i + 1 < files.size()) continue;
    text += fmt::format("{} rank {} {}", i == 0 ? ";" : ",", rank_by_order(reading, i),
                        files[i].substr(shared));
  }
  return text;
}

/// Whether a file of a folder may be a trace: by its name, and because Penstock did not write it.
bool may_be_trace(const std::filesystem::directory_entry& entry) {
  const std::string path = entry.path().string();
  const bool named = std::ranges::any_of(
      trace_suffixes, [&](std::string_view suffix) { return path.ends_with(suffix); });
  return named && entry.is_regular_file() && !is_own_file(path);
}

}  // namespace

std::vector<std::string> trace_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    const std::size_t before = files.size();
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (may_be_trace(entry)) files.push_back(entry.path().string());
    }
    if (files.size() == before) {
      throw InputError(
          fmt::format("{}: the folder has no traces ({})", path, fmt::join(trace_suffixes, ", ")));
    }
    // Runs of digits compare as numbers: rank2 comes before rank10.
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end(),
              [](const std::string& a, const std::string& b) {
                return ::strverscmp(a.c_str(), b.c_str()) < 0;
              });
  }
  return files;
}

std::vector<TracedRank> read_rank_traces(const TraceReading& reading, bool ops_too,
                                         std::vector<std::string>& notes) {
  std::vector<TracedRank> ranks(reading.files.size());
  RankFinder finder(reading);
  std::size_t ops = 0;
  for (std::size_t i = 0; i < reading.files.size(); ++i) {
    const KinetoTrace trace = read_trace(reading.files[i], [&](double share) {
      const auto files = static_cast<double>(reading.files.size());
      if (reading.on_progress) reading.on_progress((static_cast<double>(i) + share) / files);
    });
    about_file(trace.source, [&] {
      const std::uint32_t rank = ops_too ? finder.place(trace, i) : static_cast<std::uint32_t>(i);
      const auto pipeline = static_cast<std::uint32_t>(reading.files.size()) / reading.replicas;
      ranks[rank] = boil_down(trace, reading, Rank{rank % pipeline}, ops_too);
      if (ops_too && !reading.pipeline_ranks.empty()) {
        ranks[rank].job_rank = reading.pipeline_ranks[rank];
      }
      ops += ranks[rank].ops.ops.size();
    });
    need_memory(traced_op_bytes * static_cast<double>(ops),
                fmt::format("{} and what is before it, {}", trace.source, counted(ops, "op")),
                fewer_steps);
  }
  if (ops_too) finder.finish();
  if (finder.by_order()) notes.push_back(ranks_by_order(reading));
  return ranks;
}

}  // namespace penstock
