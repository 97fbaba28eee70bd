# `./dev package` packs what `cmake --install` installs: a .deb for Debian 12 and its relatives, and a tree that may lie
# anywhere (.tar.gz). tests/install/package_test.sh installs the .deb on a bare system.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME coalesce)
set(CPACK_PACKAGE_VENDOR "Coalesce contributors")
# Debian asks for a maintainer: who answers for this package. Only who packs it knows.
set(COALESCE_MAINTAINER "" CACHE STRING "Maintainer of the .deb: 'Name <address>'")
set(CPACK_PACKAGE_CONTACT "${COALESCE_MAINTAINER}")
if(NOT COALESCE_MAINTAINER)
  set(CPACK_PACKAGE_CONTACT "nobody (packed without -DCOALESCE_MAINTAINER='Name <address>')")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "run CUDA programs without a GPU and count every byte they move")
set(CPACK_PACKAGE_DESCRIPTION "Executes ordinary CUDA programs on the CPU and counts sectors, bank conflicts and
divergence exactly as NVIDIA's hardware counters do. Finds data races. Holds experiments on the memory of GPUs and
a library of reductions.")
set(CPACK_PACKAGE_FILE_NAME coalesce-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# The libraries that ours are linked with: asked of dpkg, which knows the package and the least version of each.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
# What compiles a .cu file: programs that are compiled already need neither it nor nvcc.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS clang-19)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3, python3-pandas, jupyter-core")
# Our libcudart is no package's libcudart: nothing may depend on it.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS OFF)

# Debian wants the licences of all that a package contains in one file.
set(copyright "Coalesce:\n\n")
file(READ ${PROJECT_SOURCE_DIR}/LICENSE text)
string(APPEND copyright "${text}\nreport.js in bin/coalesce: the licences stand at its beginning, in every report.\n")
if(TARGET coalesce-codegen AND EXISTS /usr/share/doc/llvm-19-dev/copyright)
  file(READ /usr/share/doc/llvm-19-dev/copyright text)
  string(APPEND copyright "\nlib/coalesce/libcoalesce_native.so contains LLVM:\n\n${text}")
endif()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/copyright CONTENT "@copyright@" @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/copyright DESTINATION share/doc/coalesce)
include(CPack)
