#include "machine/memory/host_memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace coalesce::machine {
namespace {

// The number in a file of one number. False: no such file, or "max".
bool read_number(const std::string& path, uint64_t* value) {
  std::ifstream file(path);
  return static_cast<bool>(file >> *value);
}

// The number behind `key` in a file of "key number" lines; 0 when absent.
uint64_t read_field(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    uint64_t value = 0;
    if (words >> name >> value && name == key) return value;
  }
  return 0;
}

struct Hierarchy {
  const char* mount;
  const char* limit;
  const char* usage;
  const char* reclaimable;  // field of memory.stat: file pages the kernel drops first
};
constexpr Hierarchy kVersion1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                              "total_inactive_file"};
constexpr Hierarchy kVersion2{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

// A limit holds for a group and everything below it, so all ancestors count.
void apply_group(const std::string& root, const Hierarchy& hierarchy, std::string group, HostMemory* host) {
  for (;;) {
    while (!group.empty() && group.back() == '/') group.pop_back();
    const std::string folder = root + hierarchy.mount + group + "/";
    uint64_t limit = 0, usage = 0;
    if (read_number(folder + hierarchy.limit, &limit) && read_number(folder + hierarchy.usage, &usage)) {
      const uint64_t cache = read_field(folder + "memory.stat", hierarchy.reclaimable);
      usage -= std::min(usage, cache);
      host->total = std::min(host->total, limit);
      host->available = std::min(host->available, limit - std::min(limit, usage));
    }
    if (group.empty()) return;
    group.resize(group.find_last_of('/') == std::string::npos ? 0 : group.find_last_of('/'));
  }
}

}  // namespace

uint64_t HostMemory::margin() const { return std::min<uint64_t>(total / 8, 512ull * 1024 * 1024); }

HostMemory read_host_memory(const std::string& root) {
  HostMemory host;
  const std::string meminfo = root + "/proc/meminfo";
  if (const uint64_t total = read_field(meminfo, "MemTotal:")) {
    host.total = total * 1024;
    host.available = read_field(meminfo, "MemAvailable:") * 1024;
  }
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;  // hierarchy:controllers:path
  while (std::getline(groups, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    // A path outside the container's own view ("/../..") names nothing here: the mount's root is our group then.
    const std::string group = path.find("..") == std::string::npos ? path : "";
    if (controllers == ",,") apply_group(root, kVersion2, group, &host);
    if (controllers.find(",memory,") != std::string::npos) apply_group(root, kVersion1, group, &host);
  }
  return host;
}

}  // namespace coalesce::machine
