#include "gui/models/view/view_history.hpp"

namespace penstock {

void ViewHistory::move(const CanvasView& view, ViewMove kind) {
  if (view == now()) return;
  const bool goes_on = kind != ViewMove::jump && kind == last_ && at_ > 0;
  views_.resize(at_ + 1);
  if (goes_on) {
    views_.back() = view;
  } else {
    views_.push_back(view);
    if (views_.size() > most_views) views_.erase(views_.begin());
  }
  at_ = views_.size() - 1;
  last_ = kind;
}

void ViewHistory::back() {
  if (can_go_back()) --at_;
  last_ = ViewMove::jump;
}

void ViewHistory::forward() {
  if (can_go_forward()) ++at_;
  last_ = ViewMove::jump;
}

}  // namespace penstock
