#include "experiments/formats/torch_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "experiments/formats/registry.hpp"
#include "sim/error.hpp"
#include "sim/limits.hpp"

namespace penstock {
namespace {

constexpr std::string_view overlap_suffix = "OVERLAP_F_B";
constexpr std::string_view cell_help =
    "a cell is STAGE, one of F B I W, MICROBATCH, as in 2F0; or (2F1;3B0)OVERLAP_F_B; or blank";

[[noreturn]] void fail(std::size_t row, std::size_t column, const std::string& what) {
  throw InputError(fmt::format("row {}, column {}", row, column), what);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Takes everything up to a separator off the front of `rest`.
std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

/// Takes a decimal number below `limit` off the front; nothing when there is none.
std::optional<std::uint32_t> take_number(std::string_view& text, std::uint32_t limit) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value >= limit) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<Pass> pass_of(std::string_view word) {
  for (Pass pass : {Pass::forward, Pass::backward, Pass::backward_input, Pass::backward_weight}) {
    if (word == letters(pass)) return pass;
  }
  return std::nullopt;
}

/// Why a word that stands where F, B, I or W should is none of them.
std::string unknown_action(std::string_view cell, std::string_view word) {
  if (word == "BW") {
    return fmt::format("\"{}\" is in the old notation, where BW was the whole backward and B its "
                       "input half; write B for BW and I for B",
                       cell);
  }
  constexpr std::string_view communication[] = {"SEND_F", "RECV_F",  "SEND_B",     "RECV_B",
                                                "UNSHARD", "RESHARD", "REDUCE_GRAD"};
  if (std::find(std::begin(communication), std::end(communication), word) !=
      std::end(communication)) {
    return fmt::format("\"{}\" is a communication cell; a compute-only order holds F, B, I, W and "
                       "OVERLAP_F_B, and transfers follow from it",
                       cell);
  }
  return fmt::format("\"{}\" is no cell; {}", cell, cell_help);
}

/// One action out of its text, or what is wrong with it.
std::optional<Action> parse_action(std::string_view cell, std::string& fault) {
  std::string_view rest = cell;
  const auto stage = take_number(rest, Limits::stages);
  const std::size_t letters_end =
      std::min(rest.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), rest.size());
  const std::string_view word = rest.substr(0, letters_end);
  rest.remove_prefix(letters_end);
  const auto pass = pass_of(word);
  if (!stage || !pass) {
    fault = stage ? unknown_action(cell, word) : fmt::format("\"{}\" is no cell; {}", cell, cell_help);
    return std::nullopt;
  }
  const auto microbatch = take_number(rest, Limits::microbatches);
  if (!microbatch) {
    fault = fmt::format("\"{}\" names no microbatch from 0 to {}", cell, Limits::microbatches - 1);
    return std::nullopt;
  }
  if (!rest.empty()) {
    fault = fmt::format("\"{}\" has \"{}\" behind its microbatch; {}", cell, rest, cell_help);
    return std::nullopt;
  }
  return Action(*pass, Stage{*stage}, Microbatch{*microbatch});
}

/// Reads the rows of a file one after the other.
class Reader {
 public:
  OrderFile read(std::string_view text) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
    if (trimmed(text).empty()) {
      throw InputError("the file is empty; an order has a row a rank");
    }
    for (std::size_t row = 0; !text.empty(); ++row) read_row(row, take_until(text, '\n'));
    Schedule schedule(static_cast<std::uint32_t>(orders_.size()));
    for (Rank rank : Numbers<Rank>(schedule.ranks())) {
      schedule.on(rank) = std::move(orders_[index(rank)]);
    }
    return {std::move(schedule), std::move(columns_)};
  }

 private:
  void read_row(std::size_t row, std::string_view line) {
    if (row == Limits::ranks) {
      throw InputError(fmt::format("row {}", row),
                       fmt::format("there are more than {} rows", Limits::ranks));
    }
    orders_.emplace_back();
    columns_.emplace_back();
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (std::uint32_t column = 0; !line.empty(); ++column) {
      const std::string_view cell = trimmed(take_until(line, ','));
      if (!cell.empty() && cell != "\"\"") read_cell(row, column, cell);
    }
  }

  void read_cell(std::size_t row, std::uint32_t column, std::string_view cell) {
    if (cell.front() == '(') return read_overlap(row, column, cell);
    std::string fault;
    const auto action = parse_action(cell, fault);
    if (!action) fail(row, column, fault);
    add(*action, column);
  }

  void read_overlap(std::size_t row, std::uint32_t column, std::string_view cell) {
    const std::size_t close = cell.find(')');
    if (close == std::string_view::npos || cell.substr(close + 1) != overlap_suffix) {
      fail(row, column, fmt::format("\"{}\" is no cell; {}", cell, cell_help));
    }
    std::string_view parts = cell.substr(1, close - 1);
    std::string fault;
    std::vector<Action> actions;
    while (!parts.empty()) {
      const auto action = parse_action(trimmed(take_until(parts, ';')), fault);
      if (!action) fail(row, column, fault);
      actions.push_back(*action);
    }
    const bool pairs = actions.size() == 2 && ((actions[0].pass == Pass::forward) !=
                                               (actions[1].pass == Pass::forward)) &&
                       (gives_gradient(actions[0].pass) || gives_gradient(actions[1].pass));
    if (!pairs) {
      fail(row, column, fmt::format("\"{}\" must join one F with one B", cell));
    }
    actions[0].with_next = true;
    for (const Action& action : actions) add(action, column);
  }

  void add(const Action& action, std::uint32_t column) {
    orders_.back().push_back(action);
    columns_.back().push_back(column);
    if (++actions_ > Limits::actions) {
      throw InputError(fmt::format("there are more than {} actions", Limits::actions));
    }
  }

  std::vector<std::vector<Action>> orders_;
  std::vector<std::vector<std::uint32_t>> columns_;
  std::uint64_t actions_ = 0;
};

}  // namespace

OrderFile read_torch_csv(std::string_view text) { return Reader().read(text); }

Placement placement_of(const OrderFile& order, std::vector<std::vector<Stage>> chains) {
  const Schedule& schedule = order.schedule;
  std::vector<std::vector<Rank>> ranks;
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    const auto& actions = schedule.on(rank);
    for (std::uint32_t i = 0; i < actions.size(); ++i) {
      const Stage stage = actions[i].stage;
      if (index(stage) >= ranks.size()) ranks.resize(index(stage) + 1);
      auto& homes = ranks[index(stage)];
      if (homes.empty()) homes.push_back(rank);
      if (homes.front() == rank) continue;
      throw InputError(place_text(order, rank, i),
                       fmt::format("{} puts stage {} on rank {}, but row {} names it already; a "
                                   "stage belongs to one rank",
                                   text(actions[i]), index(stage), index(rank),
                                   index(homes.front())));
    }
  }
  for (std::size_t stage = 0; stage < ranks.size(); ++stage) {
    if (ranks[stage].empty()) {
      throw InputError(fmt::format("no row names stage {}, though stage {} is there; stages are "
                                   "numbered from 0 without gaps",
                                   stage, ranks.size() - 1));
    }
  }
  if (ranks.empty()) throw InputError("the order has no actions");
  if (chains.empty()) {
    chains.emplace_back();
    for (Stage stage : Numbers<Stage>(static_cast<std::uint32_t>(ranks.size()))) {
      chains.front().push_back(stage);
    }
  }
  return Placement::given(schedule.ranks(), ranks, std::move(chains));
}

std::string place_text(const OrderFile& order, Rank rank, std::uint32_t action) {
  const auto& columns = order.column[index(rank)];
  std::uint32_t column = 0;
  if (action < columns.size()) {
    column = columns[action];
  } else if (!columns.empty()) {
    column = columns.back() + 1;
  }
  return fmt::format("row {}, column {}", index(rank), column);
}

TorchCsv write_torch_csv(const Schedule& schedule) {
  TorchCsv csv;
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    bool first = true;
    bool inside = false;
    for (const Action& action : schedule.on(rank)) {
      if (action.pass > Pass::backward_weight) {
        csv.left_out.push_back(fmt::format("{} of rank {}", text(action), index(rank)));
        continue;
      }
      if (inside) {
        csv.text += ';';
      } else if (!first) {
        csv.text += ',';
      }
      if (action.with_next) csv.text += '(';
      csv.text += text(action);
      if (inside) csv.text += fmt::format("){}", overlap_suffix);
      inside = action.with_next;
      first = false;
    }
    csv.text += '\n';
  }
  return csv;
}

constinit extern const FormatEntry torch_csv_entry{
    "torch-csv", ".csv",
    "the order of every rank in PyTorch's notation, compute-only; read and written"};

}  // namespace penstock
