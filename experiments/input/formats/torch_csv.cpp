#include "experiments/input/formats/torch_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

constexpr std::string_view overlap_suffix = "OVERLAP_F_B";
constexpr std::string_view cell_help =
    "a cell is STAGE, one of F B I W, MICROBATCH, as in 2F0; or (2F1;3B0)OVERLAP_F_B; or blank";

/// Takes a decimal number below `limit` off the front; nothing if there is none.
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

std::optional<Comm> comm_of(std::string_view word) {
  const auto found = std::ranges::find(comm_words, word);
  if (found == comm_words.end()) return std::nullopt;
  return static_cast<Comm>(found - comm_words.begin());
}

/// A cell without the quotes around it.
std::string_view unquoted(std::string_view cell) {
  const bool quoted = cell.size() >= 2 && cell.starts_with('"') && cell.ends_with('"');
  return quoted ? cell.substr(1, cell.size() - 2) : cell;
}

/// Takes a row off the front, with whatever line end Python's csv module takes for one.
std::string_view take_row(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
  const std::string_view row = text.substr(0, end);
  text.remove_prefix(end);
  text.remove_prefix(text.starts_with("\r\n") ? 2 : std::min<std::size_t>(1, text.size()));
  return row;
}

/// Reads the cells of one row.
class RowReader {
 public:
  RowReader(std::size_t row, std::vector<Action>& order, std::vector<std::uint32_t>& columns,
            std::vector<CommCell>& comms)
      : row_(row), order_(order), columns_(columns), comms_(comms) {}

  /// The column of the first blank cell, if any.
  std::optional<std::uint32_t> read(std::string_view line) {
    std::optional<std::uint32_t> blank;
    for (column_ = 0; !line.empty(); ++column_) {
      const std::string_view cell = trimmed(unquoted(take_until(line, ',')));
      if (cell.empty()) {
        if (!blank) blank = column_;
      } else if (cell.front() == '(') {
        read_overlap(cell);
      } else {
        read_simple(cell);
      }
    }
    return blank;
  }

 private:
  /// The parts of a simple cell: "2SEND_F5" is stage 2, word SEND_F, microbatch 5.
  struct Parts {
    Stage stage;
    std::string_view word;
    std::optional<Microbatch> microbatch;
  };

  [[noreturn]] void fail(const std::string& what) const { throw OrderError(row_, column_, what); }
  [[noreturn]] void no_cell(std::string_view cell) const {
    fail(fmt::format("\"{}\" is no cell; {}", shortened(cell), cell_help));
  }

  Parts take_apart(std::string_view cell) const {
    std::string_view rest = cell;
    const bool numbered = !rest.empty() && rest.front() >= '0' && rest.front() <= '9';
    const auto stage = take_number(rest, Limits::stages);
    if (numbered && !stage) {
      fail(fmt::format("\"{}\" names no stage from 0 to {}", shortened(cell), Limits::stages - 1));
    }
    const std::size_t word_end =
        std::min(rest.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), rest.size());
    const std::string_view word = rest.substr(0, word_end);
    rest.remove_prefix(word_end);
    if (!stage || word.empty()) no_cell(cell);
    if (rest.empty()) return {Stage{*stage}, word, std::nullopt};
    const auto microbatch = take_number(rest, Limits::microbatches);
    if (!microbatch) no_microbatch(cell);
    if (!rest.empty()) {
      fail(fmt::format("\"{}\" has \"{}\" behind its microbatch; {}", shortened(cell),
                       shortened(rest), cell_help));
    }
    return {Stage{*stage}, word, Microbatch{*microbatch}};
  }

  [[noreturn]] void no_microbatch(std::string_view cell) const {
    fail(fmt::format("\"{}\" names no microbatch from 0 to {}", shortened(cell),
                     Limits::microbatches - 1));
  }

  Action action_of(std::string_view cell) const {
    const Parts parts = take_apart(cell);
    const auto pass = pass_of(parts.word);
    if (!pass) unknown_word(cell, parts.word);
    if (!parts.microbatch) no_microbatch(cell);
    return {*pass, parts.stage, *parts.microbatch};
  }

  [[noreturn]] void unknown_word(std::string_view cell, std::string_view word) const {
    if (word != "BW") no_cell(cell);
    fail(
        fmt::format("\"{}\" is in the old notation, where BW was the whole backward and B its "
                    "input half; write B for BW and I for B",
                    shortened(cell)));
  }

  void read_simple(std::string_view cell) {
    const Parts parts = take_apart(cell);
    const auto comm = comm_of(parts.word);
    if (!comm) return add(action_of(cell));
    const bool numbered = has_microbatch(*comm);
    if (numbered && !parts.microbatch) no_microbatch(cell);
    if (!numbered && parts.microbatch) {
      fail(fmt::format("\"{}\" has a microbatch behind it; {} takes none", shortened(cell),
                       parts.word));
    }
    comms_.push_back({*comm, parts.stage, parts.microbatch.value_or(Microbatch{}), column_,
                      static_cast<std::uint32_t>(order_.size())});
  }

  void read_overlap(std::string_view cell) {
    const std::size_t close = cell.find(')');
    if (close == std::string_view::npos || cell.substr(close + 1) != overlap_suffix) no_cell(cell);
    std::string_view parts = cell.substr(1, close - 1);
    std::vector<Action> actions;
    for (bool more = !parts.empty(); more;) {
      more = parts.find(';') != std::string_view::npos;
      actions.push_back(action_of(trimmed(take_until(parts, ';'))));
    }
    const bool pairs = actions.size() == 2 &&
                       ((actions[0].pass == Pass::forward) != (actions[1].pass == Pass::forward)) &&
                       (gives_gradient(actions[0].pass) || gives_gradient(actions[1].pass));
    if (!pairs) fail(fmt::format("\"{}\" must join one F with one B", shortened(cell)));
    actions[0].with_next = true;
    for (const Action& action : actions) add(action);
  }

  void add(const Action& action) {
    order_.push_back(action);
    columns_.push_back(column_);
  }

  std::size_t row_;
  std::uint32_t column_ = 0;
  std::vector<Action>& order_;
  std::vector<std::uint32_t>& columns_;
  std::vector<CommCell>& comms_;
};

/// The rows of a file.
std::vector<std::string_view> rows_of(std::string_view text) {
  text = without_byte_order_mark(text);
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw InputError("the file is empty; an order has one row per rank");
  }
  std::vector<std::string_view> rows;
  while (!text.empty()) {
    rows.push_back(take_row(text));
    if (rows.size() > Limits::ranks) {
      throw InputError(fmt::format("row {}", Limits::ranks),
                       fmt::format("there are more than {} rows", Limits::ranks));
    }
  }
  return rows;
}

std::vector<Stage> all_stages(std::size_t count) {
  std::vector<Stage> stages;
  for (Stage stage : Numbers<Stage>(static_cast<std::uint32_t>(count))) stages.push_back(stage);
  return stages;
}

/// For each microbatch, the halves of stages 0 to 2p-1 that run it: bit 0 the lower, bit 1 the
/// upper.
std::map<Microbatch, unsigned> halves_of_microbatches(const Schedule& schedule) {
  std::map<Microbatch, unsigned> halves;
  for (const Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const Action& action : schedule.on(rank)) {
      halves[action.microbatch] |= index(action.stage) < schedule.ranks() ? 1U : 2U;
    }
  }
  return halves;
}

std::vector<std::vector<Stage>> inferred_chains(const Schedule& schedule,
                                                const std::vector<std::vector<Rank>>& ranks) {
  const Placement one = Placement::given(schedule.ranks(), ranks, {all_stages(ranks.size())});
  const bool lies_both_ways =
      schedule.ranks() > 1 && one == Placement::vee(schedule.ranks(), /*chunks=*/2);
  if (!lies_both_ways) return one.chains();
  for (const auto& [microbatch, halves] : halves_of_microbatches(schedule)) {
    if (halves == 3) return one.chains();
  }
  return Placement::bidirectional(schedule.ranks()).chains();
}

/// The row of a rank, with its communication.
std::string row_text(const std::vector<Action>& actions, std::span<const CommCell> comms) {
  std::string row;
  bool inside = false;
  const auto add = [&](const std::string& cell) { row += (row.empty() ? "" : ",") + cell; };
  const auto add_comms = [&](std::size_t place) {
    for (; !comms.empty() && comms.front().before <= place; comms = comms.subspan(1)) {
      add(text(comms.front()));
    }
  };
  for (std::size_t place = 0; place < actions.size(); ++place) {
    const Action& action = actions[place];
    if (inside) {
      row += fmt::format(";{}){}", text(action), overlap_suffix);
    } else {
      add_comms(place);
      add((action.with_next ? "(" : "") + text(action));
    }
    inside = action.with_next;
  }
  add_comms(actions.size());
  return row;
}

}  // namespace

bool OrderFile::compute_only() const {
  return std::ranges::all_of(comms, [](const auto& row) { return row.empty(); });
}

OrderError::OrderError(std::size_t rank, std::size_t column, const std::string& what)
    : InputError(fmt::format("row {}, column {}", rank, column), what),
      rank_(rank),
      column_(column) {}

OrderFile read_torch_csv(std::string_view text) {
  const std::vector<std::string_view> rows = rows_of(text);
  const auto ranks = static_cast<std::uint32_t>(rows.size());
  OrderFile order{Schedule(ranks), {}, {}, std::nullopt};
  order.byte_order_mark = without_byte_order_mark(text).size() < text.size();
  order.column.resize(ranks);
  order.comms.resize(ranks);
  std::uint64_t actions = 0;
  for (std::uint32_t row = 0; row < ranks; ++row) {
    auto& cells = order.schedule.on(Rank{row});
    const auto blank = RowReader(row, cells, order.column[row], order.comms[row]).read(rows[row]);
    if (blank && !order.blank) order.blank = {row, *blank};
    actions += cells.size();
    if (actions > Limits::actions) {
      throw InputError(fmt::format("there are more than {} actions", Limits::actions));
    }
  }
  return order;
}

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
      throw OrderError(
          index(rank), column_of(order, rank, i),
          fmt::format("{} puts stage {} on rank {}, but row {} names it already; a "
                      "stage belongs to one rank",
                      text(actions[i]), index(stage), index(rank), index(homes.front())));
    }
  }
  for (std::size_t stage = 0; stage < ranks.size(); ++stage) {
    if (ranks[stage].empty()) {
      throw InputError(
          fmt::format("no row names stage {}, though stage {} is there; stages are "
                      "numbered from 0 without gaps",
                      stage, ranks.size() - 1));
    }
  }
  if (ranks.empty()) throw InputError("the order has no actions");
  if (chains.empty()) chains = inferred_chains(schedule, ranks);
  return Placement::given(schedule.ranks(), ranks, std::move(chains));
}

std::uint32_t column_of(const OrderFile& order, Rank rank, std::uint32_t action) {
  const auto& columns = order.column[index(rank)];
  if (action < columns.size()) return columns[action];
  return columns.empty() ? 0 : columns.back() + 1;
}

TorchOrder torch_order(const Schedule& schedule) {
  TorchOrder order{Schedule(schedule.ranks()), {}};
  for (Rank rank : Numbers<Rank>(schedule.ranks())) {
    for (const Action& action : schedule.on(rank)) {
      if (action.pass <= Pass::backward_weight) {
        order.schedule.on(rank).push_back(action);
      } else {
        order.left_out.push_back(fmt::format("{} of rank {}", text(action), index(rank)));
      }
    }
  }
  return order;
}

std::string torch_text(const Schedule& schedule, const Communication& communication) {
  std::string text;
  for (const Rank rank : Numbers<Rank>(schedule.ranks())) {
    std::span<const CommCell> comms;
    if (communication.written()) comms = communication.rows[index(rank)];
    text += row_text(schedule.on(rank), comms) + '\n';
  }
  return text;
}

TorchCsv write_torch_csv(const Schedule& schedule, const Communication& communication) {
  TorchOrder order = torch_order(schedule);
  return {torch_text(order.schedule, communication), std::move(order.left_out)};
}

namespace torch_csv_file {
constinit extern const FormatEntry torch_csv_entry{
    "torch-csv", ".csv",
    "the order of every rank in PyTorch's notation, compute-only; read and written"};
}  // namespace torch_csv_file

}  // namespace penstock
