#include "gui/models/drawing/painted_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "experiments/show/pictures/lanes/lane_cells.hpp"
#include "experiments/show/pictures/palette.hpp"
#include "gui/models/strips/glyphs.hpp"

namespace penstock {
namespace {

// Boxes in the narrowest bins: few where drawing boxes one by one would take long.
constexpr std::int64_t actions_per_bin = 1;
constexpr std::int64_t waits_per_bin = 2;
constexpr std::int64_t transfers_per_bin = 8;

std::vector<Pyramid> pyramids_of(const std::vector<Track>& tracks, const Colouring& colouring,
                                 std::int64_t boxes_per_bin) {
  std::vector<Pyramid> pyramids;
  for (const Track& track : tracks) {
    pyramids.emplace_back(
        track, [&](std::uint32_t tag) { return colouring.category(tag); }, boxes_per_bin);
  }
  return pyramids;
}

/// The causes of idle time that a track has.
std::vector<std::uint8_t> causes_in(const Track& idle) {
  std::array<bool, UINT8_MAX + 1> seen{};
  for (const std::uint32_t tag : idle.tag) seen[idle_category(tag)] = true;
  std::vector<std::uint8_t> causes;
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    if (seen[c]) causes.push_back(static_cast<std::uint8_t>(c));
  }
  return causes;
}

/// For a run that is gone when the hand moves on: making levels takes longer than to do without.
std::vector<RankPyramids> no_levels(const RunLanes& lanes, const Colouring& colouring) {
  const Pyramid actions = Pyramid::without_levels(colouring.categories(false));
  const Pyramid transfers = Pyramid::without_levels(colouring.categories(true));
  const auto as_many = [](const std::vector<Track>& tracks, const Pyramid& pyramid) {
    return std::vector<Pyramid>(tracks.size(), pyramid);
  };
  std::vector<RankPyramids> all;
  for (const RankTracks& rank : lanes.ranks) {
    all.push_back({as_many(rank.compute, actions), as_many(rank.send, transfers),
                   as_many(rank.receive, transfers),
                   Pyramid::without_levels(causes_in(rank.idle))});
  }
  return all;
}

std::vector<RankPyramids> all_pyramids(const RunLanes& lanes, const Colouring& colouring) {
  std::vector<RankPyramids> all;
  for (const RankTracks& rank : lanes.ranks) {
    all.push_back({pyramids_of(rank.compute, colouring, actions_per_bin),
                   pyramids_of(rank.send, colouring, transfers_per_bin),
                   pyramids_of(rank.receive, colouring, transfers_per_bin),
                   Pyramid(rank.idle, idle_category, waits_per_bin)});
  }
  return all;
}

/// What the overview of a file says of each rank.
std::vector<RankPyramids> pyramids_of_file(const LargeTimeline& file) {
  std::vector<RankPyramids> all(file.head().plan.ranks);
  for (const OverviewLane& lane : file.overview().lanes) {
    const std::size_t rows = lane.categories.size();
    const Pyramid pyramid =
        Pyramid::of_level(lane.categories, {.bin = lane.bin,
                                            .unit = lane.unit,
                                            .bins = rows == 0 ? 0 : lane.cells.size() / rows,
                                            .narrow = lane.cells});
    RankPyramids& rank = all[lane.rank];
    if (lane.kind == OverviewKind::compute) rank.compute = {pyramid};
    if (lane.kind == OverviewKind::send) rank.send = {pyramid};
    if (lane.kind == OverviewKind::receive) rank.receive = {pyramid};
    if (lane.kind == OverviewKind::idle) rank.idle = pyramid;
  }
  return all;
}

/// The same for each track of a part of it; `before` is another part, or another run.
std::vector<RankPyramids> pyramids_of_part(const ViewedRun& run, const RunLanes& lanes,
                                           const PaintedRun* before) {
  const bool known = before != nullptr && before->run->file == run.file;
  std::vector<RankPyramids> all = known ? before->pyramids : pyramids_of_file(*run.file);
  const auto fit = [](std::vector<Pyramid>& pyramids, const std::vector<Track>& tracks) {
    const Pyramid one = pyramids.empty() ? Pyramid() : pyramids.front();
    pyramids.resize(tracks.size(), one);
  };
  for (std::size_t r = 0; r < all.size(); ++r) {
    fit(all[r].compute, lanes.ranks[r].compute);
    fit(all[r].send, lanes.ranks[r].send);
    fit(all[r].receive, lanes.ranks[r].receive);
  }
  return all;
}

PaintedRunPtr coloured(ViewedRunPtr run, std::shared_ptr<const RunLanes> lanes, ColourBy by,
                       const PaintedRun* before = nullptr) {
  Colouring colouring(*run, by);
  std::vector<RankPyramids> pyramids = run->file != nullptr ? pyramids_of_part(*run, *lanes, before)
                                       : run->brief         ? no_levels(*lanes, colouring)
                                                            : all_pyramids(*lanes, colouring);
  auto facts = std::make_shared<const std::vector<RankSummary>>(facts_of_ranks(*run));
  std::u32string letters = letters_beyond_ascii(run->plan.class_names);
  return std::make_shared<const PaintedRun>(
      PaintedRun{std::move(run), std::move(lanes), std::move(colouring), by, std::move(pyramids),
                 nullptr, nullptr, nullptr, std::move(facts), std::move(letters)});
}

std::shared_ptr<const std::vector<PaintedLink>> recoloured_links(std::vector<PaintedLink> links,
                                                                 const Colouring& colouring) {
  for (PaintedLink& link : links)
    link.pyramids = pyramids_of(link.tracks, colouring, transfers_per_bin);
  return std::make_shared<const std::vector<PaintedLink>>(std::move(links));
}

using Shares = std::vector<std::array<float, idle_cause_count>>;

/// Adds stretches of idle time to columns.
class ShareAdder {
 public:
  ShareAdder(const PaintedRun& run, Shares& shares)
      : shares_(shares),
        per_picosecond_(static_cast<double>(shares.size()) /
                        static_cast<double>(std::max<std::int64_t>(1, run.lanes->span))),
        per_rank_(1 / static_cast<double>(run.lanes->ranks.size())) {}

  void add(std::int64_t begin, std::int64_t length, std::size_t cause) {
    const double from = static_cast<double>(begin) * per_picosecond_;
    const double to = from + static_cast<double>(length) * per_picosecond_;
    const auto first = static_cast<std::size_t>(from);
    if (first < shares_.size() && to <= static_cast<double>(first + 1)) {
      shares_[first][cause] += static_cast<float>((to - from) * per_rank_);
      return;
    }
    for (std::size_t x = first; x < shares_.size(); ++x) {
      const auto left = static_cast<double>(x);
      if (left >= to) return;
      const double part = std::min(to, left + 1) - std::max(from, left);
      shares_[x][cause] += static_cast<float>(part * per_rank_);
    }
  }
  double picoseconds_per_column() const { return 1 / per_picosecond_; }

 private:
  Shares& shares_;
  double per_picosecond_;
  double per_rank_;
};

/// The time of a bin may lie anywhere in it: it is put at its begin.
void add_level(const Pyramid& pyramid, const Pyramid::Level& level, ShareAdder& adder) {
  const std::size_t rows = pyramid.categories().size();
  for (std::size_t bin = 0; bin < level.bins; ++bin) {
    for (std::size_t row = 0; row < rows; ++row) {
      const std::int64_t idle = level.busy(bin * rows + row);
      if (idle == 0) continue;
      adder.add(level.bin * static_cast<std::int64_t>(bin), idle, pyramid.categories()[row]);
    }
  }
}

constexpr Colour working_colour{129, 161, 255};

/// Pairs each run with A.
std::vector<RunPair> pairs_of(const ViewedRunPtr& first, const ShownWith& with) {
  std::vector<RunPair> pairs;
  ViewedRunPtr baseline = first;
  std::optional<TaskId> anchor = with.anchor;
  for (const ViewedRunPtr& run : with.others) {
    if (!with.frozen || !pairs.empty()) {
      pairs.push_back(pair_of(baseline, run, with.alignment, anchor));
      continue;
    }
    pairs.push_back(pair_against(first, run, with.alignment, anchor));
    baseline = pairs.front().second;
    if (anchor) anchor = same_ops(first->plan, {*anchor}, baseline->plan).front();
  }
  return pairs;
}

}  // namespace

RunMemory memory_of_run(const ViewedRun& run, std::size_t most_steps) {
  const bool weighs = std::any_of(run.costs.bytes.begin(), run.costs.bytes.end(),
                                  [](std::uint64_t bytes) { return bytes > 0; });
  const bool many = run.plan.tasks() / std::max(1U, run.plan.ranks) > most_steps;
  const Time end = run.span();
  const Time shortest{many ? end.picoseconds / static_cast<std::int64_t>(most_steps) + 1 : 0};
  RunMemory memory = weighs ? run_memory(run.plan, run.costs, run.timeline, end, shortest)
                            : run_memory(run.plan, run.timeline.memory, end, shortest);
  return memory.most == 0 ? RunMemory{} : memory;
}

std::string_view label_of(TaskId task, const PaintedRun& run, LabelText& text) {
  const Plan& plan = run.run->plan;
  const WorkClass& work = plan.class_of(task);
  std::string_view pass = word_of(plan, work);
  if (is_transfer(work.pass)) pass.remove_prefix(pass.find('_') + 1);
  const std::uint32_t microbatch = index(plan.microbatch[task]);
  const auto end = run.colouring.is_one_of_several(task)
                       ? fmt::format_to_n(text.data(), text.size(), "{}{}{}", index(work.stage),
                                          pass, microbatch)
                       : fmt::format_to_n(text.data(), text.size(), "{}{}", pass, microbatch);
  return {text.data(), std::min(end.size, text.size())};
}

PaintedRunPtr painted(ViewedRunPtr run, ColourBy by) {
  if (run->file != nullptr) return painted_part(std::move(run), nullptr);
  auto lanes = std::make_shared<const RunLanes>(lanes_of_run(run->plan, run->timeline));
  return coloured(std::move(run), std::move(lanes), by);
}

PaintedRunPtr painted_part(ViewedRunPtr run, const PaintedRun* before) {
  const std::uint64_t end = run->first_task + run->plan.tasks();
  auto lanes = std::make_shared<const RunLanes>(
      lanes_of_part(run->plan, run->timeline, run->report.makespan, run->first_task == 0,
                    end == run->file->tasks()));
  return coloured(std::move(run), std::move(lanes), ColourBy::pass, before);
}

PaintedRunPtr painted_after(ViewedRunPtr run, const PaintedRun& before) {
  const Plan& plan = run->plan;
  const Plan& other = before.run->plan;
  const bool same = run->file == nullptr && number_alike(plan, other) && plan.links == other.links;
  if (!same || plan.ranks != other.ranks) return painted(std::move(run), before.by);
  auto lanes = std::make_shared<const RunLanes>(lanes_after(*before.lanes, plan, run->timeline));
  return coloured(std::move(run), std::move(lanes), before.by);
}

PaintedRunPtr recoloured(const PaintedRun& run, ColourBy by) {
  auto changed = std::make_shared<PaintedRun>(*coloured(run.run, run.lanes, by));
  changed->memory = run.memory;
  if (run.links != nullptr) changed->links = recoloured_links(*run.links, changed->colouring);
  changed->against_a = run.against_a;
  return changed;
}

PaintedRunPtr with_memory(const PaintedRun& run) {
  auto changed = std::make_shared<PaintedRun>(run);
  changed->memory = std::make_shared<const RunMemory>(memory_of_run(*run.run));
  return changed;
}

PaintedRunPtr with_links(const PaintedRun& run, const Plan& order) {
  std::vector<std::vector<Track>> lanes = link_lanes(*run.run);
  std::vector<PaintedLink> links;
  for (const Link& link : order.links) {
    const std::vector<Link>& own = run.run->plan.links;
    const auto at = std::find(own.begin(), own.end(), link);
    PaintedLink painted;
    if (at != own.end()) painted.tracks = lanes[static_cast<std::size_t>(at - own.begin())];
    painted.pyramids = pyramids_of(painted.tracks, run.colouring, transfers_per_bin);
    links.push_back(std::move(painted));
  }
  auto changed = std::make_shared<PaintedRun>(run);
  changed->links = std::make_shared<const std::vector<PaintedLink>>(std::move(links));
  return changed;
}

PaintedRunPtr with_differences(const PaintedRun& run, std::shared_ptr<const AgainstA> against_a) {
  auto changed = std::make_shared<PaintedRun>(run);
  changed->against_a = std::move(against_a);
  return changed;
}

Shares idle_over_time(const PaintedRun& run, int columns) {
  Shares shares(static_cast<std::size_t>(columns));
  ShareAdder adder(run, shares);
  for (std::size_t r = 0; r < run.pyramids.size(); ++r) {
    const Pyramid& pyramid = run.pyramids[r].idle;
    const Track& idle = run.lanes->ranks[r].idle;
    const auto add = [&](std::int64_t begin, std::int64_t end, std::uint32_t tag) {
      adder.add(begin, end - begin, static_cast<std::size_t>(cause_of(tag)));
    };
    if (const auto* level = pyramid.level_for(adder.picoseconds_per_column())) {
      add_level(pyramid, *level, adder);
      for_each_end(idle, add);
    } else {
      idle.for_each(add);
    }
  }
  return shares;
}

std::string_view name(ColourBy by) {
  constexpr std::array<std::string_view, colour_by_count> names{"pass", "microbatch", "stage",
                                                                "cause of idle time"};
  return names[static_cast<std::size_t>(by)];
}

Colouring::Colouring(const ViewedRun& run, ColourBy by) : run_(run), plan_(run.plan), by_(by) {
  const Plan& plan = run.plan;
  const std::vector<ChunkPlace> places = chunks_of(plan);
  const std::uint32_t most = most_chunks(plan);
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const WorkClass& work = plan.classes[c];
    std::uint8_t category = 0;
    if (by == ColourBy::pass) category = static_cast<std::uint8_t>(work.pass);
    if (by == ColourBy::stage) {
      category = static_cast<std::uint8_t>(index(work.stage) % series_colours);
    }
    if (by == ColourBy::pass && is_named()) {
      category = static_cast<std::uint8_t>(series_of(plan.class_names[c]));
    }
    category_of_class_.push_back(category);
    const auto [chunk, chunks] = is_transfer(work.pass) ? ChunkPlace{0, 1} : places[c];
    const bool shaded = by == ColourBy::pass && !is_named() && runs_layers(work.pass);
    ticks_.push_back(shaded ? static_cast<int>(chunk) : 0);
    several_.push_back(is_transfer(work.pass) ? most > 1 : chunks > 1);
    for (const PictureTheme ground : {PictureTheme::light, PictureTheme::dark}) {
      of_class_[static_cast<std::size_t>(ground)].push_back(
          by == ColourBy::pass && !is_named() ? pass_colour(work.pass, chunk, chunks, ground)
                                              : category_colour(category, ground));
    }
  }
}

std::uint8_t Colouring::category_of_microbatch(TaskId task) const {
  return static_cast<std::uint8_t>(microbatch_of(run_, task) % series_colours);
}

std::vector<std::uint8_t> Colouring::categories(bool transfers) const {
  std::set<std::uint8_t> found;
  for (std::size_t c = 0; c < plan_.classes.size(); ++c) {
    if (is_transfer(plan_.classes[c].pass) == transfers) found.insert(category_of_class_[c]);
  }
  for (std::size_t c = 0; by_ == ColourBy::microbatch && c < series_colours; ++c) {
    found.insert(static_cast<std::uint8_t>(c));
  }
  return {found.begin(), found.end()};
}

Colour Colouring::category_colour(std::uint8_t category, PictureTheme ground) const {
  if (by_ == ColourBy::pass && !is_named()) {
    return pass_colour(static_cast<Pass>(category), 0, 1, ground);
  }
  if (by_ == ColourBy::cause) return working_colour;
  return series_colour(category);
}

Colour Colouring::colour(TaskId task, PictureTheme ground) const {
  if (by_ == ColourBy::microbatch) return category_colour(category(task), ground);
  return of_class_[static_cast<std::size_t>(ground)][plan_.work[task]];
}

RunsOnAxis on_one_axis(PaintedRunPtr first, const ShownWith& with) {
  if (with.memory && first->memory == nullptr) first = with_memory(*first);
  const Plan& plan = first->run->plan;
  if (with.links && first->links == nullptr) first = with_links(*first, plan);
  RunsOnAxis all;
  all.pairs = pairs_of(first->run, with);
  for (std::size_t i = 0; i < all.pairs.size(); ++i) {
    const RunPair& pair = all.pairs[i];
    PaintedRunPtr other = painted(pair.second, first->by);
    if (!with.frozen || i > 0) other = with_differences(*other, pair.against_a);
    if (with.memory) other = with_memory(*other);
    if (with.links) other = with_links(*other, plan);
    all.others.push_back(std::move(other));
  }
  const bool is_held = with.frozen && !all.pairs.empty();
  if (is_held || first->against_a != nullptr) {
    first = with_differences(*first, is_held ? all.pairs.front().against_a : nullptr);
  }
  all.first = std::move(first);
  return all;
}

}  // namespace penstock
