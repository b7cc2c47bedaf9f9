# HDS_OPS: whether libhdsops is built. Its kernels are compiled by the hdsc that is built here, which takes NVRTC and some minutes
# the first time, so that only what is shipped has it unless it is asked for.
set(default OFF)
if(PROJECT_IS_TOP_LEVEL AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT HDS_SANITIZE AND NOT HDS_TSAN AND NOT HDS_FUZZ)
    # Where hdsc looks for it, and the Python packages of tools/setup.
    file(GLOB folders /usr/local/cuda*/lib64 /usr/local/cuda*/lib /usr/local/cuda*/targets/*/lib /opt/cuda/lib64
         ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/lib)
    find_library(HDS_NVRTC_FOUND NAMES libnvrtc.so.13 libnvrtc.so.12 nvrtc
                 HINTS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES lib64 lib PATHS ${folders})
    mark_as_advanced(HDS_NVRTC_FOUND)
    if(HDS_NVRTC_FOUND OR DEFINED ENV{HDS_NVRTC})
        set(default ON)
    endif()
endif()
option(HDS_OPS "Build libhdsops, the library of operators (needs NVRTC)" ${default})
set(HDS_OPS_ARCHS "sm_80,sm_90a" CACHE STRING "What libhdsops is compiled for, besides Hopper's own kernels; sm_80 runs on sm_86 and sm_89")
set(HDS_OPS_FP8_ARCHS "sm_89,sm_90a" CACHE STRING "The same of its products of fp8")
set(ops_files activation arithmetic comparison creation functions indexing layout loss norm pooling quantize random reduction resize
    scan softmax sort)
set(HDS_OPS_FILES "${ops_files}"
    CACHE STRING "The files of ops/ whose operators libhdsops has; all of them take some minutes")
