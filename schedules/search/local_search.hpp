#pragma once

#include <functional>

#include "schedules/search/draws.hpp"
#include "schedules/search/order_problem.hpp"
#include "schedules/search/sequences.hpp"

namespace penstock {

/// Local search on orders. A step moves one pass of a critical stretch (passes that follow each
/// other without a gap, none of which can be later) in front of its predecessors or behind its
/// successors, and is kept if the makespan is not longer and the rank's memory holds it.
///
/// Where the problem lets it choose, other steps keep an activation that is recomputed, or run I
/// and W as one B or the other way round, and a moved pass that finds no room has activations
/// recomputed until it does.
class LocalSearch {
 public:
  explicit LocalSearch(const OrderProblem& problem);

  /// Improves an order that fits the memory and can finish, until `go_on` (called before each step)
  /// returns false, the makespan is `bound`, or nothing is critical. Returns the makespan.
  SearchTime improve(SearchedOrder& order, SearchTime bound, Draws& draws,
                     const std::function<bool()>& go_on);

  /// The makespan of an order as it really runs; `never` if it does not fit.
  using Judge = std::function<SearchTime(const SearchedOrder&)>;
  /// Random steps from an order, kept where a judge finds them no longer than `makespan`, which is
  /// that of the order; until `go_on` returns false or the makespan is `bound`. For orders that run
  /// otherwise than the problem says.
  SearchTime improve_judged(SearchedOrder& order, SearchTime makespan, SearchTime bound,
                            const Judge& judge, Draws& draws, const std::function<bool()>& go_on);

 private:
  struct Place {
    std::uint32_t rank;
    std::uint32_t at;
  };
  /// An activation, and the flags of its form that are changed.
  struct Flip {
    std::size_t activation;
    ActivationForm flags;
  };
  void find_critical(const SearchedOrder& order);
  bool has_no_length(const SearchedOrder& order, CellClass cell, std::size_t number) const;
  bool step(SearchedOrder& order, const Place& critical, Draws& draws);
  bool switch_whole(SearchedOrder& order, const Place& critical, Draws& draws);
  bool keep_one(SearchedOrder& order, const Place& critical, Draws& draws);
  bool make_room(SearchedOrder& order, std::uint32_t rank, Draws& draws);
  void flip(SearchedOrder& order, const Flip& flip);

  const OrderProblem& problem_;
  SequenceTimes times_;
  std::vector<std::uint32_t> done_;  // by class
  std::vector<Place> critical_;      // passes that directly follow another critical one
  bool chooses_recomputation_, chooses_whole_;
  std::vector<Flip> flipped_;  // by the step at hand
  double spread_;              // how much later starts may get in total, now and then
};

}  // namespace penstock
