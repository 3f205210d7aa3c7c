#include "tests/oracle/integer_program.hpp"

#include <coin/Cbc_C_Interface.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace penstock::testing {
namespace {

constexpr double unit = 1e6;  // picoseconds; times of the program are microseconds

/// A linear expression: a constant and columns with their factors.
struct Terms {
  double constant = 0;
  std::vector<std::pair<int, double>> columns = {};

  void add(const Terms& other, double factor) {
    constant += factor * other.constant;
    for (const auto& [column, value] : other.columns) columns.emplace_back(column, factor * value);
  }
};

Terms one(int column) { return {0, {{column, 1.0}}}; }

/// An order problem as an integer program.
class IntegerProgram {
 public:
  IntegerProgram(const OrderProblem& problem, bool ascending)
      : problem_(problem), ascending_(ascending), model_(Cbc_newModel(), Cbc_deleteModel) {
    for (const OrderStage& stage : problem.stages) {
      for (const SearchTime time : stage.duration) horizon_ += us(time) * problem.microbatches;
      horizon_ += (us(stage.to_after) + us(stage.to_before)) * problem.microbatches;
    }
    makespan_ = column(0, horizon_, 1, false);
    for (std::size_t cell = 0; cell < problem.cells(); ++cell) {
      start_.push_back(column(0, horizon_, 0, false));
    }
    before_.resize(problem.cells() * problem.cells());
  }

  std::optional<SearchTime> solve() {
    for (std::uint32_t a = 0; a < problem_.cells(); ++a) {
      for (std::uint32_t b = a + 1; b < problem_.cells(); ++b) {
        if (rank_of(a) == rank_of(b)) order_pair(a, b);
      }
    }
    for (std::uint32_t cell = 0; cell < problem_.cells(); ++cell) {
      follow_inputs(cell);
      work_around(cell);
      leave_room(cell);
    }
    Cbc_setParameter(model_.get(), "log", "0");
    if (Cbc_solve(model_.get()) < 0) throw std::runtime_error("CBC failed");
    if (Cbc_isProvenInfeasible(model_.get()) != 0) return std::nullopt;
    if (Cbc_isProvenOptimal(model_.get()) == 0) throw std::runtime_error("CBC gave up");
    return std::llround(Cbc_getObjValue(model_.get())) * static_cast<SearchTime>(unit);
  }

 private:
  static double us(SearchTime time) { return static_cast<double>(time) / unit; }
  std::uint32_t class_of(std::uint32_t cell) const { return cell / problem_.microbatches; }
  std::uint32_t stage_of(std::uint32_t cell) const { return class_of(cell) / SearchPass::count; }
  std::uint32_t pass_of(std::uint32_t cell) const { return class_of(cell) % SearchPass::count; }
  std::uint32_t microbatch_of(std::uint32_t cell) const { return cell % problem_.microbatches; }
  const OrderStage& stage(std::uint32_t cell) const { return problem_.stages[stage_of(cell)]; }
  std::uint32_t rank_of(std::uint32_t cell) const { return stage(cell).rank; }
  double duration(std::uint32_t cell) const { return us(stage(cell).duration[pass_of(cell)]); }
  std::uint32_t cell_of(std::uint32_t stage, std::uint32_t pass, std::uint32_t microbatch) const {
    return cell_class(stage, pass) * problem_.microbatches + microbatch;
  }
  Terms& before(std::uint32_t a, std::uint32_t b) { return before_[a * problem_.cells() + b]; }

  int column(double least, double most, double cost, bool whole) {
    Cbc_addCol(model_.get(), "", least, most, cost, whole ? 1 : 0, 0, nullptr, nullptr);
    return Cbc_getNumCols(model_.get()) - 1;
  }

  /// terms >= 0
  void at_least_zero(const Terms& terms) {
    std::vector<double> factors(static_cast<std::size_t>(Cbc_getNumCols(model_.get())), 0);
    for (const auto& [number, value] : terms.columns) {
      factors[static_cast<std::size_t>(number)] += value;
    }
    std::vector<int> numbers;
    std::vector<double> values;
    for (std::size_t n = 0; n < factors.size(); ++n) {
      if (factors[n] == 0) continue;
      numbers.push_back(static_cast<int>(n));
      values.push_back(factors[n]);
    }
    Cbc_addRow(model_.get(), "", static_cast<int>(numbers.size()), numbers.data(), values.data(),
               'G', -terms.constant);
  }

  /// Whether `a` comes before `b` whatever the order.
  bool always_before(std::uint32_t a, std::uint32_t b) const {
    if (stage_of(a) == stage_of(b) && microbatch_of(a) == microbatch_of(b)) {
      return pass_of(a) < pass_of(b);
    }
    return ascending_ && class_of(a) == class_of(b) && a < b;
  }

  /// One of two passes of a rank is first.
  void order_pair(std::uint32_t a, std::uint32_t b) {
    if (always_before(a, b) || always_before(b, a)) {
      before(a, b).constant = always_before(a, b) ? 1 : 0;
    } else {
      before(a, b) = one(column(0, 1, 0, true));
    }
    before(b, a).constant = 1;
    before(b, a).add(before(a, b), -1);
    for (const auto& [first, second] : {std::pair(a, b), std::pair(b, a)}) {
      // start of the second >= end of the first, unless they come the other way round
      Terms terms{horizon_ - duration(first)};
      terms.add(one(start_[second]), 1);
      terms.add(one(start_[first]), -1);
      terms.add(before(first, second), -horizon_);
      at_least_zero(terms);
    }
  }

  void follow(std::uint32_t first, std::uint32_t second, SearchTime transfer) {
    Terms terms{-duration(first) - us(transfer)};
    terms.add(one(start_[second]), 1);
    terms.add(one(start_[first]), -1);
    at_least_zero(terms);
  }

  void follow_inputs(std::uint32_t cell) {
    const std::uint32_t s = stage_of(cell), m = microbatch_of(cell);
    const bool last = s + 1 == problem_.stage_count();
    switch (pass_of(cell)) {
      case SearchPass::forward:
        if (s > 0)
          follow(cell_of(s - 1, SearchPass::forward, m), cell, problem_.stages[s - 1].to_after);
        break;
      case SearchPass::input:
        follow(cell_of(s, SearchPass::forward, m), cell, 0);
        if (!last)
          follow(cell_of(s + 1, SearchPass::input, m), cell, problem_.stages[s + 1].to_before);
        break;
      default:
        follow(cell_of(s, SearchPass::input, m), cell, 0);
        break;
    }
  }

  /// A pass starts after the work of all that its rank runs before, and the makespan is behind all
  /// that it runs after: implied by the order, and a great help to the solver.
  void work_around(std::uint32_t cell) {
    Terms earlier = one(start_[cell]), later = one(makespan_);
    later.add(one(start_[cell]), -1);
    later.constant -= duration(cell);
    for (std::uint32_t other = 0; other < problem_.cells(); ++other) {
      if (other == cell || rank_of(other) != rank_of(cell)) continue;
      earlier.add(before(other, cell), -duration(other));
      later.add(before(cell, other), -duration(other));
    }
    at_least_zero(earlier);
    at_least_zero(later);
  }

  /// What the passes before a pass leave behind, and what it needs itself, fits its rank.
  void leave_room(std::uint32_t cell) {
    Terms room{
        static_cast<double>(problem_.capacity[rank_of(cell)] - stage(cell).during[pass_of(cell)])};
    for (std::uint32_t other = 0; other < problem_.cells(); ++other) {
      if (other == cell || rank_of(other) != rank_of(cell)) continue;
      room.add(before(other, cell), -static_cast<double>(stage(other).change[pass_of(other)]));
    }
    at_least_zero(room);
  }

  const OrderProblem& problem_;
  bool ascending_;
  std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> model_;
  double horizon_ = 0;
  int makespan_ = 0;
  std::vector<int> start_;     // by cell: its column
  std::vector<Terms> before_;  // by two cells of a rank: 1 if the first comes first, else 0
};

}  // namespace

std::optional<SearchTime> shortest_by_integer_program(const OrderProblem& problem, bool ascending) {
  return IntegerProgram(problem, ascending).solve();
}

}  // namespace penstock::testing
