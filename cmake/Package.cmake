# The library for other projects: `find_package(coalesce)` gives the target coalesce::coalesce (headers, nothing to link
# but the CUDA runtime, which nvcc links itself), and `pkg-config --cflags coalesce` the same. Both find the headers by
# their own place, so the tree may be moved.
include(CMakePackageConfigHelpers)

add_library(coalesce-library INTERFACE)
add_library(coalesce::coalesce ALIAS coalesce-library)
set_target_properties(coalesce-library PROPERTIES EXPORT_NAME coalesce)
target_compile_features(coalesce-library INTERFACE cxx_std_17)
target_include_directories(coalesce-library INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)

set(package_dir lib/cmake/coalesce)
install(TARGETS coalesce-library EXPORT coalesce-targets)
install(EXPORT coalesce-targets NAMESPACE coalesce:: FILE coalesceTargets.cmake DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/cmake/coalesceConfig.cmake ${PROJECT_SOURCE_DIR}/cmake/CoalesceTest.cmake DESTINATION ${package_dir})
# Below 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/coalesceConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
configure_file(${PROJECT_SOURCE_DIR}/cmake/coalesce.pc.in ${PROJECT_BINARY_DIR}/coalesce.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/coalesceConfigVersion.cmake DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/coalesce.pc DESTINATION share/pkgconfig)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/coalesce DESTINATION include)
