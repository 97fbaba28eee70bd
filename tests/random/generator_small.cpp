// Small kernels: what their statements name is folded into one word a thread, and what nothing reads is not there.
#include <cctype>
#include <vector>

#include "tests/random/generator_class.h"

namespace coalesce::machine::test {

namespace {

// True if `text` names this register, and not one whose name only begins with it.
bool names(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if (end == text.size() || !std::isalnum(static_cast<unsigned char>(text[end]))) return true;
  }
  return false;
}

}  // namespace

void Generator::digest(std::size_t body) {
  const std::string statements = text_.substr(body);
  const auto each = [&](const char* prefix, int count, auto fold) {
    for (int i = 0; i < count; ++i)
      if (const std::string name = prefix + std::to_string(i); names(statements, name)) fold(name);
  };
  line("mov.u32 %u7, 1");
  const auto word = [&](const std::string& name) { line("mad.lo.u32 %u7, %u7, 31, " + name); };
  const auto two_words = [&](const std::string& name) {
    line("mov.b64 {%t0, %t1}, " + name);
    word("%t0");
    word("%t1");
  };
  each("%v", 12, word);
  each("%w", 6, two_words);
  each("%f", 6, [&](const std::string& name) {
    line("mov.b32 %t0, " + name);
    word("%t0");
  });
  each("%h", 6, [&](const std::string& name) {
    line("cvt.u32.u16 %t0, " + name);
    word("%t0");
  });
  each("%q", 3, [&](const std::string& name) {
    line("mov.b128 {%rd20, %rd21}, " + name);
    two_words("%rd20");
    two_words("%rd21");
  });
  each("%p", 16, [&](const std::string& name) {
    line("selp.b32 %t0, 2, 3, " + name);
    word("%t0");
  });
  line("st.global.u32 [%rd3], %u7");
  line("ret");
}

// Lines before `body` are straight and begin with what they define: without those whose result no later line names.
void Generator::drop_unused(std::size_t body) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < body;) {
    const std::size_t end = text_.find('\n', at) + 1;
    lines.push_back(text_.substr(at, end - at));
    at = end;
  }
  std::string kept = text_.substr(body);
  for (auto l = lines.rbegin(); l != lines.rend(); ++l) {
    const std::size_t from = l->find('%'), to = from == std::string::npos ? from : l->find(',', from);
    // The first stores fill the local array.
    const bool stores = l->find("st.local") != std::string::npos;
    if (stores ? kept.find(".local") != std::string::npos : names(kept, l->substr(from, to - from))) kept = *l + kept;
  }
  text_ = kept;
}

}  // namespace coalesce::machine::test
