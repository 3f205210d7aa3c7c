#pragma once

#include <optional>
#include <vector>

#include "hardware_models/layers/building/amoebanet.hpp"
#include "validate/kernels/images/convolution.hpp"
#include "validate/kernels/images/pooling.hpp"

namespace penstock {

/// An operation of a cell, from one of its images to another. Images 0 and 1 are its inputs, image
/// n + 2 is state n: the sum of the operations that lead to it.
struct CellEdge {
  std::size_t from;
  std::size_t to;
  std::vector<ConvolutionBlock> convolutions = {};  // one after the other
  std::optional<Pooling> pooling = {};              // neither: the image as it is
  std::size_t first = 0;  // number of its first convolution, or of its pool of largest values
};

/// A cell of AmoebaNet-D, laid out by its table. An input column has the image of the previous
/// layer above that of the one before; an output column the joined states above the image of the
/// previous layer.
class AmoebanetCell {
 public:
  /// The pools of largest values of any cell, whose indices are the first that it keeps.
  static constexpr std::size_t most_pools = 4;

  AmoebanetCell(const CellTable& table, const LayerNumbers& numbers);

  std::size_t rows_in() const { return rows(0) + rows(1); }
  std::size_t rows_out() const;
  /// Rows of the previous layer's image, which goes on to the next cell.
  std::size_t rows_passed() const { return rows(0); }
  std::vector<WeightSpec> weights() const;

  Tensor forward(const LayerRun& run, const Tensor& in, Tensors& kept) const;
  Tensor input_gradient(const LayerRun& run, const Tensor& gradient, Tensors& kept) const;
  void weight_gradient(const Tensors& kept, Tensors& sums) const;

 private:
  struct Image {
    std::size_t channels;
    std::size_t height;
    std::size_t width;
  };

  std::size_t rows(std::size_t image) const {
    return images_[image].channels * images_[image].height * images_[image].width;
  }
  void enter(std::size_t input, std::size_t stride);
  void add_step(const CellStep& step, std::size_t to, std::size_t stride);
  void add(CellEdge edge);
  void add_pool(CellEdge edge, std::size_t window, std::size_t stride, bool largest);
  ConvolutionSizes convolution(const Image& from, std::size_t to_channels) const;
  std::vector<ConvolutionBlock> narrow(const Image& from, std::size_t stride,
                                       const std::vector<ConvolutionSizes>& inner) const;
  std::vector<ConvolutionBlock> convolutions_of(CellOperation operation, const Image& from,
                                                std::size_t stride) const;

  Tensor along(const CellEdge& edge, const LayerRun& run, const Tensor& from, Tensors& kept) const;
  Tensor back(const CellEdge& edge, const LayerRun& run, Tensor gradient, Tensors& kept) const;
  std::size_t kept_by(std::size_t convolution) const;

  std::size_t channels_;
  std::vector<Image> images_;
  std::vector<CellEdge> edges_;  // in order of the images they lead to
  std::vector<std::size_t> joined_;
  std::size_t convolutions_ = 0;
  std::size_t pools_ = 0;  // of largest values
};

}  // namespace penstock
