#include "validate/kernels/amoebanet_kernels.hpp"

namespace penstock::amoebanet_normal_kernel_file {

constinit extern const KernelEntry amoebanet_normal_kernel_entry =
    amoebanet_kernel<amoebanet_normal_table>("amoebanet_normal");

}  // namespace penstock::amoebanet_normal_kernel_file
