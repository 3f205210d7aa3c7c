#include "sim/timeline/timeline_sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.hpp"
#include "sim/timeline/timeline_columns.hpp"

namespace penstock {
namespace {

void check_count(std::string_view section, std::size_t count, std::size_t wanted) {
  if (count == wanted) return;
  refuse_section(section, fmt::format("it has {} elements; must have {}", count, wanted));
}

/// A lane whose cells and categories are still to be taken.
void check_lane(const OverviewLane& lane, std::size_t cells, std::uint32_t ranks) {
  const bool sound = lane.rank < ranks && lane.kind <= OverviewKind::idle && lane.bin > 0 &&
                     lane.unit > 0 && lane.unit <= lane.bin;
  if (!sound) refuse_section("lane_rank", "a lane has no rank, kind or bins");
  const auto categories = lane.categories.size();
  if (categories == 0 ? cells > 0 : cells % categories != 0) {
    refuse_section("lane_cells", "bins have not all categories");
  }
  for (std::size_t c = 0; c < categories; ++c) {
    const bool ascends = c == 0 || lane.categories[c] > lane.categories[c - 1];
    if (!ascends || lane.categories[c] >= pass_count) {
      refuse_section("category", "they must ascend, and exist");
    }
  }
}

}  // namespace

void take_apart(const TimelineOverview& overview, OverviewColumns& columns) {
  columns.makespan = {overview.makespan};
  for (const RankFacts& facts : overview.ranks) {
    for (const std::int64_t fact : facts) columns.rank_facts.push_back({fact});
  }
  for (const OverviewLane& lane : overview.lanes) {
    columns.lane_rank.push_back(lane.rank);
    columns.lane_kind.push_back(static_cast<std::uint8_t>(lane.kind));
    columns.lane_bin.push_back({lane.bin});
    columns.lane_unit.push_back({lane.unit});
    columns.lane_categories.push_back(static_cast<std::uint32_t>(lane.categories.size()));
    columns.lane_cells.push_back(static_cast<std::uint32_t>(lane.cells.size()));
    columns.category.insert(columns.category.end(), lane.categories.begin(), lane.categories.end());
    columns.cell.insert(columns.cell.end(), lane.cells.begin(), lane.cells.end());
  }
}

TimelineOverview overview_from(const OverviewColumns& columns, std::uint32_t ranks,
                               std::uint64_t tasks) {
  const std::size_t blocks = (tasks + tasks_per_block - 1) / tasks_per_block;
  check_count("block_begin", columns.block_begin.size(), blocks);
  check_count("block_end", columns.block_end.size(), blocks);
  check_count("block_checksum", columns.block_checksum.size(), blocks);
  check_count("makespan", columns.makespan.size(), 1);
  check_count("rank_facts", columns.rank_facts.size(), ranks * overview_facts);
  const std::size_t lanes = columns.lane_rank.size();
  for (const std::size_t count :
       {columns.lane_kind.size(), columns.lane_bin.size(), columns.lane_unit.size(),
        columns.lane_categories.size(), columns.lane_cells.size()}) {
    check_count("lane_rank", lanes, count);
  }
  TimelineOverview overview{.makespan = columns.makespan.front(), .ranks = {}, .lanes = {}};
  overview.ranks.resize(ranks);
  for (std::size_t i = 0; i < columns.rank_facts.size(); ++i) {
    overview.ranks[i / overview_facts][i % overview_facts] = columns.rank_facts[i].picoseconds;
  }
  auto category = columns.category.begin();
  auto cell = columns.cell.begin();
  for (std::size_t l = 0; l < lanes; ++l) {
    OverviewLane lane{columns.lane_rank[l],
                      OverviewKind{columns.lane_kind[l]},
                      columns.lane_bin[l].picoseconds,
                      columns.lane_unit[l].picoseconds,
                      {},
                      {}};
    if (columns.category.end() - category < std::ptrdiff_t{columns.lane_categories[l]} ||
        columns.cell.end() - cell < std::ptrdiff_t{columns.lane_cells[l]}) {
      refuse_section("cell", "there are too few for the lanes");
    }
    lane.categories.assign(category, category + columns.lane_categories[l]);
    check_lane(lane, columns.lane_cells[l], ranks);
    lane.cells.assign(cell, cell + columns.lane_cells[l]);
    category += columns.lane_categories[l];
    cell += columns.lane_cells[l];
    overview.lanes.push_back(std::move(lane));
  }
  if (category != columns.category.end() || cell != columns.cell.end()) {
    refuse_section("cell", "there are too many for the lanes");
  }
  return overview;
}

std::size_t count_in(const SectionHeader& header, std::string_view name, std::string_view type) {
  if (header.name != field<24>(name)) {
    refuse_section(text_of(header.name), fmt::format("unexpected here; expected {}", name));
  }
  if (header.type != field<8>(type)) {
    refuse_section(name, fmt::format("its elements must be of type {}", type));
  }
  if (header.count >= Plan::several) {
    refuse_section(name, fmt::format("too many elements, {}", header.count));
  }
  return header.count;
}

void check_header(const TimelineFileHeader& header) {
  if (header.magic != timeline_magic) throw InputError("not a timeline file");
  if (header.version != whole_version && header.version != overview_version) {
    throw InputError(fmt::format("format version {}; this program reads versions {} and {}",
                                 header.version, whole_version, overview_version));
  }
}

}  // namespace penstock
