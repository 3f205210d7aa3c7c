#include "validate/comparison/compare.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/plan/plan.hpp"
#include "validate/comparison/readiness.hpp"
#include "validate/comparison/task_match.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

/// A rank or link in two runs: the common ops, as indices into a list of pairs.
struct SharedOrder {
  std::vector<std::uint32_t> a;
  std::vector<std::uint32_t> b;  // the same ops, possibly in another order
};

constexpr std::uint32_t elsewhere = UINT32_MAX;
using Place = std::pair<Rank, Rank>;

/// Adds the ops of one run to its side of the orders; `pair_of` has the pair of each task.
void add_side(const Plan& plan, const ResourceOrders& orders,
              const std::vector<std::uint32_t>& pair_of,
              std::vector<std::uint32_t> SharedOrder::*side,
              std::map<Place, SharedOrder>& by_place) {
  for (std::uint32_t r = 0; r < plan.resources(); ++r) {
    const Link place = place_of(plan, r);
    std::vector<std::uint32_t>& order = by_place[{place.from, place.to}].*side;
    for (std::uint32_t i = orders.first[r]; i < orders.first[r + 1]; ++i) {
      const std::uint32_t pair = pair_of[orders.tasks[i]];
      if (pair != elsewhere) order.push_back(pair);
    }
  }
}

/// The orders of the common ops, for each rank and link that both runs have.
std::vector<SharedOrder> shared_orders(const Plan& plan_a, const ResourceOrders& orders_a,
                                       const Plan& plan_b, const ResourceOrders& orders_b,
                                       const std::vector<TaskPair>& pairs) {
  std::vector<std::uint32_t> pair_of_a(plan_a.tasks(), elsewhere);
  std::vector<std::uint32_t> pair_of_b(plan_b.tasks(), elsewhere);
  for (std::uint32_t p = 0; p < pairs.size(); ++p) {
    const Link place_a = place_of(plan_a, plan_a.class_of(pairs[p].a).resource);
    const Link place_b = place_of(plan_b, plan_b.class_of(pairs[p].b).resource);
    if (place_a != place_b) continue;
    pair_of_a[pairs[p].a] = p;
    pair_of_b[pairs[p].b] = p;
  }
  std::map<Place, SharedOrder> by_place;
  add_side(plan_a, orders_a, pair_of_a, &SharedOrder::a, by_place);
  add_side(plan_b, orders_b, pair_of_b, &SharedOrder::b, by_place);
  std::vector<SharedOrder> orders;
  for (auto& [place, order] : by_place) {
    if (!order.a.empty()) orders.push_back(std::move(order));
  }
  return orders;
}

/// One of the two runs, on the common axis.
struct Side {
  const Plan& plan;
  Timeline timeline;
  ResourceOrders orders;
  Readiness ready;

  Side(const Plan& its_plan, Timeline on_axis)
      : plan(its_plan),
        timeline(std::move(on_axis)),
        orders(orders_by_time(plan, timeline)),
        ready(readiness(plan, timeline, orders)) {}

  Time begin(TaskId task) const { return timeline.begin[task]; }
  Time end(TaskId task) const { return timeline.end[task]; }
};

Time first_begin(const Timeline& timeline) {
  const auto first = std::min_element(timeline.begin.begin(), timeline.begin.end());
  return first == timeline.begin.end() ? Time{} : *first;
}

/// A timeline with everything a comparison reads, shifted so that `origin` is 0, and scaled.
Timeline on_axis(const Timeline& timeline, Time origin, double scale) {
  Timeline moved = timeline;
  moved.memory.clear();
  const auto change = [&](std::vector<Time>& column, Time zero) {
    for (Time& time : column) {
      time -= zero;
      if (scale != 1) time = later({}, static_cast<double>(time.picoseconds) * scale);
    }
  };
  if (origin == Time{} && scale == 1) return moved;
  change(moved.begin, origin);
  change(moved.end, origin);
  change(moved.slowed, {});
  change(moved.memory_wait, {});
  return moved;
}

double scale_of(Time makespan_a, Time makespan_b, const CompareOptions& options) {
  const Time none{};
  if (options.alignment != Alignment::makespan || makespan_a == none || makespan_b == none) {
    return 1;
  }
  return static_cast<double>(makespan_a.picoseconds) / static_cast<double>(makespan_b.picoseconds);
}

/// Explains an op that starts at another time, in the same place after the same op.
void blame_start(const Side& a, const Side& b, OpDifference& op) {
  const bool later_in_b = op.inherited() >= Time{};
  const TaskId by = later_in_b ? b.ready.by[op.task.b] : a.ready.by[op.task.a];
  if (by == no_task || magnitude(op.wait) >= magnitude(op.inherited())) {
    op.reason = Reason::wait;
    return;
  }
  (later_in_b ? op.by.b : op.by.a) = by;
  const Side& late = later_in_b ? b : a;
  const TaskId task = later_in_b ? op.task.b : op.task.a;
  const bool before = late.plan.class_of(by).resource == late.plan.class_of(task).resource;
  op.reason = before ? Reason::before : Reason::input;
}

OpDifference difference_of(const Side& a, const Side& b, TaskPair task) {
  OpDifference op{.task = task,
                  .start = b.begin(task.b) - a.begin(task.a),
                  .end = b.end(task.b) - a.end(task.a)};
  op.wait = op.start - (b.ready.at[task.b] - a.ready.at[task.a]);
  return op;
}

constexpr std::uint32_t first_of_all = UINT32_MAX;

/// The pair before each pair on its rank or link, in either run; none for pairs in different
/// places.
struct Predecessors {
  std::vector<std::uint32_t> a, b;
};

Predecessors predecessors(const std::vector<SharedOrder>& orders, std::size_t pairs) {
  Predecessors before{std::vector<std::uint32_t>(pairs, first_of_all),
                      std::vector<std::uint32_t>(pairs, first_of_all)};
  for (const SharedOrder& order : orders) {
    for (std::size_t i = 1; i < order.a.size(); ++i) {
      before.a[order.a[i]] = order.a[i - 1];
      before.b[order.b[i]] = order.b[i - 1];
    }
  }
  return before;
}

class Comparer {
 public:
  Comparer(const Side& a, const Side& b, Comparison& result)
      : a_(a),
        b_(b),
        result_(result),
        orders_(shared_orders(a.plan, a.orders, b.plan, b.orders, result.tasks.shared)) {}

  void run() {
    find_differences();
    find_first();
    for (const SharedOrder& order : orders_) find_order_parting(order);
    add_up();
    measure();
  }

 private:
  const std::vector<TaskPair>& pairs() const { return result_.tasks.shared; }
  bool over(Time difference) const { return magnitude(difference) > result_.tolerance; }

  void find_differences() {
    const Predecessors before = predecessors(orders_, pairs().size());
    result_.ops.reserve(pairs().size());
    for (std::size_t p = 0; p < pairs().size(); ++p) {
      result_.ops.push_back(difference_of(a_, b_, pairs()[p]));
      blame(before.a[p], before.b[p], result_.ops.back());
      ++result_.reasons[static_cast<std::size_t>(result_.ops.back().reason)];
    }
  }

  bool moved(const TaskPair& task) const {
    return place_of(a_.plan, a_.plan.class_of(task.a).resource) !=
           place_of(b_.plan, b_.plan.class_of(task.b).resource);
  }

  void blame(std::uint32_t before_a, std::uint32_t before_b, OpDifference& op) const {
    if (moved(op.task)) {
      op.reason = Reason::place;
    } else if (!over(op.start)) {
      if (over(op.end)) op.reason = Reason::duration;
    } else if (before_a != before_b) {
      op.reason = Reason::order;
      if (before_a != first_of_all) op.by.a = pairs()[before_a].a;
      if (before_b != first_of_all) op.by.b = pairs()[before_b].b;
    } else {
      blame_start(a_, b_, op);
    }
  }

  Time parting_of(const OpDifference& op) const {
    const bool transfer = is_transfer(a_.plan.class_of(op.task.a).pass);
    if (transfer || over(op.start)) return std::min(a_.begin(op.task.a), b_.begin(op.task.b));
    return std::min(a_.end(op.task.a), b_.end(op.task.b));
  }

  /// The earliest difference; ties go to the op that began first. Tasks are numbered in causal
  /// order.
  void find_first() {
    const auto key = [&](Time at, std::size_t op) {
      const TaskPair task = pairs()[op];
      return std::tuple(at, std::min(a_.begin(task.a), b_.begin(task.b)), task.a);
    };
    for (std::size_t op = 0; op < result_.ops.size(); ++op) {
      const Reason reason = result_.ops[op].reason;
      if (reason == Reason::none) continue;
      const Time at = parting_of(result_.ops[op]);
      if (!result_.first || key(at, op) < key(result_.first->at, result_.first->op)) {
        result_.first = {at, op};
      }
    }
  }

  void find_order_parting(const SharedOrder& order) {
    const auto [in_a, in_b] = std::mismatch(order.a.begin(), order.a.end(), order.b.begin());
    if (in_a == order.a.end()) return;
    const TaskPair next{pairs()[*in_a].a, pairs()[*in_b].b};
    const Time at = std::min(a_.begin(next.a), b_.begin(next.b));
    if (result_.first_order && result_.first_order->at <= at) return;
    result_.first_order = {.at = at, .resource = a_.plan.class_of(next.a).resource, .next = next};
    if (in_a != order.a.begin()) result_.first_order->after = pairs()[*(in_a - 1)];
  }

  void add_up() {
    for (const OpDifference& op : result_.ops) {
      const WorkClass& work = a_.plan.class_of(op.task.a);
      if (work.follows_partner) continue;  // its cell counts once
      OwnDifferences& own = is_transfer(work.pass) ? result_.transfers : result_.actions;
      if (over(op.duration())) ++own.durations;
      if (over(op.wait)) ++own.waits;
      own.duration += op.duration();
      own.wait += op.wait;
    }
  }

  template <class Get>
  Spread spread(Get get) const {
    std::vector<Time> apart;
    apart.reserve(result_.ops.size());
    for (const OpDifference& op : result_.ops) apart.push_back(magnitude(get(op)));
    if (apart.empty()) return {};
    const auto at = [&](std::size_t place) {
      const auto nth = apart.begin() + static_cast<std::ptrdiff_t>(place);
      std::nth_element(apart.begin(), nth, apart.end());
      return *nth;
    };
    const Time lower = at((apart.size() - 1) / 2);
    const Time upper = at(apart.size() / 2);
    return {{lower.picoseconds + (upper - lower).picoseconds / 2},
            at((apart.size() * 9 + 9) / 10 - 1),
            at(apart.size() - 1)};
  }

  void measure() {
    result_.makespan_change = makespan_change({a_.plan, a_.timeline, a_.ready},
                                              {b_.plan, b_.timeline, b_.ready}, pairs());
    result_.starts = spread([](const OpDifference& op) { return op.start; });
    result_.ends = spread([](const OpDifference& op) { return op.end; });
    result_.durations = spread([](const OpDifference& op) { return op.duration(); });
    std::vector<TwoMoments> starts;
    starts.reserve(result_.ops.size());
    for (const TaskPair& task : pairs()) starts.push_back({a_.begin(task.a), b_.begin(task.b)});
    result_.start_correlation = rank_correlation(std::move(starts));
  }

  const Side& a_;
  const Side& b_;
  Comparison& result_;
  std::vector<SharedOrder> orders_;
};

/// How far the times of ops may differ by rounding alone.
Time rounding(const Side& a, const Side& b, Time resolution) {
  if (resolution == Time{}) return {};
  const std::size_t ops =
      std::max(longest_chain(a.timeline, a.ready), longest_chain(b.timeline, b.ready));
  return later({}, static_cast<double>(resolution.picoseconds) * static_cast<double>(ops));
}

}  // namespace

const char* name(Reason reason) {
  constexpr std::array<const char*, reason_count> names{"none",   "duration", "wait", "input",
                                                        "before", "order",    "place"};
  return names[static_cast<std::size_t>(reason)];
}

bool Comparison::same() const { return tasks.only_a.empty() && tasks.only_b.empty() && !first; }

Comparison compare(const Plan& plan_a, const Timeline& a, const Plan& plan_b, const Timeline& b,
                   const CompareOptions& options) {
  const bool from_first = options.alignment == Alignment::first_op;
  Comparison result;
  result.same_plan = plan_hash(plan_a) == plan_hash(plan_b);
  result.scale = scale_of(makespan(plan_a, a), makespan(plan_b, b), options);
  Side side_a(plan_a, on_axis(a, from_first ? first_begin(a) : Time{}, 1));
  Side side_b(plan_b, on_axis(b, from_first ? first_begin(b) : Time{}, result.scale));
  result.use_a = time_use(plan_a, side_a.timeline, side_a.ready);
  result.use_b = time_use(plan_b, side_b.timeline, side_b.ready);
  const double makespan_a = static_cast<double>(result.use_a.makespan.picoseconds);
  result.tolerance = std::max(later({}, options.tolerance * makespan_a),
                              rounding(side_a, side_b, options.resolution));
  result.tasks = match_tasks(plan_a, plan_b);
  Comparer(side_a, side_b, result).run();
  result.a = std::move(side_a.timeline);
  result.b = std::move(side_b.timeline);
  return result;
}

}  // namespace penstock
