# Precompiled headers that several rooms share: reading headers is half of a file's time to compile. The files themselves name
# what they need.
set(COALESCE_HEADERS <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <condition_variable> <cstdint> <cstdio>
  <cstdlib> <cstring> <deque> <filesystem> <fstream> <functional> <limits> <map> <memory> <mutex> <new> <optional> <set> <span>
  <sstream> <stdexcept> <string> <string_view> <thread> <tuple> <unordered_map> <unordered_set> <utility> <variant> <vector>)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/headers.cpp CONTENT "int coalesce_headers;\n")

# For libraries that programs load: the C++ library.
add_library(loaded_headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/headers.cpp)
target_link_libraries(loaded_headers PRIVATE coalesce_loaded_flags)
target_precompile_headers(loaded_headers PRIVATE ${COALESCE_HEADERS})

# For the command and its rooms: JSON and formatted text, too. Clang shares a header between all levels that optimise: -O1 serves -O3.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
add_library(command_headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/headers.cpp)
target_link_libraries(command_headers PRIVATE coalesce_flags fmt::fmt nlohmann_json::nlohmann_json)
target_compile_options(command_headers PRIVATE $<$<CONFIG:Release>:-O1>)
target_precompile_headers(command_headers PRIVATE <fmt/format.h> <nlohmann/json.hpp> ${COALESCE_HEADERS})
