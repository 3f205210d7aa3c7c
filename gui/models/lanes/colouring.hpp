#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "experiments/show/pictures/colour.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// What the colour of an op says.
enum class ColourBy : std::uint8_t { pass, microbatch, stage, cause };
constexpr std::size_t colour_by_count = 4;
/// "pass", "microbatch", "stage", "cause of idle time".
std::string_view name(ColourBy by);

/// The colours of the ops of a plan, those of the command line's pictures. The plan must outlive
/// it.
class Colouring {
 public:
  Colouring(const Plan& plan, ColourBy by);

  /// Below `most_categories`.
  std::uint8_t category(TaskId task) const {
    return by_ == ColourBy::microbatch ? category_of_microbatch(task)
                                       : category_of_class_[plan_.work[task]];
  }
  /// Of all tasks of a work class; not where microbatches are coloured.
  std::uint8_t category_of_class(std::size_t work) const { return category_of_class_[work]; }
  /// Those of all actions, or of all transfers.
  std::vector<std::uint8_t> categories(bool transfers) const;
  /// Of many ops together; chunks of a rank share one.
  Colour category_colour(std::uint8_t category) const;
  /// Of one op; chunks have shades.
  Colour colour(TaskId task) const;

 private:
  std::uint8_t category_of_microbatch(TaskId task) const;

  const Plan& plan_;
  ColourBy by_;
  std::vector<Colour> of_class_;
  std::vector<std::uint8_t> category_of_class_;
};

}  // namespace penstock
