#include "tests/native/cells.h"

#include <algorithm>
#include <cstring>

namespace coalesce::machine::test::cells {
namespace {

constexpr uint32_t kLanes = 32, kAlone = 5;  // the lane that accesses one address alone

std::string number(uint64_t n) { return std::to_string(n); }
uint32_t pattern(uint32_t word) { return word * 2654435761u + 12345; }

// Element `e` of lane t's value.
uint32_t value_of(Values v, uint32_t t, uint32_t e, uint32_t n) {
  switch (v) {
    case Values::constant:
      return 77 + e;
    case Values::uniform:
      return 3 * n + e;
    case Values::affine:
      return 7 * t + 1 + e;
    case Values::general:
      return t * t + 1 + e;
  }
  return 0;
}

// The registers of a value: each access has its own, so that nothing is known of several at once.
std::string registers(Width w) {
  std::string list;
  for (uint32_t e = 0; e < w.count; ++e) list += (e ? ", %v" : "%v") + number(e);
  return w.count > 1 ? "{" + list + "}" : list;
}
std::string suffix(Width w) { return (w.count > 1 ? ".v" + number(w.count) : "") + ".b" + number(8 * w.bytes); }

// Fills or copies the area, 16 bytes a round: %r40 its place, of `step` rounds apart.
std::string loop(const std::string& name, const std::string& first, const std::string& step, uint32_t end,
                 const std::string& body) {
  return "mov.u32 %r40, " + first + ";\n" + name + ":\nsetp.ge.u32 %p7, %r40, " + number(end) + ";\n@%p7 bra " + name +
         "_END;\n" + body + "add.u32 %r40, %r40, " + step + ";\nbra " + name + ";\n" + name + "_END:\n";
}

}  // namespace

Kernel::Kernel(const Place& place, Kind kind, Width width, Guard guard)
    : place_(place), kind_(kind), width_(width), guard_(guard), each_(64 * width.all() + 64) {
  const std::string where = place.where;
  if (kind != Kind::load && (where == "const" || where == "param")) return;
  if (kind == Kind::atomic && (where == "local" || width.count > 1 || width.bytes < 4 || width.bytes > 8)) return;
  for (const Form form : kForms) {
    const bool one = form == Form::fixed || form == Form::uniform;
    if (form == Form::fixed && (where == "buffer" || !*place.space)) continue;  // no name stands for the address
    if (form == Form::wraps && where != "shared" && where != "local") continue;
    if (form == Form::wraps && !*place.space) continue;
    if (kind == Kind::load) {
      cells_.push_back({form, Values::constant});
      continue;
    }
    for (const Values v : kValues)
      // Which of several lanes' values stays at one address is another test's (stores_test.cpp).
      if (!one || where == "local" || kind == Kind::atomic || guard == Guard::lanes || v <= Values::uniform)
        cells_.push_back({form, v});
  }
  if (!cells_.empty()) ptx_ = text();
}

uint64_t Kernel::place_of(std::size_t cell, uint32_t t, uint32_t n) const {
  const uint32_t bytes = width_.all();
  const auto in = [&]() -> uint64_t {
    switch (cells_[cell].form) {
      case Form::fixed:
        return 16;
      case Form::uniform:
        return n;
      case Form::contiguous:
        return t * bytes;
      case Form::strided:
        return 2 * t * bytes;
      case Form::downwards:
        return (kLanes - 1 - t) * bytes;
      case Form::wraps:
        return t * bytes + n;
      case Form::general:
        return ((5 * t + 3) % kLanes) * bytes;
    }
    return 0;
  };
  return cell * each_ + in();
}

bool Kernel::goes(const Cell& c, uint32_t t, uint32_t n) const {
  if (guard_ == Guard::none) return true;
  if (guard_ == Guard::block) return n == kNumber;
  return c.form == Form::fixed || c.form == Form::uniform ? t == kAlone : t % 2 == 1;
}

// One access: the value, the address, the instruction.
std::string Kernel::access(std::size_t cell) const {
  const Cell& c = cells_[cell];
  const std::string bytes = number(width_.all()), offset = number(cell * each_);
  std::string t = "{\n.reg .b32 %x<4>, %w<3>;\n.reg .b64 %y<4>, %a, %b;\n.reg .b" +
                  number(8 * std::max(width_.bytes, 2u)) + " %v<4>;\n";
  const bool immediate = kind_ != Kind::load && c.values == Values::constant && width_.bytes < 16;
  std::string what = registers(width_);
  for (uint32_t e = 0; e < width_.count && !immediate; ++e) {
    const std::string k = number(e), x = "%x" + k, y = "%y" + k;
    if (kind_ == Kind::load || c.values == Values::constant) {
      t += "mov.u64 " + y + ", " + number(kind_ == Kind::load ? 0 : value_of(c.values, 0, e, 0)) + ";\n";
    } else {
      t += "mad.lo.u32 " + x +
           (c.values == Values::uniform  ? ", %r2, 3, " + k
            : c.values == Values::affine ? ", %r1, 7, " + number(1 + e)
                                         : ", %r1, %r1, " + number(1 + e)) +
           ";\ncvt.u64.u32 " + y + ", " + x + ";\n";
    }
    const std::string v = "%v" + k;
    t += width_.bytes == 16  ? "mov.b128 " + v + ", {" + y + ", " + y + "};\n"
         : width_.bytes == 8 ? "mov.u64 " + v + ", " + y + ";\n"
                             : (width_.bytes == 4 ? "cvt.u32.u64 " : "cvt.u16.u64 ") + v + ", " + y + ";\n";
  }
  if (immediate) {
    what.clear();
    for (uint32_t e = 0; e < width_.count; ++e) what += (e ? ", " : "") + number(value_of(c.values, 0, e, 0));
    if (width_.count > 1) what = "{" + what + "}";
  }
  std::string address = "[%a+" + offset + "]";
  switch (c.form) {
    case Form::fixed:
      address = "[A+" + number(cell * each_ + 16) + "]";
      break;
    case Form::uniform:
      t += "cvt.u64.u32 %b, %r2;\nadd.u64 %a, %rd1, %b;\n";
      break;
    case Form::contiguous:
      t += "mad.wide.u32 %a, %r1, " + bytes + ", %rd1;\n";
      break;
    case Form::strided:
      t += "mul.wide.u32 %b, %r1, " + number(2 * width_.all()) + ";\nadd.s64 %a, %rd1, %b;\n";
      break;
    case Form::downwards:
      t += "mul.wide.u32 %b, %r1, " + bytes + ";\nsub.s64 %a, %rd1, %b;\n";
      address = "[%a+" + number(cell * each_ + (kLanes - 1) * width_.all()) + "]";
      break;
    case Form::wraps:
      t += "mov.u32 %w0, A;\nadd.u32 %w1, %w0, %r2;\nmad.lo.u32 %w2, %r1, " + bytes + ", %w1;\n";
      address = "[%w2+" + offset + "]";
      break;
    case Form::general:
      t += "mad.lo.u32 %w0, %r1, 5, 3;\nand.b32 %w1, %w0, 31;\nmad.wide.u32 %a, %w1, " + bytes + ", %rd1;\n";
      break;
  }
  const std::string space = *place_.space ? "." + std::string(place_.space) : "";
  const bool one = c.form == Form::fixed || c.form == Form::uniform;
  if (guard_ != Guard::none) t += guard_ == Guard::block ? "@%p1 " : one ? "@%p3 " : "@%p2 ";
  if (kind_ == Kind::load) {
    t += "ld" + space + suffix(width_) + " " + what + ", " + address + ";\n";
    const std::string to = number(cell * kLanes * 2 * 16);
    return t + "st.global" + suffix(width_) + " [%rd4+" + to + "], " + registers(width_) + ";\n}\n";
  }
  if (kind_ == Kind::atomic)
    return t + "red" + space + ".add.u" + number(8 * width_.bytes) + " " + address + ", " + what + ";\n}\n";
  return t + "st" + space + suffix(width_) + " " + address + ", " + what + ";\n}\n";
}

std::string Kernel::text() const {
  const std::string where = place_.where, size = number(area());
  std::string t = ".version 8.4\n.target sm_90\n.address_size 64\n";
  if (where == "const") {
    t += ".const .align 16 .b8 A[" + size + "] = {";
    for (const uint8_t byte : before()) t += number(byte) + ",";
    t.back() = '}';
    t += ";\n";
  }
  const std::string variable = ".align 16 .b8 A[" + size + "];\n";
  if (where == "global") t += ".global " + variable;
  t += ".visible .entry k(.param .u64 out, .param .u64 buffer, .param .u32 n";
  if (where == "param") t += ", .param .align 16 .b8 A[" + size + "]";
  t += ")\n{\n.reg .pred %p<8>;\n.reg .b16 %h<32>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<64>;\n.reg .b128 %q<32>;\n";
  if (where == "shared" || where == "local") t += "." + where + " " + variable;
  t += "ld.param.u32 %r2, [n];\nmov.u32 %r1, %tid.x;\nmov.u32 %r3, %tid.y;\nmad.lo.u32 %r4, %r3, 32, %r1;\n"
       "setp.eq.u32 %p1, %r2, " +
       number(kNumber) + ";\nand.b32 %r5, %r1, 1;\nsetp.ne.u32 %p2, %r5, 0;\nsetp.eq.u32 %p3, %r1, " + number(kAlone) +
       ";\nld.param.u64 %rd3, [out];\nmad.wide.u32 %rd4, %r4, 16, %rd3;\n";
  if (where == "buffer")
    t += "ld.param.u64 %rd1, [buffer];\n" + std::string(*place_.space ? "cvta.to.global.u64 %rd1, %rd1;\n" : "");
  else
    t += "mov.u64 %rd1, A;\n" + (*place_.space ? "" : "cvta." + where + ".u64 %rd1, %rd1;\n");
  // The area's own space, for filling and copying.
  const bool own = where == "shared" || where == "local" || where == "global";
  const std::string first = where == "local" ? "0" : "%r41", step = where == "local" ? "16" : "%r42";
  if (own) {
    t += "mov.u64 %rd40, A;\nshl.b32 %r41, %r1, 4;\nmov.u32 %r42, %ntid.x;\nshl.b32 %r42, %r42, 4;\n";
    std::string fill = "cvt.u64.u32 %rd41, %r40;\nadd.u64 %rd41, %rd40, %rd41;\nshr.u32 %r43, %r40, 2;\n";
    for (uint32_t k = 0; k < 4; ++k)
      fill += kind_ == Kind::load
                  ? "add.u32 %r44, %r43, " + number(k) + ";\nmad.lo.u32 %r45, %r44, 2654435761, 12345;\nst." + where +
                        ".u32 [%rd41+" + number(4 * k) + "], %r45;\n"
                  : "st." + where + ".u32 [%rd41+" + number(4 * k) + "], 0;\n";
    t += loop("FILL", first, step, area(), fill) + "bar.sync 0;\n";
  }
  for (std::size_t k = 0; k < cells_.size(); ++k) t += access(k);
  if (own && kind_ != Kind::load) {
    // A thread's own area lies behind the ones of the threads before it.
    t += "bar.sync 0;\nmov.u64 %rd42, %rd3;\n";
    if (where == "local") t += "mad.wide.u32 %rd42, %r4, " + size + ", %rd3;\n";
    t += loop("COPY", first, step, area(),
              "cvt.u64.u32 %rd43, %r40;\nadd.u64 %rd41, %rd40, %rd43;\nadd.u64 %rd43, %rd42, %rd43;\nld." + where +
                  ".v4.u32 {%r44, %r45, %r46, %r47}, [%rd41];\nst.global.v4.u32 [%rd43], {%r44, %r45, %r46, %r47};\n");
  }
  return t + "ret;\n}\n";
}

std::vector<uint8_t> Kernel::before() const {
  std::vector<uint8_t> bytes(area());
  for (uint32_t w = 0; kind_ == Kind::load && w < area() / 4; ++w) {
    const uint32_t v = pattern(w);
    std::memcpy(bytes.data() + 4 * w, &v, 4);
  }
  return bytes;
}

void Kernel::apply(std::vector<uint8_t>& memory, std::size_t cell, uint32_t t, uint32_t n) const {
  const Cell& c = cells_[cell];
  if (!goes(c, t, n)) return;
  uint8_t* at = memory.data() + place_of(cell, t, n);
  for (uint32_t e = 0; e < width_.count; ++e) {
    uint64_t v[2] = {value_of(c.values, t, e, n), value_of(c.values, t, e, n)};
    if (width_.bytes < 16) v[1] = 0;
    if (kind_ == Kind::atomic) {
      uint64_t old = 0;
      std::memcpy(&old, at, width_.bytes);
      v[0] += old;
    }
    std::memcpy(at + e * width_.bytes, v, width_.bytes);
  }
}

std::vector<uint8_t> Kernel::buffer_after(uint32_t x, uint32_t y, uint32_t n) const {
  std::vector<uint8_t> memory = before();
  if (kind_ == Kind::load || std::string_view(place_.where) != "buffer") return memory;
  for (std::size_t c = 0; c < cells_.size(); ++c)
    for (uint32_t k = 0; k < x * y; ++k) apply(memory, c, k % x, n);
  return memory;
}

std::vector<uint8_t> Kernel::out_after(uint32_t x, uint32_t y, uint32_t n) const {
  const std::string_view where = place_.where;
  std::vector<uint8_t> out;
  if (kind_ == Kind::load) {
    const std::vector<uint8_t> memory = before();
    out.resize(cells_.size() * kLanes * 2 * 16);
    for (std::size_t c = 0; c < cells_.size(); ++c)
      for (uint32_t k = 0; k < x * y; ++k)
        if (goes(cells_[c], k % x, n))
          std::memcpy(out.data() + (c * kLanes * 2 + k / x * kLanes + k % x) * 16,
                      memory.data() + place_of(c, k % x, n), width_.all());
  } else if (where == "local") {
    out.resize(std::size_t{area()} * kLanes * 2);
    for (uint32_t k = 0; k < x * y; ++k) {
      std::vector<uint8_t> mine(area());
      for (std::size_t c = 0; c < cells_.size(); ++c) apply(mine, c, k % x, n);
      std::memcpy(out.data() + std::size_t{area()} * (k / x * kLanes + k % x), mine.data(), mine.size());
    }
  } else {
    out.resize(area());
    if (where != "buffer")
      for (std::size_t c = 0; c < cells_.size(); ++c)
        for (uint32_t k = 0; k < x * y; ++k) apply(out, c, k % x, n);
  }
  return out;
}

}  // namespace coalesce::machine::test::cells
