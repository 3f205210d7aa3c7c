#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "experiments/pictures/canvas.hpp"

namespace penstock {

enum class PictureFormat : std::uint8_t { svg, png, pdf };

/// The format that a file's suffix names: .svg, .png or .pdf, in small or capital letters. Throws
/// UsageError for any other.
PictureFormat picture_format(const std::string& path);

/// The bytes of a picture file, on white paper. Equal drawings give equal bytes. A PNG has two
/// pixels for each unit, so that it is sharp on fine screens. Throws std::runtime_error when Cairo
/// fails.
std::string render(PictureFormat format, double width, double height,
                   const std::function<void(Canvas&)>& draw);

}  // namespace penstock
