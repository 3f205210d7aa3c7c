#pragma once

#include <cstdint>
#include <vector>

#include "gui/models/strips/pixels.hpp"
#include "gui/models/strips/share_columns.hpp"

namespace penstock {

/// The part of a picture that a track takes.
struct Strip {
  int top, height;
  bool flipped;  // shares hang from the top
  double mute;   // share of the way to the ground
};

/// A strip of lanes before it is drawn. Boxes fill its height, so they are known from one line of
/// pixels; columns of shares are put over them row by row. Keeps its room.
class StripLines {
 public:
  void resize(int width);
  /// Everything has this colour.
  void start(std::uint32_t colour);
  /// The part of a box that lies within the picture.
  void fill(int left, int right, std::uint32_t colour);
  /// The same with slanted lines over it.
  void hatch(int left, int right, std::uint32_t ground, std::uint32_t line);

  /// Draws the boxes, over them busy shares from the bottom and idle shares above these. A column
  /// with any busy time has at least one coloured pixel. Returns the number of columns with
  /// anything.
  std::uint64_t draw(const ShareColumns& busy, const ShareColumns& idle, const Strip& strip,
                     const Pixels& pixels);

 private:
  /// Up to where a colour reaches, by column, counted from the side where shares stand.
  struct Reach {
    std::uint32_t colour = 0;
    int lowest = 0;  // of the columns with anything
    int highest = 0;
    std::vector<int> until;
  };

  void draw_boxes(const Strip& strip, const Pixels& pixels, int left, int right) const;
  void find_heights(const ShareColumns& busy, const ShareColumns& idle, int height);
  void find_reaches(const ShareColumns& shares, bool above, int height);
  bool is_hidden(const Reach& reach) const;
  void put_shares(const Strip& strip, const Pixels& pixels) const;
  void put_row(int height, std::uint32_t* row) const;
  void put_sparse_row(int height, std::uint32_t* row) const;

  std::vector<std::uint32_t> ground_, lines_;  // without and with slanted lines
  // By column: all busy and idle shares, pixels of busy time, pixels per share.
  std::vector<float> used_, unused_, scale_, sum_;
  std::vector<int> tall_;
  std::vector<Reach> reaches_;
  std::size_t count_ = 0;  // of these that are in use
  // The columns with anything lie between these.
  std::size_t left_ = 0;
  std::size_t right_ = 0;
  std::vector<std::uint32_t> columns_;  // those with anything
};

}  // namespace penstock
