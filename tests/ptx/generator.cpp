#include "generator.h"

#include <vector>

namespace coalesce::machine::test {

namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed) { state_ = next() ^ next() << 1; }

  GeneratedKernel make() {
    GeneratedKernel k;
    constexpr std::array<uint32_t, 3> shapes[] = {{32, 1, 1}, {64, 1, 1},  {96, 1, 1}, {33, 1, 1}, {50, 1, 1},
                                                  {1, 1, 1},  {127, 1, 1}, {16, 2, 1}, {8, 8, 1},  {32, 2, 1},
                                                  {64, 2, 1}, {10, 5, 1},  {7, 3, 2},  {4, 4, 4},  {32, 1, 2}};
    k.block = shapes[below(std::size(shapes))];
    k.grid = {1 + below(3), chance(4) ? 2u : 1u, 1};
    const uint32_t threads = k.block[0] * k.block[1] * k.block[2];
    exits_ = threads % 32 != 0 || chance(2);  // else: shuffles, whose lanes must all be there
    whole_ = threads % 32 == 0;
    flat_ = k.block[1] == 1 && k.block[2] == 1;
    function();
    prologue(threads, threads * k.grid[0] * k.grid[1]);
    const uint32_t parts = 3 + below(5);
    for (uint32_t i = 0; i < parts; ++i) statement(true, 0);
    epilogue();
    k.ptx = std::string(".version 8.0\n.target sm_90\n.address_size 64\n") +
            ".const .align 4 .u32 K[16] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 7, 6, 5, 4, 4294967295};\n" +
            function_ +
            ".visible .entry k(.param .u64 out, .param .u64 in, .param .u64 acc, .param .u32 n, .param .u32 m)\n{\n"
            ".reg .pred %p<16>;\n.reg .b32 %u<8>;\n.reg .b32 %v<12>;\n.reg .b32 %t<16>;\n.reg .b32 %c<" +
            std::to_string(counters_ + 1) +
            ">;\n.reg .b64 %w<6>;\n.reg .b64 %rd<24>;\n.reg .f32 %f<6>;\n.reg .b32 %me;\n.reg .b32 %all;\n"
            ".shared .align 16 .b32 A[128];\n.shared .align 16 .b32 B[512];\n.shared .align 4 .b32 S[32];\n.local "
            ".align 16 .b32 L[8];\n" +
            text_ + "}\n";
    return k;
  }

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

  // --- straight-line code
  void compute(const std::string& to, const std::string& a, const std::string& b, const std::string& c,
               const std::string& g) {
    static const char* const two[] = {"add.u32", "add.s32", "sub.s32", "sub.u32", "mul.lo.s32", "and.b32",
                                      "or.b32",  "xor.b32", "min.s32", "max.u32", "min.u32",    "max.s32"};
    switch (below(9)) {
      case 0:
        line(g + "mad.lo.s32 " + to + ", " + a + ", " + b + ", " + c);
        break;
      case 1:
        line(g + "shl.b32 " + to + ", " + a + ", " + std::to_string(below(33)));
        break;
      case 2:
        line(g + (chance(2) ? "shr.u32 " : "shr.s32 ") + to + ", " + a + ", " + std::to_string(below(33)));
        break;
      case 3:
        line(g + "mov.u32 " + to + ", " + a);
        break;
      case 4:
        line(g + "selp.b32 " + to + ", " + a + ", " + b + ", " + pick("%p", 16));
        break;
      default:
        line(g + one(two) + " " + to + ", " + a + ", " + b);
        break;
    }
  }
  void arithmetic(bool uniform_context) {
    const uint32_t steps = 1 + below(4);
    std::vector<std::string> fresh;
    const auto operand = [&] { return !fresh.empty() && chance(2) ? fresh[below(fresh.size())] : any(); };
    for (uint32_t i = 0; i < steps; ++i) {
      const std::string t = pick("%t", 16);
      compute(t, operand(), operand(), operand(), "");
      fresh.push_back(t);
    }
    compute(varying(), operand(), operand(), operand(), guard());
    if (uniform_context && chance(2)) {
      // No predicate here may vary: selp is left out.
      static const char* const ops[] = {"add.u32", "sub.s32", "mul.lo.s32", "xor.b32", "min.s32", "and.b32"};
      line(one(ops) + " " + uniform() + ", " + uniform() + ", " + (chance(2) ? number() : uniform()));
    }
  }
  void affine() {
    const std::string v = varying();
    line("mad.lo.s32 " + v + ", %me, " + number() + ", " + (chance(2) ? number() : uniform()));
    if (chance(2)) line("shl.b32 " + v + ", " + v + ", " + std::to_string(below(31)));
  }
  void widen() {
    const std::string w = wide();
    static const char* const cvt[] = {"cvt.u64.u32", "cvt.s64.s32"};
    static const char* const mul[] = {"mul.wide.u32", "mul.wide.s32"};
    static const char* const mad[] = {"mad.wide.u32", "mad.wide.s32"};
    static const char* const two[] = {"add.s64", "sub.s64", "mul.lo.s64", "xor.b64"};
    switch (below(6)) {
      case 0:
        line(guard() + one(cvt) + " " + w + ", " + (chance(2) ? "%me" : varying()));
        break;
      case 1:
        line(one(mul) + " " + w + ", " + (chance(2) ? "%me" : varying()) + ", " + number());
        break;
      case 2:
        line(one(mad) + " " + w + ", " + (chance(2) ? "%me" : varying()) + ", " + number() + ", " + wide());
        break;
      case 3:
        line("shl.b64 " + w + ", " + wide() + ", " + std::to_string(below(40)));
        break;
      case 4:
        line(one(two) + " " + w + ", " + wide() + ", " + (chance(2) ? number() : wide()));
        break;
      default:
        line(one(mul) + " " + w + ", " + uniform() + ", " + (chance(2) ? number() : varying()));
        break;
    }
    const std::string half = pick("%rd", 4, 20), t = pick("%t", 16), v = varying();
    if (chance(2)) {
      line("shr.u64 " + half + ", " + w + ", " + std::to_string(below(48)));
      line("cvt.u32.u64 " + t + ", " + half);
      line("xor.b32 " + v + ", " + v + ", " + t);
    }
  }
  std::string pick(const char* prefix, uint32_t n, uint32_t from) { return prefix + std::to_string(from + below(n)); }
  void floats() {
    static const char* const two[] = {"add.f32", "mul.f32", "sub.f32"};
    switch (below(4)) {
      case 0:
        line("cvt.rn.f32.s32 " + real() + ", " + any_register());
        break;
      case 1:
        line("fma.rn.f32 " + real() + ", " + real() + ", " + real() + ", " + real());
        break;
      case 2:
        line("setp.lt.f32 " + pick("%p", 16) + ", " + real() + ", " + real());
        break;
      default:
        line(guard() + one(two) + " " + real() + ", " + real() + ", " + real());
        break;
    }
    if (chance(3)) {
      const std::string v = varying();
      line("mov.b32 %t0, " + real());
      line("xor.b32 " + v + ", " + v + ", %t0");
    }
  }
  std::string any_register() { return chance(3) ? uniform() : chance(3) ? "%me" : varying(); }

  // --- memory. The address of an element chosen by a value.
  std::string element(const char* base, const std::string& index, uint32_t mask, uint32_t scale) {
    const std::string t = pick("%t", 16), a = pick("%rd", 4, 20);
    line("and.b32 " + t + ", " + index + ", " + std::to_string(mask));
    if (chance(2)) {
      line("mad.wide.u32 " + a + ", " + t + ", " + std::to_string(scale) + ", " + base);
    } else {
      line("mul.wide.u32 " + a + ", " + t + ", " + std::to_string(scale));
      line("add.s64 " + a + ", " + a + ", " + base);
    }
    return a;
  }
  void load_input(bool uniform_context) {
    const std::string g = guard();
    switch (below(8)) {
      case 6:
        line(g + "ld.const.u32 " + (g.empty() && uniform_context ? uniform() : varying()) + ", [K+" +
             std::to_string(4 * below(16)) + "]");
        break;
      case 7: {
        // The same index for all, or one for each lane.
        const bool same = uniform_context && chance(2);
        line("and.b32 %t5, " + (same ? uniform() : any_register()) + ", 15");
        line("mul.wide.u32 %rd20, %t5, 4");
        line("mov.u64 %rd23, K");
        line("add.s64 %rd20, %rd20, %rd23");
        line("ld.const.u32 " + (same ? uniform() : varying()) + ", [%rd20]");
        break;
      }
      case 0:
        line(g + "ld.global.u32 " + varying() + ", [" + element("%rd1", any_register(), 4095, 4) + "]");
        break;
      case 1: {
        const std::string a = element("%rd1", any_register(), 1023, 16);
        line(g + "ld.global.v4.u32 {%t1, %t2, %t3, %t4}, [" + a + "]");
        if (g.empty()) line("xor.b32 " + varying() + ", %t1, %t3"), line("add.u32 " + varying() + ", %t2, %t4");
        break;
      }
      case 2:
        line(g + "ld.global.v2.u32 {" + "%v0, %v1" + "}, [" + element("%rd1", any_register(), 2047, 8) + "]");
        break;
      case 3: {  // affine: tid * k + constant, always within 4096 words
        static const char* const steps[] = {"1", "2", "3", "4", "8"};
        line("mad.lo.u32 %t5, %me, " + one(steps) + ", " + std::to_string(below(1000)));
        line("mul.wide.u32 %rd20, %t5, 4");
        line("add.s64 %rd20, %rd20, %rd1");
        line(g + "ld.global.u32 " + varying() + ", [%rd20" + (chance(2) ? "+" + std::to_string(4 * below(100)) : "") +
             "]");
        break;
      }
      case 4:
        line(g + (chance(2) ? "ld.global.s8 " : "ld.global.u8 ") + varying() + ", [" +
             element("%rd1", any_register(), 16383, 1) + "]");
        break;
      default:
        line(g + "ld.global.u64 " + wide() + ", [" + element("%rd1", any_register(), 2047, 8) + "]");
        break;
    }
  }
  void own_output() {
    const std::string at = "[%rd3+" + std::to_string(planes_ * below(8)) + "]",
                      row = "[%rd4+" + std::to_string(16 * below(2)) + "]";
    switch (below(6)) {
      case 0:
        line(guard() + "ld.global.u32 " + varying() + ", " + at);
        break;
      case 1:
        line(guard() + "st.global.v4.b32 " + row + ", {" + varying() + ", " + any_register() + ", " + varying() + ", " +
             uniform() + "}");
        break;
      case 2:
        line(guard() + "st.global.v2.b32 " + row + ", {" + varying() + ", " + varying() + "}");
        break;
      case 3:
        line(guard() + "st.global.u64 " + row + ", " + wide());
        break;
      default:
        line(guard() + "st.global.u32 " + at + ", " + any_register());
        break;
    }
  }
  void reduce_global() {
    static const char* const ops[] = {"add.u32", "max.u32", "xor.b32", "or.b32"};
    // One operation for each word, so that the order does not matter.
    const uint32_t which = below(4);
    const std::string t = pick("%t", 16);
    line("and.b32 " + t + ", " + any_register() + ", 15");
    line("mad.lo.u32 " + t + ", " + t + ", 4, " + std::to_string(which));
    line("mad.wide.u32 %rd21, " + t + ", 4, %rd2");
    line(guard() + "red.global." + ops[which] + " [%rd21], " + any_register());
  }
  void shared_own() {
    switch (below(5)) {
      case 0:
        return shared_read();
      default: {
        // B: 16 bytes a thread.
        line("mad.lo.u32 %t14, %me, 16, %c0");
        const std::string o = chance(2) ? "" : "+8";
        switch (below(6)) {
          case 0:
            line(guard() + "st.shared.u32 [%t14" + o + "], " + any_register());
            break;
          case 1:
            line(guard() + "ld.shared.u32 " + varying() + ", [%t14" + o + "]");
            break;
          case 2:
            line(guard() + "st.shared.v2.b32 [%t14" + o + "], {" + varying() + ", " + uniform() + "}");
            break;
          case 3:
            line(guard() + "ld.shared.u64 " + wide() + ", [%t14" + o + "]");
            break;
          case 4:
            line("st.shared.v4.b32 [%t14], {" + varying() + ", " + uniform() + ", %me, " + varying() + "}");
            break;
          default:
            line("ld.shared.v4.b32 {%t6, %t7, %t8, %t9}, [%t14]");
            line("xor.b32 " + varying() + ", %t6, %t9");
            break;
        }
      }
    }
  }
  void shared_read() {
    line("and.b32 %t10, " + any_register() + ", 127");
    line("shl.b32 %t10, %t10, 2");
    line("mov.u32 %t11, A");
    line("add.u32 %t10, %t10, %t11");
    line(guard() + "ld.shared.u32 " + varying() + ", [%t10]");
  }
  void shared_reduce() {
    line("and.b32 %t12, " + any_register() + ", 31");
    line("shl.b32 %t12, %t12, 2");
    line("mov.u32 %t13, S");
    line("add.u32 %t12, %t12, %t13");
    // The result, where there is one, goes to a register that nobody reads.
    line(guard() + (chance(2) ? "red.shared.add.u32 " : "atom.shared.add.u32 %c1, ") + "[%t12], " + any_register());
  }
  void local() {
    line("and.b32 %t10, " + any_register() + ", 7");
    line("shl.b32 %t10, %t10, 2");
    line("mov.u32 %t11, L");
    line("add.u32 %t10, %t10, %t11");
    line("cvt.u64.u32 %rd22, %t10");
    if (chance(2))
      line(guard() + "st.local.u32 [%rd22], " + any_register());
    else
      line(guard() + "ld.local.u32 " + varying() + ", [%rd22]");
  }
  void publish() {  // uniform places only
    line("bar.sync 0");
    line("and.b32 %t10, %me, 127");
    line("shl.b32 %t10, %t10, 2");
    line("mov.u32 %t11, A");
    line("add.u32 %t10, %t10, %t11");
    line("st.shared.u32 [%t10], " + any_register());
    if (chance(2)) {
      line("and.b32 %t12, " + any_register() + ", 31");
      line("shl.b32 %t12, %t12, 2");
      line("mov.u32 %t13, S");
      line("add.u32 %t12, %t12, %t13");
      line("ld.shared.u32 " + varying() + ", [%t12]");
    }
    line("bar.sync 0");
  }
  void lanes(bool uniform_context) {
    if (uniform_context && !exits_ && chance(2)) {
      static const char* const modes[] = {"up", "down", "bfly", "idx"};
      static const char* const bounds[] = {"31", "0", "7199", "6175", "4127"};
      const std::string mode = one(modes), bound = mode == "up" ? "0" : one(bounds);
      const std::string by = chance(2) ? std::to_string(below(32)) : any_register();
      line("shfl.sync." + mode + ".b32 " + varying() + (chance(2) ? "|" + pick("%p", 16) : "") + ", " + any_register() +
           ", " + by + ", " + bound + ", -1");
      return;
    }
    line("activemask.b32 %t0");
    switch (below(4)) {
      case 0:
        line("vote.sync.ballot.b32 " + varying() + ", " + pick("%p", 16) + ", %t0");
        break;
      case 1: {
        static const char* const modes[] = {"all", "any", "uni"};
        line("vote.sync." + one(modes) + ".pred " + pick("%p", 16) + ", " + pick("%p", 16) + ", %t0");
        break;
      }
      case 2:
        line("redux.sync.add.s32 " + varying() + ", " + any_register() + ", %t0");
        break;
      default:
        line("xor.b32 " + varying() + ", %t0, " + varying());
        break;
    }
  }
  void call() {
    text_ += "  {\n";
    line(".param .b32 a0");
    line(".param .b32 a1");
    line(".param .b32 q");
    line("st.param.b32 [a0+0], " + any_register());
    line("st.param.b32 [a1+0], " + any_register());
    line("call.uni (q), helper, (a0, a1)");
    line("ld.param.b32 " + varying() + ", [q+0]");
    text_ += "  }\n";
  }

  // --- control
  struct Loop {
    std::string next, end;
    bool is_uniform;
  };
  void body(bool uniform_context, uint32_t depth) {
    for (uint32_t i = 0, n = 1 + below(3); i < n; ++i) statement(uniform_context, depth + 1);
  }
  void choice(bool uniform_context, uint32_t depth) {
    const bool is_uniform = uniform_context && chance(2);
    const std::string p = condition(is_uniform), other = label(), end = label();
    line((chance(2) ? "@" : "@!") + p + " bra " + other);
    if (exits_ && depth == 0 && chance(6)) {  // this side never comes back
      own_output();
      line("ret");
      return put(other);
    }
    body(uniform_context && is_uniform, depth);
    if (chance(2)) {
      line("bra.uni " + end);
      put(other);
      body(uniform_context && is_uniform, depth);
      put(end);
    } else {
      put(other);
    }
  }
  void loop(bool uniform_context, uint32_t depth) {
    const bool is_uniform = uniform_context && chance(2), tested_first = chance(2);
    const std::string i = "%c" + std::to_string(counters_++), limit = "%c" + std::to_string(counters_++);
    const Loop l{label(), label(), is_uniform};
    const std::string head = label();
    line("and.b32 " + limit + ", " + (is_uniform ? uniform() : any_register()) + ", " + (depth ? "3" : "7"));
    line("mov.u32 " + i + ", 0");
    put(head);
    if (tested_first) line("@" + predicate_of_u(i, limit) + " bra " + l.end);
    loops_.push_back(l);
    body(uniform_context && is_uniform, depth);
    if (chance(3)) line("xor.b32 " + varying() + ", " + varying() + ", " + i);
    put(l.next);
    if (chance(3) && is_uniform) line("add.u32 " + uniform() + ", " + uniform() + ", " + i);
    if (chance(3)) line("add.u32 " + varying() + ", " + varying() + ", " + i);
    line("add.s32 " + i + ", " + i + ", 1");
    if (tested_first) {
      line("bra.uni " + head);
    } else {
      const std::string p = pick("%p", 16);
      line("setp.lt.u32 " + p + ", " + i + ", " + limit);
      line("@" + p + " bra " + head);
    }
    loops_.pop_back();
    put(l.end);
  }
  std::string predicate_of_u(const std::string& a, const std::string& b) {
    const std::string p = pick("%p", 16);
    line("setp.ge.u32 " + p + ", " + a + ", " + b);
    return p;
  }
  void leave_loop(bool uniform_context) {
    const Loop& l = loops_.back();
    // In a loop that all threads run together, leaving must be for all, or barriers would be divided.
    const std::string p = condition(l.is_uniform);
    if (l.is_uniform && !uniform_context) return;
    line("@" + p + " bra " + (chance(2) ? l.next : l.end));
  }
  void table(bool uniform_context, uint32_t depth) {
    const bool is_uniform = uniform_context && chance(2);
    const std::string t = pick("%t", 16), name = "table" + std::to_string(labels_++), end = label();
    line("and.b32 " + t + ", " + (is_uniform ? uniform() : any_register()) + ", 3");
    const std::string a = label(), b = label(), c = chance(2) ? end : label();
    text_ += name + ": .branchtargets " + a + ", " + b + ", " + c + ", " + a + ";\n";
    line("brx.idx " + t + ", " + name);
    put(a);
    body(uniform_context && is_uniform, depth);
    line("bra.uni " + end);
    put(b);
    body(uniform_context && is_uniform, depth);
    if (c != end) {
      if (chance(2)) line("bra.uni " + end);
      put(c);
      body(uniform_context && is_uniform, depth);
    }
    put(end);
  }

  void statement(bool uniform_context, uint32_t depth) {
    switch (below(depth < 3 ? 28 : 19)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return arithmetic(uniform_context);
      case 4:
        return affine();
      case 5:
      case 6:
        return widen();
      case 7:
        return floats();
      case 8:
      case 9:
        return load_input(uniform_context);
      case 10:
      case 11:
        return own_output();
      case 12:
        return reduce_global();
      case 13:
        return shared_own();
      case 14:
        return chance(2) ? shared_read() : shared_reduce();
      case 15:
        return local();
      case 16:
        return lanes(uniform_context);
      case 17:
        return call();
      case 18:
        if (uniform_context && chance(2)) return publish();
        if (!loops_.empty()) return leave_loop(uniform_context);
        if (exits_ && chance(2)) return line("@" + condition(false) + (chance(2) ? " ret" : " exit"));
        return arithmetic(uniform_context);
      case 19:
      case 20:
      case 21:
      case 22:
        return choice(uniform_context, depth);
      case 23:
      case 24:
      case 25:
      case 26:
        return loop(uniform_context, depth);
      default:
        return table(uniform_context, depth);
    }
  }

  void prologue(uint32_t threads, uint32_t total) {
    planes_ = 4 * total;
    line("ld.param.u64 %rd0, [out]");
    line("ld.param.u64 %rd1, [in]");
    line("ld.param.u64 %rd2, [acc]");
    line("ld.param.u32 %u0, [n]");
    line("ld.param.u32 %u1, [m]");
    line("mov.u32 %u2, %ctaid.x");
    line("mov.u32 %u3, %ntid.x");
    line("mov.u32 %u4, %nctaid.x");
    line("mov.u32 %u5, 5");
    line("add.u32 %u6, %u0, %u1");
    line("mov.u32 %u7, %ctaid.y");
    line("mov.u32 %me, %tid.x");
    if (!flat_) {
      line("mov.u32 %t0, %tid.y");
      line("mov.u32 %t1, %tid.z");
      line("mov.u32 %t2, %ntid.y");
      line("mad.lo.u32 %t0, %t1, %t2, %t0");
      line("mad.lo.u32 %me, %t0, %u3, %me");
    }
    line("mad.lo.u32 %t3, %u7, %u4, %u2");
    line("mad.lo.u32 %all, %t3, " + std::to_string(threads) + ", %me");
    line("mul.wide.u32 %rd3, %all, 4");
    line("add.s64 %rd3, %rd3, %rd0");
    line("mul.wide.u32 %rd4, %all, 32");
    line("add.s64 %rd4, %rd4, %rd0");
    line("add.s64 %rd4, %rd4, " + std::to_string(32 * total));
    for (int i = 0; i < 8; i += 4)
      line("st.local.v4.u32 [L+" + std::to_string(4 * i) + "], {1, 2, 3, " + std::to_string(i) + "}");
    line("mov.u32 %c0, B");
    counters_ = 2;
    static const char* const specials[] = {"%tid.x", "%tid.y", "%tid.z", "%laneid", "%warpid", "%ntid.y", "%ctaid.x"};
    for (int i = 0; i < 12; ++i)
      line("mov.u32 %v" + std::to_string(i) + ", " +
           (chance(2)   ? one(specials)
            : chance(2) ? number()
            : chance(2) ? "%all"
                        : uniform()));
    for (int i = 0; i < 16; ++i) line("mov.u32 %t" + std::to_string(i) + ", " + std::to_string(i));
    for (int i = 0; i < 6; ++i)
      line("cvt.u64.u32 %w" + std::to_string(i) + ", " + (chance(2) ? varying_first(i) : "%me"));
    for (int i = 0; i < 6; ++i) line("cvt.rn.f32.s32 %f" + std::to_string(i) + ", " + varying_first(i));
    for (int i = 0; i < 16; ++i)
      line("setp.lt.u32 %p" + std::to_string(i) + ", " +
           (chance(3)   ? uniform()
            : chance(2) ? "%me"
                        : varying()) +
           ", " + std::to_string(below(64)));
  }
  static std::string varying_first(int i) { return "%v" + std::to_string(i); }
  void epilogue() {
    line("xor.b32 %v0, %v0, %v1");
    line("xor.b32 %v0, %v0, %v2");
    for (int k = 0; k < 8; ++k)
      line("st.global.u32 [%rd3+" + std::to_string(planes_ * static_cast<uint32_t>(k)) + "], %v" +
           std::to_string(k == 0 ? 0 : k + 3));
    line("st.global.v2.u32 [%rd4], {%v3, %v11}");
    line("st.global.u64 [%rd4+8], %w0");
    line("st.global.u64 [%rd4+16], %w1");
    line("st.global.v2.f32 [%rd4+24], {%f0, %f1}");
    line("ret");
  }

  void function() {
    const std::string saved = std::move(text_);
    text_.clear();
    line("ld.param.u32 %r1, [a]");
    line("ld.param.u32 %r2, [b]");
    line("xor.b32 %r3, %r1, %r2");
    line("st.param.b32 [r+0], %r3");
    line("and.b32 %r4, %r1, " + std::to_string(1 + below(15)));
    line("setp.lt.u32 %q1, %r4, " + std::to_string(below(8)));
    if (chance(2))
      line("@%q1 ret");
    else {
      line("@%q1 bra $F1");
      line("add.u32 %r3, %r3, 7");
      put("$F1");
    }
    if (chance(2)) {
      line("and.b32 %r5, %r2, 3");
      put("$F2");
      line("mad.lo.u32 %r3, %r3, 5, %r5");
      line("add.s32 %r5, %r5, -1");
      line("setp.gt.s32 %q2, %r5, 0");
      line("@%q2 bra $F2");
    }
    line("st.param.b32 [r+0], %r3");
    line("ret");
    function_ = ".func (.param .b32 r) helper(.param .b32 a, .param .b32 b)\n{\n.reg .pred %q<4>;\n.reg .b32 %r<8>;\n" +
                text_ + "}\n";
    text_ = saved;
  }

  uint64_t state_;
  std::string text_, function_;
  uint32_t labels_ = 0, counters_ = 0, planes_ = 0;
  bool exits_ = false, whole_ = false, flat_ = false;
  std::vector<Loop> loops_;
};

}  // namespace

GeneratedKernel generate_kernel(uint64_t seed) { return Generator(seed).make(); }

}  // namespace coalesce::machine::test
