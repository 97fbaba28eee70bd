#include "tests/random_cuda/reduce.h"

#include <algorithm>
#include <cctype>
#include <tuple>

namespace coalesce::random_cuda {
namespace {

constexpr size_t kAtOnce = 16;

bool names(const std::string& text, const std::string& name) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += name.size()) {
    const bool starts = at == 0 || !letter(text[at - 1]);
    const bool ends = at + name.size() == text.size() || !letter(text[at + name.size()]);
    // A struct's field of that name is another thing.
    if (starts && ends && (at == 0 || text[at - 1] != '.')) return true;
  }
  return false;
}

struct Cut {
  uint32_t id;
  int part;
  size_t size;           // characters that go
  std::string declares;  // what may be named nowhere then
  bool statement;
};

std::vector<Cut> possible(const Tree& tree, const Cuts& cuts, bool statements) {
  std::vector<Cut> result;
  for (const Node* node : pieces(tree, cuts)) {
    const bool is_statement = node->droppable && node->least.empty();
    if (is_statement != statements) continue;
    const auto whole = std::make_shared<Node>(*node);
    const size_t size = print(whole, cuts).size();
    if (node->droppable && size > node->least.size())
      result.push_back({node->id, kDropped, size - node->least.size(), node->declares, is_statement});
    for (size_t p = 0; p < node->parts.size(); ++p) {
      if (!(node->stand_ins >> p & 1)) continue;
      const size_t rest = print(node->parts[p], cuts).size();
      if (rest < size) result.push_back({node->id, static_cast<int>(p), size - rest, "", is_statement});
    }
  }
  // The largest first: what is inside them needs no trial of its own then.
  std::sort(result.begin(), result.end(), [](const Cut& a, const Cut& b) {
    return std::tuple(b.size, a.id, a.part) < std::tuple(a.size, b.id, b.part);
  });
  return result;
}

}  // namespace

Cuts reduced(const Program& program, const StillFails& still_fails) {
  Cuts best;
  bool smaller = true;
  const auto allowed = [&](const Cuts& cuts, const Cut& cut) {
    return cut.declares.empty() || cut.part != kDropped || !names(print(program.tree, cuts), cut.declares);
  };
  while (smaller) {
    smaller = false;
    for (const bool statements : {true, false}) {
      const std::vector<Cut> list = possible(program.tree, best, statements);
      for (size_t at = 0; at < list.size();) {
        std::vector<Cuts> variants;
        std::vector<const Cut*> tried;
        for (; at < list.size() && variants.size() < kAtOnce; ++at) {
          Cuts cuts = best;
          if (!cuts.emplace(list[at].id, list[at].part).second || !allowed(cuts, list[at])) continue;
          if (print(program.tree, cuts) == print(program.tree, best)) continue;  // it is inside what has gone
          variants.push_back(std::move(cuts)), tried.push_back(&list[at]);
        }
        if (variants.empty()) continue;
        const std::vector<bool> fails = still_fails(variants);
        // Those that could go one by one, all together; or else the first of them.
        Cuts together = best;
        size_t first = variants.size();
        for (size_t i = 0; i < variants.size(); ++i) {
          if (!fails[i]) continue;
          first = std::min(first, i);
          together.emplace(tried[i]->id, tried[i]->part);
        }
        if (first == variants.size()) continue;
        smaller = true;
        best = together == variants[first] || still_fails({together})[0] ? together : variants[first];
      }
    }
  }
  return best;
}

}  // namespace coalesce::random_cuda
