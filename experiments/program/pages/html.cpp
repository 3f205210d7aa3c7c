#include "experiments/program/pages/html.hpp"

#include <fmt/format.h>

#include "experiments/input/files/plain_text.hpp"

namespace penstock {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char c : valid_text(text)) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string inline_svg(std::string_view svg, std::size_t number, std::string_view label) {
  std::string element(svg.substr(svg.find("<svg")));
  // HTML knows the namespace by the element; patterns of a hidden picture are not drawn elsewhere.
  replace_all(element, " xmlns=\"http://www.w3.org/2000/svg\"", "");
  replace_all(element, "id=\"hatch-", fmt::format("id=\"p{}-hatch-", number));
  replace_all(element, "url(#hatch-", fmt::format("url(#p{}-hatch-", number));
  return element.insert(4, fmt::format(" role=\"img\" aria-label=\"{}\"", html_text(label)));
}

}  // namespace penstock
