#include "tool/command/redirect.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>

#include "redirect/static_runtime.h"
#include "tool/command/execute.h"
#include "tool/figures/error.h"

namespace coalesce::tool {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLibraryFolders[] = {"lib64", "targets/x86_64-linux/lib", "lib"};

void add_archive(const fs::path& file, std::vector<std::string>& found) {
  std::error_code error;
  const std::string path = fs::canonical(file, error).string();
  if (!error && std::find(found.begin(), found.end(), path) == found.end()) found.push_back(path);
}

}  // namespace

std::vector<std::string> static_archives() {
  std::vector<std::string> found;
  std::vector<fs::path> toolkits;
  std::error_code error;
  if (const fs::path nvcc = find_program("nvcc"); !nvcc.empty())
    toolkits.push_back(fs::canonical(nvcc, error).parent_path().parent_path());
  for (const auto& entry : fs::directory_iterator("/usr/local", error))
    if (entry.path().filename().string().starts_with("cuda")) toolkits.push_back(entry.path());
  for (const fs::path& toolkit : toolkits)
    for (const char* folder : kLibraryFolders) add_archive(toolkit / folder / "libcudart_static.a", found);
  add_archive("/usr/lib/x86_64-linux-gnu/libcudart_static.a", found);
  return found;
}

void require_redirectable(const std::string& path) {
  const redirect::MappedFile file(path.c_str());
  const std::vector<std::string> archives = static_archives();
  const redirect::StaticRuntime found = redirect::find_static_runtime(redirect::program_of(file.bytes()), archives);
  if (found.version != 0) return;
  throw Error(
      Exit::not_started,
      "'" + path + "' has the CUDA runtime linked in statically, and the machine cannot take its place: " +
          (found.problem.empty() ? "it holds none that is known" : found.problem),
      "rebuild it with nvcc -cudart shared (CMake: set CUDA_RUNTIME_LIBRARY to Shared), or leave its symbols in");
}

void require_unprivileged(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return;
  const bool user = (status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid();
  const bool group = (status.st_mode & S_ISGID) != 0 && status.st_gid != getegid();
  const bool capabilities = getxattr(path.c_str(), "security.capability", nullptr, 0) > 0 && geteuid() != 0;
  if (!user && !group && !capabilities) return;
  throw Error(Exit::not_started,
              "'" + path + "' runs with another's rights (" +
                  (user    ? "set-user-ID"
                   : group ? "set-group-ID"
                           : "file capabilities") +
                  "), so Linux lets nobody take the place of its libraries",
              "run a copy without them: cp '" + path + "' /tmp");
}

void redirect_to(std::map<std::string, std::string>& environment, const Layout& layout, const fs::path& folder,
                 const fs::path& front) {
  if (layout.redirect.empty()) return;
  environment["LD_AUDIT"] = prepended(layout.redirect.string(), "LD_AUDIT", ':');
  environment["COALESCE_REDIRECT_TO"] = folder.string();
  if (!front.empty()) environment["COALESCE_REDIRECT_FRONT"] = front.string();
  if (!layout.compiler.empty()) environment["COALESCE_REDIRECT_COMPILER"] = layout.compiler.string();
  if (!layout.headers.empty()) environment["COALESCE_HEADERS"] = layout.headers.string();
  std::string archives;
  for (const std::string& path : static_archives()) archives += (archives.empty() ? "" : ":") + path;
  environment["COALESCE_REDIRECT_ARCHIVES"] = archives;
}

}  // namespace coalesce::tool
