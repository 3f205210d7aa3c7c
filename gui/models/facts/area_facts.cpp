#include "gui/models/facts/area_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "experiments/input/files/table.hpp"
#include "experiments/show/pictures/lanes/timeline_picture.hpp"
#include "gui/models/view/time_axis.hpp"

namespace penstock {
namespace {

/// What is asked of many tasks; the classes of the plan would fill the cache.
struct KindOfClass {
  std::uint32_t kind, stage;
};

/// Walks over an area and counts into a row for each pass, stage and cause.
class AreaCounter {
 public:
  AreaCounter(const Area& area, const RunLanes& lanes, const Plan& plan)
      : area_(area), lanes_(lanes), plan_(plan), named_(!plan.class_names.empty()) {
    std::uint32_t stages = 0;
    for (const WorkClass& work : plan.classes) {
      kinds_.push_back({static_cast<std::uint32_t>(work.pass), index(work.stage)});
      stages = std::max(stages, index(work.stage) + 1);
    }
    if (named_) number_names();
    add_rows(AreaGroup::kind, named_ ? kinds_.size() : pass_count);
    add_rows(AreaGroup::stage, stages);
    add_rows(AreaGroup::cause, idle_cause_count);
  }

  std::vector<AreaRow> count() {
    for_each_part([](AreaRow& row, std::int64_t part, std::int64_t whole) {
      ++row.count;
      row.sum += part;
      row.whole += whole;
      row.shortest = std::min(row.shortest, whole);
      row.longest = std::max(row.longest, whole);
    });
    for_each_part([](AreaRow& row, std::int64_t, std::int64_t whole) {
      row.lengths.resize(length_steps);
      // Of more than two hours, a picosecond more is no other number.
      const double place = static_cast<double>(whole - row.shortest) /
                           static_cast<double>(row.longest - row.shortest + 1);
      const auto step = static_cast<std::size_t>(place * length_steps);
      ++row.lengths[std::min(step, length_steps - 1)];
    });
    // The one stage of ops with names says nothing.
    std::erase_if(rows_, [&](const AreaRow& row) {
      return row.count == 0 || (named_ && row.group == AreaGroup::stage);
    });
    for (AreaRow& row : rows_) row.name = name_of(row);
    return std::move(rows_);
  }

 private:
  /// Each class is of the kind of the first one with its name.
  void number_names() {
    std::map<std::string_view, std::uint32_t> first;
    for (std::uint32_t c = 0; c < kinds_.size(); ++c) {
      kinds_[c].kind = first.try_emplace(plan_.class_names[c], c).first->second;
    }
  }
  std::string name_of(const AreaRow& row) const {
    if (row.group == AreaGroup::stage) return fmt::format("stage {}", row.key);
    if (row.group == AreaGroup::cause) {
      return fmt::format("idle: {}", cause_name(plan_, static_cast<IdleCause>(row.key)));
    }
    return named_ ? plan_.class_names[row.key] : std::string(pass_name(static_cast<Pass>(row.key)));
  }
  void add_rows(AreaGroup group, std::size_t count) {
    first_.push_back(rows_.size());
    for (std::uint32_t key = 0; key < count; ++key) {
      rows_.push_back({group, key});
      rows_.back().shortest = std::numeric_limits<std::int64_t>::max();
    }
  }
  AreaRow& row(AreaGroup group, std::uint32_t key) {
    return rows_[first_[static_cast<std::size_t>(group)] + key];
  }

  /// Calls `visit(row, part in the area, whole length)` for each row of each op and idle piece.
  template <class Visitor>
  void for_each_part(Visitor visit) {
    const auto known = static_cast<std::uint32_t>(lanes_.ranks.size());
    const auto walk = [&](const Track& track, auto&& rows_of_tag) {
      track.for_each_part(area_.begin, area_.end, rows_of_tag);
    };
    for (std::uint32_t rank = area_.first_rank; rank < std::min(area_.end_rank, known); ++rank) {
      if (!area_.has(rank)) continue;
      const RankTracks& tracks = lanes_.ranks[rank];
      for (const Track& track : tracks.compute) {
        walk(track, [&](TaskId task, std::int64_t part, std::int64_t whole) {
          const KindOfClass& kind = kinds_[plan_.work[task]];
          visit(row(AreaGroup::kind, kind.kind), part, whole);
          visit(row(AreaGroup::stage, kind.stage), part, whole);
        });
      }
      for (const Track& track : tracks.send) {
        walk(track, [&](TaskId task, std::int64_t part, std::int64_t whole) {
          visit(row(AreaGroup::kind, kinds_[plan_.work[task]].kind), part, whole);
        });
      }
      walk(tracks.idle, [&](std::uint32_t tag, std::int64_t part, std::int64_t whole) {
        visit(row(AreaGroup::cause, static_cast<std::uint32_t>(cause_of(tag))), part, whole);
      });
    }
  }

  const Area& area_;
  const RunLanes& lanes_;
  const Plan& plan_;
  const bool named_;
  std::vector<KindOfClass> kinds_;  // by work class
  std::vector<AreaRow> rows_;
  std::vector<std::size_t> first_;  // by group: its first row
};

}  // namespace

std::vector<AreaRow> rows_of(const Area& area, const RunLanes& lanes, const Plan& plan) {
  return AreaCounter(area, lanes, plan).count();
}

void compare_rows(std::vector<AreaRow>& rows, const std::vector<AreaRow>& others,
                  bool others_are_a) {
  const std::int64_t sign = others_are_a ? -1 : 1;
  for (AreaRow& row : rows) row.change = -sign * row.sum;
  for (const AreaRow& other : others) {
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const AreaRow& row) {
      return row.group == other.group && row.name == other.name;
    });
    if (same != rows.end()) {
      same->change += sign * other.sum;
    } else {
      rows.push_back(
          {.group = other.group, .key = other.key, .name = other.name, .change = sign * other.sum});
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const AreaRow& one, const AreaRow& other) {
    return std::pair(one.group, one.key) < std::pair(other.group, other.key);
  });
}

Facts facts_of_area(const Area& area, const std::string& of, const Plan& plan, const AreaUse* use) {
  const std::int64_t length = area.end - area.begin;
  const std::uint32_t ranks = area.ranks(UINT32_MAX);
  Facts facts{fmt::format("{} of {}{}", short_time(length), counted(ranks, "rank"), of)};
  facts.all = {
      {"begin", exact_time(area.begin)},
      {"end", exact_time(area.end)},
      {"length", exact_time(length)},
      {"ranks",
       area.among.empty()
           ? ranks == 1 ? fmt::format("{}", area.first_rank)
                        : fmt::format("{} to {}", area.first_rank, area.end_rank - 1)
           : joined(area.among, [](std::uint32_t rank) { return fmt::format("{}", rank); })}};
  if (use == nullptr) return facts;
  const double all = static_cast<double>(length) * ranks;
  const std::string busy = fmt::format("{}, {:.1f} % busy", counted(use->ops, "op"),
                                       all > 0 ? 100 * static_cast<double>(use->busy) / all : 0);
  facts.title += ": " + busy;
  facts.line = short_time(length) + ", " + busy;
  for (std::size_t c = 0; c < idle_cause_count; ++c) {
    if (use->by_cause[c] == 0) continue;
    facts.line += fmt::format(", {} {}", cause_name(plan, static_cast<IdleCause>(c)),
                              short_time(use->by_cause[c]));
  }
  return facts;
}

double ops_about(const Area& area, const RunLanes& lanes) {
  const double time = static_cast<double>(area.end - area.begin) /
                      static_cast<double>(std::max<std::int64_t>(1, lanes.span));
  return static_cast<double>(lanes.ops) * std::min(1.0, time) *
         area.ranks(static_cast<std::uint32_t>(lanes.ranks.size())) /
         static_cast<double>(lanes.ranks.size());
}

}  // namespace penstock
