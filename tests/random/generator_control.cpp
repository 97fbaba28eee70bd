// Control: choices, loops, tables, barriers; and which statement comes next.
#include "tests/random/generator_class.h"

namespace coalesce::machine::test {

// Uniform places only.
void Generator::publish() {
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
void Generator::body(bool uniform_context, uint32_t depth) {
  for (uint32_t i = 0, n = 1 + below(3); i < n; ++i) statement(uniform_context, depth + 1);
}

void Generator::choice(bool uniform_context, uint32_t depth) {
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

void Generator::loop(bool uniform_context, uint32_t depth) {
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

std::string Generator::predicate_of_u(const std::string& a, const std::string& b) {
  const std::string p = pick("%p", 16);
  line("setp.ge.u32 " + p + ", " + a + ", " + b);
  return p;
}

void Generator::leave_loop(bool uniform_context) {
  const Loop& l = loops_.back();
  // In a loop that all threads run together, leaving must be for all, or barriers would be divided.
  const std::string p = condition(l.is_uniform);
  if (l.is_uniform && !uniform_context) return;
  line("@" + p + " bra " + (chance(2) ? l.next : l.end));
}

void Generator::table(bool uniform_context, uint32_t depth) {
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

void Generator::wide_statement(bool uniform_context) {
  if (faulty_ && chance(3)) return trouble();
  switch (below(15)) {
    case 13:
    case 14:
      return indexed();
    case 0:
    case 1:
      return any_width();
    case 2:
      return any_atomic();
    case 3:
      return wide_lanes(uniform_context);
    case 4:
      return side_by_side();
    case 5:
      return uniform_context && rows_ && !columns_ ? columns() : side_by_side();
    case 6:
    case 7:
    case 8:
      return uniform_context ? rows() : side_by_side();
    default:
      for (uint32_t k = 1 + below(4); k > 0; --k) operation();
  }
}

void Generator::statement(bool uniform_context, uint32_t depth) {
  if (wide_ && chance(3)) return wide_statement(uniform_context);
  if (sums_ != Sums::none && locked_sums_ < 2 && loops_.size() < 2 && chance(6)) return locked_sum();
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
      if (sums_ != Sums::none) return arithmetic(uniform_context);
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

}  // namespace coalesce::machine::test
