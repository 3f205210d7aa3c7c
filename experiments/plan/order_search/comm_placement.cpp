#include "experiments/plan/order_search/comm_placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/table.hpp"
#include "sim/base/error.hpp"
#include "sim/order/communication.hpp"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t most_ahead = 8;

/// The first action of a row that reads what a RECV or an UNSHARD brings, or the end of the row.
std::uint32_t reader_of(const CommCell& cell, const std::vector<Action>& row) {
  const bool gradient = cell.comm == Comm::receive_backward;
  const auto reads = [&](const Action& action) {
    if (action.stage != cell.stage) return false;
    if (cell.comm == Comm::unshard) return true;
    return action.microbatch == cell.microbatch &&
           (gradient ? gives_gradient(action.pass) : action.pass == Pass::forward);
  };
  std::uint32_t at = cell.before;
  while (at < row.size() && !reads(row[at])) ++at;
  return at;
}

bool brings(const CommCell& cell) { return is_receive(cell.comm) || cell.comm == Comm::unshard; }

/// No cell may stand between the two parts of an overlap cell.
std::uint32_t outside_cell(std::uint32_t before, const std::vector<Action>& row) {
  return before > 0 && row[before - 1].with_next ? before - 1 : before;
}

/// RECVs behind the SENDs of the action before them; else in the order in which they were.
void sort_row(std::vector<CommCell>& row) {
  std::stable_sort(row.begin(), row.end(), [](const CommCell& a, const CommCell& b) {
    return std::pair(a.before, is_receive(a.comm)) < std::pair(b.before, is_receive(b.comm));
  });
}

/// Whether each UNSHARD of a row gathers what is not gathered, and each RESHARD frees what is.
bool alternates(const std::vector<CommCell>& row) {
  std::set<Stage> gathered;
  return std::all_of(row.begin(), row.end(), [&](const CommCell& cell) {
    if (cell.comm == Comm::unshard) return gathered.insert(cell.stage).second;
    return cell.comm != Comm::reshard || gathered.erase(cell.stage) == 1;
  });
}

std::uint64_t fullest(const RunResult& run) {
  return run.report->ranks[index(worst_of(*run.report))].memory.bytes;
}

bool fits(const RunResult& run) { return compared_step(run).has_value(); }

class Placing {
 public:
  Placing(const Scenario& scenario, const HuntOptions& options)
      : options_(options), given_(compared_run(settle(scenario))) {
    if (!given_.layout.communication.written()) {
      throw in_file(given_.layout.source,
                    InputError("/schedule/communication",
                               "it is implicit, so an order has no RECV to move; set it to "
                               "\"written\""));
    }
    if (options.on_prepared) options.on_prepared();
    begin_ = Clock::now();
    best_ = given_;
  }

  PlacedReceives result() {
    place_all(/*weights=*/false);
    if (given_.layout.communication.weights) place_all(/*weights=*/true);
    bool moved = false;
    while (goes_on() && move_each()) moved = true;
    std::string origin = origin_.empty() ? "the given order" : origin_;
    if (moved) origin += ", then moved one by one";
    return {std::move(given_), std::move(best_), origin, evaluations_, options_.asks_to_stop()};
  }

 private:
  using Rows = std::vector<std::vector<CommCell>>;

  /// All UNSHARDs, or all RECVs, the best number of actions ahead.
  void place_all(bool weights) {
    const std::string before = origin_.empty() ? "" : origin_ + ", ";
    for (std::uint32_t ahead = 0; ahead <= most_ahead && goes_on(); ++ahead) {
      if (!try_rows(all_ahead(weights, ahead))) continue;
      origin_ = fmt::format("{}every {} {} ahead of its reader", before,
                            weights ? "UNSHARD" : "RECV", counted(ahead, "action"));
    }
  }

  /// The best rows so far, with all UNSHARDs or all RECVs so many actions ahead; a row that would
  /// gather weights twice stays as it was.
  Rows all_ahead(bool weights, std::uint32_t ahead) const {
    Rows rows = best_.layout.communication.rows;
    for (const Rank rank : Numbers<Rank>(given_.layout.schedule.ranks())) {
      const auto& actions = given_.layout.schedule.on(rank);
      std::vector<CommCell> row = rows[index(rank)];
      for (CommCell& cell : row) {
        if (!brings(cell) || is_receive(cell.comm) == weights) continue;
        const std::uint32_t reader = reader_of(cell, actions);
        cell.before = outside_cell(reader - std::min(reader, ahead), actions);
      }
      sort_row(row);
      if (alternates(row)) rows[index(rank)] = std::move(row);
    }
    return rows;
  }

  /// Every RECV and UNSHARD a place to the front and to the back. Whether any is better there.
  bool move_each() {
    bool better = false;
    for (const Rank rank : Numbers<Rank>(given_.layout.schedule.ranks())) {
      for (std::size_t at = 0; at < best_.layout.communication.rows[index(rank)].size(); ++at) {
        for (const int step : {-1, 1}) {
          if (!goes_on()) return better;
          better = try_step(rank, at, step) || better;
        }
      }
    }
    return better;
  }

  bool try_step(Rank rank, std::size_t at, int step) {
    Rows rows = best_.layout.communication.rows;
    const auto& actions = given_.layout.schedule.on(rank);
    CommCell& cell = rows[index(rank)][at];
    if (!brings(cell) || (step < 0 && cell.before == 0)) return false;
    if (step > 0 && cell.before >= reader_of(cell, actions)) return false;
    cell.before = step < 0 ? outside_cell(cell.before - 1, actions) : cell.before + 1;
    if (step > 0 && actions[cell.before - 1].with_next) ++cell.before;
    if (cell.before > reader_of(cell, actions)) return false;
    sort_row(rows[index(rank)]);
    return alternates(rows[index(rank)]) && try_rows(std::move(rows));
  }

  bool try_rows(Rows rows) {
    ++evaluations_;
    Layout layout = given_.layout;
    layout.communication.rows = std::move(rows);
    RunResult tried = compared_run(std::move(layout));
    if (const auto step = compared_step(best_); options_.on_progress && step) {
      options_.on_progress({spent(), *step, {}});
    }
    if (!fits(tried)) return false;
    const auto cost = [](const RunResult& one) {
      return std::pair(*compared_step(one), fullest(one));
    };
    if (fits(best_) && cost(tried) >= cost(best_)) return false;
    best_ = std::move(tried);
    return true;
  }

  double spent() const { return options_.used(evaluations_, begin_); }
  bool goes_on() const { return !options_.asks_to_stop() && spent() < 1; }

  const HuntOptions& options_;
  RunResult given_, best_;
  Clock::time_point begin_;
  std::string origin_;
  std::uint64_t evaluations_ = 0;
};

std::string shown(const RunResult& run) {
  if (!run.report) return run.findings.front().text;
  return fmt::format("{:.4g} ms{}", to_us(step_of(run)) / 1e3,
                     run.findings.empty() ? "" : ", " + run.findings.front().text);
}

}  // namespace

PlacedReceives place_receives(const Scenario& scenario, const HuntOptions& options) {
  return Placing(scenario, options).result();
}

std::string placed_text(const PlacedReceives& placed) {
  return fmt::format("as given: {}\nbest:     {}\nfrom {}; {} timed\n", shown(placed.given),
                     shown(placed.best), placed.origin, counted(placed.evaluations, "order"));
}

nlohmann::ordered_json placed_json(const PlacedReceives& placed) {
  const auto makespan = [](const RunResult& run) {
    if (!run.report) return nlohmann::ordered_json();
    return nlohmann::ordered_json(to_us(step_of(run)));
  };
  return {{"penstock", 1},
          {"given_us", makespan(placed.given)},
          {"makespan_us", makespan(placed.best)},
          {"fits", fits(placed.best)},
          {"origin", placed.origin},
          {"evaluations", placed.evaluations}};
}

}  // namespace penstock
