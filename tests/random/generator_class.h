// The generator's own header: what its files share. Texts are put together line by line; `next()` decides everything.
#pragma once

#include <string>
#include <vector>

#include "tests/random/generator.h"

namespace coalesce::machine::test {

class Generator {
 public:
  Generator(uint64_t seed, Breadth breadth, Sums sums)
      : state_(seed),
        turn_(seed),
        sums_(sums),
        wide_(breadth != Breadth::reference),
        small_(breadth == Breadth::small) {
    state_ = next() ^ next() << 1;
  }

  GeneratedKernel make();

 private:
  // --- chance
  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint32_t below(std::size_t n) { return static_cast<uint32_t>((next() >> 20) % n); }
  bool chance(uint32_t of) { return below(of) == 0; }
  template <std::size_t N>
  std::string one(const char* const (&list)[N]) {
    return list[below(N)];
  }

  // The same for what every combination of has to come up in small kernels: taken from the seed, one after the other.
  uint32_t turn(std::size_t n) {
    if (!small_) return below(n);
    const auto which = static_cast<uint32_t>(turn_ % n);
    turn_ /= n;
    return which;
  }

  // --- text
  void line(const std::string& s) { text_ += "  " + s + ";\n"; }
  std::string label() { return "$L" + std::to_string(labels_++); }
  void put(const std::string& l) { text_ += l + ":\n"; }
  std::string pick(const char* prefix, uint32_t n) { return prefix + std::to_string(below(n)); }
  std::string uniform() { return pick("%u", 8); }
  std::string varying() { return pick("%v", 12); }
  std::string wide() { return pick("%w", 6); }
  std::string real() { return pick("%f", 6); }
  std::string number() {
    static const char* const list[] = {
        "0",   "1",   "2",  "3",  "4",   "5",         "7",          "8",          "16",          "31",    "32", "33",
        "100", "255", "-1", "-4", "-32", "268435456", "1073741824", "2147483647", "-2147483648", "12345", "-7"};
    return one(list);
  }
  std::string any() {
    switch (below(8)) {
      case 0:
        return number();
      case 1:
        return uniform();
      case 2:
        return "%me";
      case 3:
        return "%all";
      default:
        return varying();
    }
  }
  std::string predicate_of(const std::string& a, const std::string& b) {
    static const char* const compares[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char* const types[] = {"u32", "s32"};
    const std::string p = pick("%p", 16);
    line("setp." + one(compares) + "." + one(types) + " " + p + ", " + a + ", " + b);
    return p;
  }
  // A condition that splits lanes usefully often.
  std::string condition(bool is_uniform) {
    const std::string t = pick("%t", 16);
    if (is_uniform) {
      if (chance(3)) return predicate_of(uniform(), uniform());
      line("and.b32 " + t + ", " + uniform() + ", " + std::to_string(1 + below(7)));
      return predicate_of(t, std::to_string(below(4)));
    }
    switch (below(4)) {
      case 0:
        return predicate_of(any(), any());
      case 1:
        line("and.b32 " + t + ", %me, " + std::to_string(1 + below(31)));
        return predicate_of(t, std::to_string(below(16)));
      case 2:
        line("and.b32 " + t + ", " + varying() + ", " + std::to_string(1 + below(7)));
        return predicate_of(t, std::to_string(below(4)));
      default:
        return predicate_of("%me", std::to_string(below(100)));
    }
  }
  std::string guard() { return chance(4) ? (chance(2) ? "@" : "@!") + pick("%p", 16) + " " : ""; }
  std::string pick(const char* prefix, uint32_t n, uint32_t from) { return prefix + std::to_string(from + below(n)); }
  std::string any_register() { return chance(3) ? uniform() : chance(3) ? "%me" : varying(); }
  std::string register_of(Element e, bool destination);

  // --- straight-line code (generator_compute.cpp)
  void compute(const std::string& to, const std::string& a, const std::string& b, const std::string& c,
               const std::string& g);
  void arithmetic(bool uniform_context);
  void affine();
  void widen();
  void floats();
  void operation();
  void lanes(bool uniform_context);
  void wide_lanes(bool uniform_context);
  void call();

  // --- memory (generator_memory.cpp, generator_widths.cpp, generator_tiles.cpp)
  std::string element(const char* base, const std::string& index, uint32_t mask, uint32_t scale);
  void load_input(bool uniform_context);
  void own_output();
  void reduce_global();
  void locked_sum();
  void shared_own();
  void shared_read();
  void shared_reduce();
  void local();
  void any_width();
  void indexed();
  void any_atomic();
  void trouble();
  void side_by_side();
  void rows();
  void columns();

  // --- what rules decide (generator_decisions.cpp)
  std::string own_word();
  std::string own_wide();
  std::string own_predicate();
  void rules();
  void skipped_region();
  void shared_sums();
  void decisions();

  // --- control (generator_control.cpp)
  struct Loop {
    std::string next, end;
    bool is_uniform;
  };
  void publish();
  void body(bool uniform_context, uint32_t depth);
  void choice(bool uniform_context, uint32_t depth);
  void loop(bool uniform_context, uint32_t depth);
  std::string predicate_of_u(const std::string& a, const std::string& b);
  void leave_loop(bool uniform_context);
  void table(bool uniform_context, uint32_t depth);
  void statement(bool uniform_context, uint32_t depth);
  void wide_statement(bool uniform_context);

  void prologue(uint32_t threads, uint32_t total);
  void epilogue();
  // For small kernels (generator_small.cpp): the statements begin at `body`.
  void digest(std::size_t body);
  void drop_unused(std::size_t body);
  void function();

  uint64_t state_, turn_;
  Sums sums_;
  std::string text_, function_;
  uint32_t labels_ = 0, own_words_ = 0, own_wides_ = 0, own_predicates_ = 0, counters_ = 0, planes_ = 0,
           locked_sums_ = 0;
  bool exits_ = false, whole_ = false, flat_ = false, rows_ = false, columns_ = false, rows_read_ = false;
  bool wide_, small_, faulty_ = false;
  std::vector<Loop> loops_;
};

}  // namespace coalesce::machine::test
