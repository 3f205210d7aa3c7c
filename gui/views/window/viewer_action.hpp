#pragma once

#include <string_view>
#include <vector>

namespace penstock {

class ViewerWindow;

/// Something that a person can do. Menus, keys, the palette of actions, the help sheet and the
/// tests are made from the one table of these.
struct ViewerAction {
  std::string_view id;
  std::string_view menu;
  std::string_view text;
  std::string_view keys;  // as QKeySequence reads them, several with a blank between; may be empty
  void (*run)(ViewerWindow& window);
  bool needs_run = true;  // disabled while nothing is open
};

/// By menu, in the order of the menus.
const std::vector<ViewerAction>& viewer_actions();

}  // namespace penstock
