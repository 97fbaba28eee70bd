# Packages run on CPUs that the builder cannot know. COALESCE_LEVELS="x86-64-v2;x86-64-v3;x86-64-v4" builds everything
# for the first level, and libcudart, which contains the machine's hot code, once more for every other level. Those
# copies lie in glibc-hwcaps/<level>/ beside the first; the dynamic linker (glibc 2.33 and later) takes the best that
# the CPU can run. Every level is a build of this project in levels/<level>/, so the rooms are independent of levels.
list(LENGTH COALESCE_LEVELS level_count)
if(level_count LESS 2)
  return()
endif()

include(ExternalProject)
list(SUBLIST COALESCE_LEVELS 1 -1 higher_levels)
foreach(level IN LISTS higher_levels)
  if(NOT level MATCHES "^x86-64-v[234]$")
    message(FATAL_ERROR "COALESCE_LEVELS: '${level}' is none of x86-64-v2, x86-64-v3, x86-64-v4")
  endif()
  set(level_dir ${PROJECT_BINARY_DIR}/levels/${level})
  ExternalProject_Add(libcudart-${level}
    SOURCE_DIR ${PROJECT_SOURCE_DIR}
    BINARY_DIR ${level_dir}
    PREFIX ${level_dir}/external
    CMAKE_ARGS
      -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}
      -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
      -DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}
      -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE}
      -DCOALESCE_MARCH=${level}
      -DCOALESCE_LEVELS=
      -DCOALESCE_NATIVE=OFF
      -DCOALESCE_TESTS=OFF
      -DCOALESCE_BENCHMARKS=OFF
    BUILD_COMMAND ${CMAKE_COMMAND} --build . --target coalesce-runtime
    BUILD_ALWAYS ON
    INSTALL_COMMAND ""
    USES_TERMINAL_BUILD ON)
  install(DIRECTORY ${level_dir}/lib/ DESTINATION ${COALESCE_RUNTIME_DIR}/glibc-hwcaps/${level}
    FILES_MATCHING PATTERN "libcudart*.so*")
endforeach()
