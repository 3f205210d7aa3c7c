#pragma once

// Functions that both the GPU and the host run, so that tests without a GPU check them.
#ifdef __CUDACC__
#define PENSTOCK_BOTH __host__ __device__ inline
#else
#define PENSTOCK_BOTH inline
#endif
