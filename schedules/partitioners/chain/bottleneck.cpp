#include "schedules/partitioners/chain/bottleneck.hpp"

#include <algorithm>
#include <cmath>

#include "schedules/partitioners/problem/cut_problem.hpp"

namespace penstock {
namespace {

using Cuts = std::vector<std::uint32_t>;

/// Probes of a chain without boundaries. Cuts of a feasible value bound those of smaller ones from
/// above, cuts of an infeasible one those of larger ones from below, so later probes search less.
class PlainProbes {
 public:
  PlainProbes(std::span<const double> prefix, std::uint32_t stages)
      : prefix_(prefix),
        size_(static_cast<std::uint32_t>(prefix.size()) - 1),
        stages_(stages),
        least_(stages + 1, 0),
        most_(stages + 1, size_),
        ends_(stages + 1, 0) {}

  Probe<Cuts> operator()(double value) {
    double next = no_cut;
    double longest = 0;
    std::uint32_t stage = 0;
    while (ends_[stage] < size_ && stage < stages_) {
      const double start = prefix_[ends_[stage]];
      const std::uint32_t end =
          reach(start, value, std::max(ends_[stage], least_[stage + 1]), most_[stage + 1]);
      ends_[++stage] = end;
      longest = std::max(longest, prefix_[end] - start);
      if (end < size_) next = std::min(next, prefix_[end + 1] - start);
    }
    if (ends_[stage] < size_) {
      least_ = ends_;
      return {.found = {}, .value = next};
    }
    std::copy(ends_.begin(), ends_.begin() + stage + 1, most_.begin());
    return {.found = Cuts(ends_.begin(), ends_.begin() + stage + 1), .value = longest};
  }

 private:
  /// The furthest end in [least, most] with a stage of at most `value`.
  std::uint32_t reach(double start, double value, std::uint32_t least, std::uint32_t most) const {
    const double* first = prefix_.data() + least + 1;
    const double* last = prefix_.data() + std::max(most, least) + 1;
    return static_cast<std::uint32_t>(
        std::partition_point(first, last, [&](double end) { return end - start <= value; }) -
        prefix_.data() - 1);
  }

  std::span<const double> prefix_;
  std::uint32_t size_;
  std::uint32_t stages_;
  std::vector<std::uint32_t> least_, most_, ends_;
};

double longest_layer(std::span<const double> prefix) {
  double longest = 0;
  for (std::size_t i = 1; i < prefix.size(); ++i) {
    longest = std::max(longest, prefix[i] - prefix[i - 1]);
  }
  return longest;
}

/// A stage costs at least its share; rounding a difference may take half a unit off.
double least_share(std::span<const double> prefix, std::uint32_t stages) {
  return prefix.back() / stages * (1 - 4e-16);
}

/// The best place to split a stage in two, if any: where the longer half is shortest.
std::optional<std::uint32_t> best_split(std::uint32_t begin, std::uint32_t end, double value,
                                        std::span<const double> prefix,
                                        std::span<const double> boundary) {
  std::optional<std::uint32_t> best;
  double least = no_cut;
  for (std::uint32_t i = begin + 1; i < end; ++i) {
    if (!boundary.empty() && boundary[i] > value) continue;
    const double longer = std::max(prefix[i] - prefix[begin], prefix[end] - prefix[i]);
    if (longer < least) {
      least = longer;
      best = i;
    }
  }
  return best;
}

/// Splits stages until there are `stages`, the longest one first and near its middle, at positions
/// that cost at most `value`.
void split_to(std::uint32_t stages, double value, std::span<const double> prefix,
              std::span<const double> boundary, std::vector<std::uint32_t>& cuts) {
  while (cuts.size() < stages + 1) {
    std::optional<std::uint32_t> split;
    double longest = -1;
    for (std::size_t s = 1; s < cuts.size(); ++s) {
      const double cost = prefix[cuts[s]] - prefix[cuts[s - 1]];
      if (cost <= longest || cuts[s] - cuts[s - 1] < 2) continue;
      const auto place = best_split(cuts[s - 1], cuts[s], value, prefix, boundary);
      if (!place) continue;
      longest = cost;
      split = place;
    }
    if (!split) return;
    cuts.insert(std::upper_bound(cuts.begin(), cuts.end(), *split), *split);
  }
}

/// Where overlapped boundaries cost too much, no stage ends.
class BesideProbes {
 public:
  BesideProbes(std::span<const double> prefix, std::span<const double> boundary,
               std::uint32_t stages, bool exactly)
      : prefix_(prefix), boundary_(boundary), stages_(stages), exactly_(exactly) {}

  Probe<Cuts> operator()(double value) const {
    const auto size = static_cast<std::uint32_t>(prefix_.size()) - 1;
    double next = no_cut;
    Cuts cuts{0};
    std::uint32_t last = 0;  // last position where a stage may end
    std::uint32_t allowed = 0;
    for (std::uint32_t i = 1; i <= size; ++i) {
      while (prefix_[i] - prefix_[cuts.back()] > value) {
        next = std::min(next, prefix_[i] - prefix_[cuts.back()]);
        if (last == cuts.back()) return {.found = {}, .value = std::min(next, dearer(value))};
        cuts.push_back(last);
      }
      if (i < size && boundary_[i] <= value) {
        last = i;
        ++allowed;
      }
    }
    cuts.push_back(size);
    const bool enough = !exactly_ || allowed + 1 >= stages_;
    if (cuts.size() > stages_ + 1 || !enough) {
      return {.found = {}, .value = std::min(enough ? next : no_cut, dearer(value))};
    }
    if (exactly_) split_to(stages_, value, prefix_, boundary_, cuts);
    const double cost = cost_of(cuts);
    return {.found = std::move(cuts), .value = cost};
  }

 private:
  /// The cheapest boundary that costs more.
  double dearer(double value) const {
    double next = no_cut;
    for (const double one : boundary_) {
      if (one > value) next = std::min(next, one);
    }
    return next;
  }

  double cost_of(const Cuts& cuts) const {
    double cost = 0;
    for (std::size_t s = 1; s < cuts.size(); ++s) {
      cost = std::max(cost, prefix_[cuts[s]] - prefix_[cuts[s - 1]]);
      if (s + 1 < cuts.size()) cost = std::max(cost, boundary_[cuts[s]]);
    }
    return cost;
  }

  std::span<const double> prefix_;
  std::span<const double> boundary_;
  std::uint32_t stages_;
  bool exactly_;
};

/// For each position, the numbers of stages in which it can be reached, as bits.
class SequenceProbes {
 public:
  SequenceProbes(std::span<const double> prefix, std::span<const double> boundary,
                 std::uint32_t stages, bool exactly)
      : prefix_(prefix),
        boundary_(boundary),
        size_(static_cast<std::uint32_t>(prefix.size()) - 1),
        stages_(stages),
        exactly_(exactly),
        words_(stages / 64 + 1),
        reached_((size_ + 1) * words_),
        any_(size_ + 1) {}

  Probe<Cuts> operator()(double value) {
    std::fill(reached_.begin(), reached_.end(), 0);
    std::fill(any_.begin(), any_.end(), false);
    reached_[0] = 1;
    any_[0] = true;
    next_ = no_cut;
    for (std::uint32_t end = 1; end <= size_; ++end) {
      reach(end, value);
      drop_if_late(end, value);
    }
    const std::optional<std::uint32_t> count = count_at_end();
    if (!count) return {.found = {}, .value = next_};
    Cuts cuts = traced(*count, value);
    const double cost = cost_of(cuts);
    return {.found = std::move(cuts), .value = cost};
  }

 private:
  double cost(std::uint32_t begin, std::uint32_t end) const {
    return prefix_[end] - prefix_[begin] + at(begin) + at(end);
  }
  double at(std::uint32_t position) const {
    return position == 0 || position == size_ ? 0 : boundary_[position];
  }

  void reach(std::uint32_t end, double value) {
    for (std::uint32_t begin = end; begin-- > 0;) {
      const double layers = prefix_[end] - prefix_[begin];
      if (layers > value) {
        next_ = std::min(next_, layers);
        return;
      }
      if (!any_[begin]) continue;
      const double stage = cost(begin, end);
      if (stage > value) {
        next_ = std::min(next_, stage);
        continue;
      }
      add_one_more(begin, end);
    }
  }

  /// Forgets a position whose rest is too long for the stages that are left.
  void drop_if_late(std::uint32_t end, double value) {
    if (!any_[end] || end == size_) return;
    std::uint32_t least = 0;
    while (!reached(end, least)) ++least;
    const double rest = prefix_[size_] - prefix_[end];
    const double left = stages_ > least ? stages_ - least : 0;
    if (left > 0 && rest <= value * left) return;
    any_[end] = false;
    if (left > 0) {
      next_ = std::min(next_, std::max(rest / left * (1 - 4e-16), std::nextafter(value, no_cut)));
    }
  }

  void add_one_more(std::uint32_t begin, std::uint32_t end) {
    const std::uint64_t* from = &reached_[begin * words_];
    std::uint64_t* to = &reached_[end * words_];
    std::uint64_t carry = 0;
    std::uint64_t all = 0;
    for (std::uint32_t w = 0; w < words_; ++w) {
      to[w] |= from[w] << 1 | carry;
      carry = from[w] >> 63;
      all |= to[w];
    }
    any_[end] = all != 0;
  }

  bool reached(std::uint32_t position, std::uint32_t count) const {
    return (reached_[position * words_ + count / 64] >> (count % 64) & 1) != 0;
  }

  std::optional<std::uint32_t> count_at_end() const {
    for (std::uint32_t count = exactly_ ? stages_ : 1; count <= stages_; ++count) {
      if (reached(size_, count)) return count;
    }
    return std::nullopt;
  }

  Cuts traced(std::uint32_t count, double value) const {
    Cuts cuts(count + 1, size_);
    for (std::uint32_t s = count; s-- > 0;) {
      std::uint32_t begin = cuts[s + 1] - 1;
      while (!any_[begin] || !reached(begin, s) || cost(begin, cuts[s + 1]) > value) --begin;
      cuts[s] = begin;
    }
    return cuts;
  }

  double cost_of(const Cuts& cuts) const {
    double most = 0;
    for (std::size_t s = 1; s < cuts.size(); ++s) {
      most = std::max(most, cost(cuts[s - 1], cuts[s]));
    }
    return most;
  }

  std::span<const double> prefix_;
  std::span<const double> boundary_;
  std::uint32_t size_;
  std::uint32_t stages_;
  bool exactly_;
  std::uint32_t words_;
  std::vector<std::uint64_t> reached_;  // by position: bit c for c stages
  std::vector<bool> any_;
  double next_ = no_cut;
};

/// A value that some cuts meet: the dearest boundaries of cuts that are best without any.
double value_without(std::span<const double> prefix, std::span<const double> boundary,
                     const ChainCuts& plain) {
  double most = plain.value;
  for (std::size_t s = 1; s < plain.cuts.size(); ++s) {
    const std::uint32_t begin = plain.cuts[s - 1];
    const std::uint32_t end = plain.cuts[s];
    const double ends =
        (begin > 0 ? boundary[begin] : 0) + (end + 1 < prefix.size() ? boundary[end] : 0);
    most = std::max(most, prefix[end] - prefix[begin] + ends);
  }
  return most;
}

template <class Probes>
std::optional<ChainCuts> least_with(Probes probes, std::span<const double> prefix,
                                    std::span<const double> boundary, std::uint32_t stages) {
  const ChainCuts plain = least_bottleneck(prefix, stages);
  Probe<Cuts> first = probes(value_without(prefix, boundary, plain));
  if (!first.found) {
    first = probes(prefix.back() + 2 * *std::ranges::max_element(boundary));
  }
  if (!first.found) return std::nullopt;
  Probe<Cuts> best = bisect<Cuts>(plain.value, std::move(first), probes);
  return ChainCuts{best.value, std::move(*best.found)};
}

}  // namespace

ChainCuts least_bottleneck(std::span<const double> prefix, std::uint32_t stages) {
  PlainProbes probe(prefix, stages);
  const double longest = longest_layer(prefix);
  const double low = std::max(least_share(prefix, stages), longest);
  // A stage that ends because the next layer does not fit holds more than the share.
  const double high = prefix.back() / stages * (1 + 1e-15 * stages) + longest;
  Probe<Cuts> first = probe(high);
  if (!first.found) first = probe(prefix.back());
  Probe<Cuts> best = bisect<Cuts>(low, std::move(first), probe);
  return {best.value, std::move(*best.found)};
}

ChainCuts balanced_cuts(std::span<const double> prefix, std::uint32_t stages) {
  ChainCuts best = least_bottleneck(prefix, stages);
  split_to(stages, best.value, prefix, {}, best.cuts);
  return best;
}

std::optional<ChainCuts> least_bottleneck_beside(std::span<const double> prefix,
                                                 std::span<const double> boundary,
                                                 std::uint32_t stages, bool exactly) {
  return least_with(BesideProbes(prefix, boundary, stages, exactly), prefix, boundary, stages);
}

std::optional<ChainCuts> least_bottleneck_in_sequence(std::span<const double> prefix,
                                                      std::span<const double> boundary,
                                                      std::uint32_t stages, bool exactly) {
  return least_with(SequenceProbes(prefix, boundary, stages, exactly), prefix, boundary, stages);
}

}  // namespace penstock
