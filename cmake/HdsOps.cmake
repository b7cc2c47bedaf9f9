# HDS_OPS: whether libhdsops is built. The hdsc that is built here compiles its kernels with NVRTC, which takes about seven minutes
# of two cores: the presets 'library' and 'check' ask for it.
option(HDS_OPS "Build libhdsops, the library of operators (needs NVRTC)" OFF)
set(HDS_OPS_ARCHS "sm_80,sm_90a" CACHE STRING "What libhdsops is compiled for, besides Hopper's own kernels; sm_80 runs on sm_86 and sm_89")
set(HDS_OPS_FP8_ARCHS "sm_89,sm_90a" CACHE STRING "The same of its products of fp8")
include(${PROJECT_SOURCE_DIR}/src/ops/catalogue.cmake)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ops_catalogue_file})
set(HDS_OPS_FILES "${ops_files}"
    CACHE STRING "The files of ops/ whose operators libhdsops has; all of them take some minutes")
