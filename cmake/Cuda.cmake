# Builds the GPU backends if nvcc is installed. Sets PENSTOCK_WHY_NO_CUDA: empty, or why they are
# left out. PENSTOCK_CUDA: AUTO builds them if possible; ON fails if they cannot be built.

set(PENSTOCK_CUDA AUTO CACHE STRING "Build the GPU backends: AUTO, ON or OFF")
set_property(CACHE PENSTOCK_CUDA PROPERTY STRINGS AUTO ON OFF)
set(PENSTOCK_WHY_NO_CUDA "")

if(PENSTOCK_CUDA STREQUAL AUTO OR PENSTOCK_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(PENSTOCK_WHY_NO_CUDA "nvcc was not found, or cannot compile")
  else()
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90 CACHE STRING
        "The GPUs to compile for: Ampere and Hopper; newer ones compile what is for Hopper")
    if(ccache_program)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${ccache_program})
    endif()
    enable_language(CUDA)
    # The first version with streams of green contexts, and with driver functions requested by
    # version.
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.5)
      set(PENSTOCK_WHY_NO_CUDA
          "nvcc is of CUDA ${CMAKE_CUDA_COMPILER_VERSION}, 12.5 or newer is needed")
    endif()
  endif()
else()
  set(PENSTOCK_WHY_NO_CUDA "PENSTOCK_CUDA is ${PENSTOCK_CUDA}")
endif()

if(PENSTOCK_WHY_NO_CUDA AND NOT PENSTOCK_CUDA STREQUAL AUTO AND PENSTOCK_CUDA)
  message(FATAL_ERROR "PENSTOCK_CUDA is ${PENSTOCK_CUDA}, and ${PENSTOCK_WHY_NO_CUDA}")
endif()
