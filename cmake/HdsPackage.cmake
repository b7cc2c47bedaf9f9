# `cpack` in the build folder makes hdsc_VERSION_ARCH.deb and hdsc-VERSION-SYSTEM-ARCH.tar.gz. Everything is one package: the
# runtime is small, and programs that go to other machines can link it statically.
set(CPACK_PACKAGE_NAME hdsc)
set(CPACK_PACKAGE_VENDOR "hdsc")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "hdsc maintainers <maintainers@hdsc.invalid>" CACHE STRING "Maintainer of the packages")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler for Hidet Script, a language for GPU kernels")
set(CPACK_PACKAGE_DESCRIPTION
    "hdsc compiles Hidet Script (.hds files, with the syntax of Python) to CUDA C++,\nPTX, machine code of NVIDIA GPUs, \
and C functions that launch the kernels.\nIt runs and checks kernels on a simulator, so that no GPU is needed.\n.\n\
This package has the compiler as a program and as a library (libhds), the\nruntime of compiled kernels (libhdsrt), \
headers, and files for CMake and\npkg-config.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME "hdsc-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/HdsDebian.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src/runtime)
# Which package has the libraries that a program was linked with, and that the loader has to be told of them.
get_target_property(runtime_abi hdsrt_shared SOVERSION)
get_target_property(abi hds_shared SOVERSION)
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(shlibs "libhdsrt ${runtime_abi} hdsc (>= ${PROJECT_VERSION})\nlibhds ${abi} hdsc (>= ${PROJECT_VERSION})\n")
if(TARGET hdsops_shared)
    get_target_property(ops_abi hdsops_shared SOVERSION)
    string(APPEND shlibs "libhdsops ${ops_abi} hdsc (>= ${PROJECT_VERSION})\n")
endif()
file(WRITE ${PROJECT_BINARY_DIR}/debian/shlibs "${shlibs}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers ${PROJECT_BINARY_DIR}/debian/shlibs)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# A C compiler makes objects of kernels. NVRTC is NVIDIA's, and comes from many places.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gcc | c-compiler, libc6-dev | libc-dev")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake, pkgconf | pkg-config")
include(CPack)
