#include "validate/kernels/amoebanet_kernels.hpp"

namespace penstock::amoebanet_reduction_kernel_file {

constinit extern const KernelEntry amoebanet_reduction_kernel_entry =
    amoebanet_kernel<amoebanet_reduction_table>("amoebanet_reduction");

}  // namespace penstock::amoebanet_reduction_kernel_file
