#include "gui/models/lanes/colouring.hpp"

#include <array>
#include <set>

#include "experiments/show/pictures/lanes/lane_cells.hpp"
#include "experiments/show/pictures/palette.hpp"

namespace penstock {
namespace {

constexpr Colour working_grey{150, 156, 165};

}  // namespace

std::string_view name(ColourBy by) {
  constexpr std::array<std::string_view, colour_by_count> names{"pass", "microbatch", "stage",
                                                                "cause of idle time"};
  return names[static_cast<std::size_t>(by)];
}

Colouring::Colouring(const Plan& plan, ColourBy by) : plan_(plan), by_(by) {
  const std::vector<ChunkPlace> places = chunks_of(plan);
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const WorkClass& work = plan.classes[c];
    std::uint8_t category = 0;
    if (by == ColourBy::pass) category = static_cast<std::uint8_t>(work.pass);
    if (by == ColourBy::stage) {
      category = static_cast<std::uint8_t>(index(work.stage) % series_colours);
    }
    category_of_class_.push_back(category);
    const auto [chunk, chunks] = is_transfer(work.pass) ? ChunkPlace{0, 1} : places[c];
    of_class_.push_back(by == ColourBy::pass ? pass_colour(work.pass, chunk, chunks)
                                             : category_colour(category));
  }
}

std::uint8_t Colouring::category_of_microbatch(TaskId task) const {
  return static_cast<std::uint8_t>(index(plan_.microbatch[task]) % series_colours);
}

std::vector<std::uint8_t> Colouring::categories(bool transfers) const {
  std::set<std::uint8_t> found;
  for (std::size_t c = 0; c < plan_.classes.size(); ++c) {
    if (is_transfer(plan_.classes[c].pass) == transfers) found.insert(category_of_class_[c]);
  }
  for (std::size_t c = 0; by_ == ColourBy::microbatch && c < series_colours; ++c) {
    found.insert(static_cast<std::uint8_t>(c));
  }
  return {found.begin(), found.end()};
}

Colour Colouring::category_colour(std::uint8_t category) const {
  if (by_ == ColourBy::pass) return pass_colour(static_cast<Pass>(category));
  if (by_ == ColourBy::cause) return working_grey;
  return series_colour(category);
}

Colour Colouring::colour(TaskId task) const {
  if (by_ == ColourBy::microbatch) return category_colour(category(task));
  return of_class_[plan_.work[task]];
}

}  // namespace penstock
