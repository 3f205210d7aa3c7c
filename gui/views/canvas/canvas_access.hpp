#pragma once

namespace penstock {

/// Lets screen readers see each canvas as lanes, and each lane as the ops in sight. To be called
/// once, before a canvas is shown.
void install_canvas_access();

}  // namespace penstock
