#include "experiments/measure/reproduction/row_progress.hpp"

#include <algorithm>
#include <numeric>

namespace penstock {

void RowProgress::expect(const Judgement& judgement, std::size_t rows) {
  constexpr std::uint64_t usual_steps = 8;
  constexpr std::uint64_t dampings = 6;  // tried by each step of a fit
  if (!judgement.fit) return expected_.push_back(rows);
  const std::uint64_t of_fit = usual_steps * (judgement.fit->constants.size() + dampings) * rows;
  expected_.push_back((judgement.fit->on_others ? rows : 1) * of_fit + rows);
}

void RowProgress::begin_judgement() { end_ = done_ + expected_[next_++]; }

void RowProgress::of_batch(std::size_t done) {
  if (!on_progress_) return;
  const std::uint64_t so_far = done_ + done;
  on_progress_("rows", so_far,
               std::accumulate(expected_.begin() + static_cast<std::ptrdiff_t>(next_),
                               expected_.end(), std::max(end_, so_far)));
}

}  // namespace penstock
