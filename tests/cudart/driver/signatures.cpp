#include "tests/cudart/driver/signatures.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>

extern "C" const void* const coalesce_driver_table[];

namespace coalesce::cudart {
namespace {

constexpr const char* kNames[] = {
#define X(name, base, since) #name,
#include "cudart/driver/driver.def"
#undef X
};

const std::map<std::string, Kind, std::less<>> kHandles = {
    {"CUcontext", Kind::context},
    {"CUdevice", Kind::device},
    {"cudaStream_t", Kind::stream},
    {"cudaEvent_t", Kind::event},
    {"cudaKernel_t", Kind::function},
    {"cudaLibrary_t", Kind::library},
    {"cudaGraph_t", Kind::graph},
    {"cudaGraphNode_t", Kind::node},
    {"cudaGraphExec_t", Kind::exec},
    {"cudaMemPool_t", Kind::pool},
    {"CUlinkState", Kind::link},
    {"CUmemGenericAllocationHandle", Kind::memory},
    {"CUdeviceptr", Kind::address},
    {"cudaArray*", Kind::array},
    {"cudaIpcHandle", Kind::ipc},
    {"cudaHostFn_t", Kind::callback},
    {"cudaStreamCallback_t", Kind::callback},
    {"SharedOfBlock", Kind::callback},
};

Kind kind_of(const Parameter& p) {
  if (const auto at = kHandles.find(p.type); at != kHandles.end()) return at->second;
  if (p.type == "const cudaGraphNode_t*") return Kind::nodes;
  if (p.type.ends_with('*')) return Kind::place;
  if (p.type == "unsigned long long" && p.name == "texture") return Kind::texture;
  if (p.type == "unsigned long long" && p.name == "surface") return Kind::surface;
  return Kind::number;
}

// "const void* image" and the like; the name may be missing.
Parameter parameter_of(std::string_view text) {
  static const std::set<std::string_view> kWords = {"const", "unsigned", "long", "int", "short", "char"};
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (c == ' ' || c == '\n') {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  Parameter p;
  const size_t qualified = words.size() > 1 && words[0] == "const" ? 2 : 1;
  if (words.size() > qualified && !words.back().ends_with('*') && !kWords.contains(words.back())) {
    p.name = std::move(words.back());
    words.pop_back();
  }
  for (const std::string& w : words) p.type += (p.type.empty() ? "" : " ") + w;
  p.kind = kind_of(p);
  return p;
}

std::vector<Parameter> parameters_of(std::string_view text) {
  std::vector<Parameter> all;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    if (one.find_first_not_of(" \n") != std::string_view::npos) all.push_back(parameter_of(one));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return all;
}

// Adds what follows each `begin`: NAME, `open`, parameters, ')'.
void read(const std::string& text, std::string_view begin, std::string_view open,
          std::map<std::string, std::vector<Parameter>>& found, std::vector<std::string>& order) {
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    const size_t from = text.find(open, at), to = text.find(')', from);
    if (from == std::string::npos || to == std::string::npos) break;
    const std::string name = text.substr(at, from - at);
    if (!name.starts_with("cu") || name.find_first_of(" #\n") != std::string::npos) continue;  // of a macro
    if (found.emplace(name, parameters_of(std::string_view(text).substr(from + open.size(), to - from - open.size())))
            .second)
      order.push_back(name);
  }
}

// Adds the functions of COALESCE_FILL, whose rows have no parameters.
void add_fills(std::map<std::string, std::vector<Parameter>>& found, std::vector<std::string>& order) {
  const std::pair<const char*, const char*> forms[] = {
      {"_v2", "CUdeviceptr to, unsigned value, size_t count"},
      {"Async", "CUdeviceptr to, unsigned value, size_t count, cudaStream_t stream"}};
  const std::pair<const char*, const char*> planes[] = {
      {"_v2", "CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height"},
      {"Async", "CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, cudaStream_t stream"}};
  for (const char* bits : {"8", "16", "32"})
    for (unsigned k = 0; k < 2; ++k)
      for (const auto& [name, parameters] :
           {std::pair(std::string("cuMemsetD") + bits + forms[k].first, forms[k].second),
            std::pair(std::string("cuMemsetD2D") + bits + planes[k].first, planes[k].second)})
        if (found.emplace(name, parameters_of(parameters)).second) order.push_back(name);
}

std::vector<Signature> read_all() {
  std::map<std::string, std::vector<Parameter>> found;
  std::vector<std::string> order;
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(COALESCE_SOURCE_DIR "/cudart/driver"))
    if (file.path().extension() == ".cpp") files.push_back(file.path());
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream file(path);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    read(text, "COALESCE_API CUresult ", "(", found, order);
    read(text, "COALESCE_SAME(", ", (", found, order);
    read(text, "COALESCE_SAME(", ",\n              (", found, order);
  }
  add_fills(found, order);
  std::map<std::string, const void*, std::less<>> addresses;
  for (const Exported& e : exported()) addresses[e.name] = e.function;
  std::vector<Signature> all;
  std::set<const void*> known;
  for (const std::string& name : order) {
    const auto at = addresses.find(name);
    if (at == addresses.end()) throw std::runtime_error(name + " is not in driver.def");
    if (known.insert(at->second).second) all.push_back({name, at->second, std::move(found[name])});
  }
  return all;
}

}  // namespace

bool Signature::has_handle() const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const Parameter& p) { return is_handle(p.kind) || p.kind == Kind::nodes; });
}

const std::vector<Signature>& signatures() {
  static const std::vector<Signature> all = read_all();
  return all;
}

std::vector<Exported> exported() {
  std::vector<Exported> all;
  for (size_t k = 0; k < std::size(kNames); ++k) all.push_back({kNames[k], coalesce_driver_table[k]});
  return all;
}

// Words go to the registers of x86-64's System V ABI, then to the stack; what is larger than two words to the stack
// only.
__attribute__((no_sanitize("function"))) CUresult call_words(const void* function,
                                                             const std::vector<Argument>& arguments) {
  constexpr size_t kRegisters = 6, kStack = 16;
  std::array<uint64_t, kRegisters> r{};
  std::array<uint64_t, kStack> s{};
  size_t in_registers = 0, on_stack = 0;
  for (const Argument& a : arguments) {
    if (!a.by_value && in_registers < kRegisters) {
      r[in_registers++] = a.words[0];
      continue;
    }
    for (size_t k = 0; k < (a.by_value ? a.words.size() : 1); ++k) s.at(on_stack++) = a.words[k];
  }
  using Word = uint64_t;
  using Function = CUresult (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word,
                                Word, Word, Word, Word, Word, Word, Word, Word);
  return reinterpret_cast<Function>(const_cast<void*>(function))(r[0], r[1], r[2], r[3], r[4], r[5], s[0], s[1], s[2],
                                                                 s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11],
                                                                 s[12], s[13], s[14], s[15]);
}

}  // namespace coalesce::cudart
