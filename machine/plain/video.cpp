// Video instructions: PTX's manual, and where ptxas has its own way, what a GPU computes (tests/truth/spellings.txt).
#include <algorithm>
#include <array>

#include "machine/plain/decoder.h"
#include "machine/plain/run.h"

namespace coalesce::machine::plain {

__extension__ using Whole = __int128;

// Bits [at, at + bits) of one of the two operands.
struct VideoPart {
  unsigned operand = 0, at = 0, bits = 32;
};

struct Video {
  std::string name, compare, second;  // "add", "set": without v and the number of lanes; add, min or max of c
  bool signed_d = false, signed_a = false, signed_b = false, saturates = false, wraps = false;
  bool minus_product = false, minus_c = false, plus_one = false;
  unsigned lanes = 1, shift = 0;
  std::array<VideoPart, 4> a, b, d;
  std::array<bool, 4> written{true, true, true, true};
};

namespace {

using OK = ptx::Operand::Kind;

// Digits of "b7654", the highest lane's first, as numbers below `limit`; false: these are none.
bool digits_of(std::string_view text, char letter, unsigned limit, std::vector<unsigned>& out) {
  if (text.size() < 2 || text[0] != letter) return false;
  for (std::size_t k = text.size() - 1; k > 0; --k) {
    if (text[k] < '0' || text[k] > '9') return false;
    out.push_back(static_cast<unsigned>(text[k] - '0'));
    if (out.back() >= limit) return false;
  }
  return true;
}

// The parts that an operand names, or those that it means when it names none.
bool parts_of(const ptx::Operand& o, const Video& v, unsigned which, std::array<VideoPart, 4>& parts) {
  const bool named = o.kind == OK::part && !o.name.empty();
  const unsigned bits = 32 / v.lanes;
  std::vector<unsigned> digits;
  if (v.lanes == 1) {
    parts[0] = {which, 0, 32};
    if (!named) return true;
    const unsigned width = o.name[0] == 'b' ? 8 : 16;
    if (!digits_of(o.name, width == 8 ? 'b' : 'h', 32 / width, digits) || digits.size() != 1) return false;
    parts[0] = {which, width * digits[0], width};
    return true;
  }
  if (named && (!digits_of(o.name, v.lanes == 2 ? 'h' : 'b', 2 * v.lanes, digits) || digits.size() != v.lanes))
    return false;
  for (unsigned lane = 0; lane < v.lanes; ++lane) {
    const unsigned n = named ? digits[lane] : which * v.lanes + lane;  // of the parts of a, then of b
    parts[lane] = {n / v.lanes, bits * (n % v.lanes), bits};
  }
  return true;
}

Whole number_in(const VideoPart& p, const std::array<uint32_t, 2>& operands, bool is_signed) {
  const uint64_t raw = (uint64_t{operands[p.operand]} >> p.at) & ((uint64_t{1} << p.bits) - 1);
  return is_signed && raw >> (p.bits - 1) ? static_cast<Whole>(raw) - (Whole{1} << p.bits) : static_cast<Whole>(raw);
}

Whole within(Whole x, unsigned bits, bool is_signed) {
  const Whole most = (Whole{1} << (is_signed ? bits - 1 : bits)) - 1;
  return std::min(std::max(x, is_signed ? -most - 1 : Whole{0}), most);
}

Whole result_of(const Video& v, Whole x, Whole y) {
  if (v.name == "add") return x + y;
  if (v.name == "sub") return x - y;
  if (v.name == "absdiff") return x > y ? x - y : y - x;
  if (v.name == "min") return x < y ? x : y;
  if (v.name == "max") return x < y ? y : x;
  if (v.name == "avrg") return x + y < 0 ? -((-(x + y)) / 2 + (-(x + y)) % 2) : (x + y) / 2 + (x + y) % 2;
  if (v.name == "shl" || v.name == "shr") {
    const unsigned by = static_cast<unsigned>(v.wraps ? static_cast<uint32_t>(y) % 32 : y > 32 ? 32 : y);
    return v.name == "shl" ? x << by : x >> by;
  }
  return v.compare == "eq"   ? x == y
         : v.compare == "ne" ? x != y
         : v.compare == "lt" ? x < y
         : v.compare == "le" ? x <= y
         : v.compare == "gt" ? x > y
                             : x >= y;
}

uint32_t lanes_result(const Video& v, const std::array<uint32_t, 2>& operands, uint32_t c) {
  const unsigned bits = 32 / v.lanes;
  uint32_t out = c;
  for (unsigned lane = 0; lane < v.lanes; ++lane) {
    if (!v.written[lane]) continue;
    Whole r = result_of(v, number_in(v.a[lane], operands, v.signed_a), number_in(v.b[lane], operands, v.signed_b));
    if (v.saturates) r = within(r, bits, v.signed_d);
    const uint32_t part = (1u << bits) - 1;
    if (v.second == "add")
      out += static_cast<uint32_t>(r);
    else
      out = (out & ~(part << lane * bits)) | (static_cast<uint32_t>(r) & part) << lane * bits;
  }
  return out;
}

uint32_t scalar_result(const Video& v, const std::array<uint32_t, 2>& operands, uint32_t c) {
  const Whole x = number_in(v.a[0], operands, v.signed_a), y = number_in(v.b[0], operands, v.signed_b);
  const auto third = [&](bool is_signed) { return number_in({0, 0, 32}, {c, 0}, is_signed); };
  if (v.name == "mad") {
    const bool is_signed = v.signed_a || v.signed_b || v.minus_product || v.minus_c;
    const Whole product = v.minus_product ? -x * y : x * y, sum = v.minus_c ? -third(true) : third(is_signed);
    return static_cast<uint32_t>((product + sum + v.plus_one) >> v.shift);
  }
  Whole r = result_of(v, x, y);
  if (v.second == "add") r += third(v.signed_d);
  if (v.second == "min") r = std::min(r, third(v.signed_d));
  if (v.second == "max") r = std::max(r, third(v.signed_d));
  const auto low = static_cast<uint32_t>(r);
  const VideoPart& d = v.d[0];
  if (d.bits == 32) return low;
  if (d.bits == 16 && d.at == 16) return low >> 16 << 16 | (c & 0xffff);  // ptxas: the result's own upper half
  const uint32_t there = ((1u << d.bits) - 1) << d.at;
  return (c & ~there) | (low << d.at & there);
}

void run_video(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const Video& v = *op.video;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    const auto word = [&](std::size_t k) { return static_cast<uint32_t>(value(w, op.in[k], l)); };
    put(f, op.out[0], l,
        v.lanes > 1 ? lanes_result(v, {word(0), word(1)}, word(2)) : scalar_result(v, {word(0), word(1)}, word(2)), 4);
  }
}

// Reads the words of the mnemonic. False: it is no video instruction, or has a word that it cannot have.
bool read_words(const Words& words, Video& v) {
  std::string_view name = words.opcode.substr(1);
  if (name.ends_with('2') || name.ends_with('4')) {
    v.lanes = static_cast<unsigned>(name.back() - '0');
    name.remove_suffix(1);
  }
  constexpr std::string_view kVideoNames[] = {"add",  "sub", "absdiff", "min", "max",
                                              "avrg", "set", "shl",     "shr", "mad"};
  if (std::find(std::begin(kVideoNames), std::end(kVideoNames), name) == std::end(kVideoNames)) return false;
  v.name = name;
  std::vector<bool> is_signed;
  if (name == "set") is_signed.push_back(false);
  const bool shifts = name == "shl" || name == "shr", product = name == "mad";
  for (const std::string_view w : words.rest) {
    const bool relation = w == "eq" || w == "ne" || w == "lt" || w == "le" || w == "gt" || w == "ge";
    if (w == "u32" || w == "s32")
      is_signed.push_back(w == "s32");
    else if (relation && name == "set")
      v.compare = w;
    else if (w == "add" || (v.lanes == 1 && (w == "min" || w == "max")))
      v.second = w;
    else if (w == "sat")
      v.saturates = true;
    else if (shifts && (w == "wrap" || w == "clamp"))
      v.wraps = w == "wrap";
    else if (product && w == "po")
      v.plus_one = true;
    else if (product && (w == "shr7" || w == "shr15"))
      v.shift = w == "shr7" ? 7 : 15;
    else
      return false;
  }
  if (is_signed.size() != 3 || v.compare.empty() != (name != "set")) return false;
  v.signed_d = is_signed[0], v.signed_a = is_signed[1], v.signed_b = is_signed[2];
  return true;
}

// Forms of which a GPU makes something that the manual does not define.
bool undefined(const Video& v) {
  if (v.lanes > 1) return false;
  if (v.saturates) return true;
  if (v.second == "min" || v.second == "max") return v.name == "set" ? v.signed_a : !v.signed_d;
  return v.name == "mad" && v.shift != 0 && !(v.signed_a && v.signed_b && v.signed_d);
}

}  // namespace

bool Decoder::video() {
  Video v;
  if (!read_words(*words_, v) || operands() < 3 || operands() > 4) return false;
  if (!parts_of(operand(1), v, 0, v.a) || !parts_of(operand(2), v, 1, v.b)) return false;
  const ptx::Operand& to = operand(0);
  if (v.lanes == 1) {
    if (!parts_of(to, v, 0, v.d)) return false;
  } else if (to.kind == OK::part && !to.name.empty()) {
    std::vector<unsigned> lanes;
    if (!digits_of(to.name, v.lanes == 2 ? 'h' : 'b', v.lanes, lanes)) return false;
    v.written.fill(false);
    for (const unsigned lane : lanes) v.written[lane] = true;
  }
  const auto minus = [&](std::size_t k) { return k < operands() && operand(k).kind == OK::part && operand(k).negated; };
  v.minus_product = minus(1) != minus(2);
  v.minus_c = minus(3);
  if ((v.minus_product || v.minus_c) && v.name != "mad") return false;
  if (undefined(v)) return unknown("'" + in_->mnemonic + "' does on a GPU what PTX does not define"), true;
  const auto whole = [](ptx::Operand o) {
    if (o.kind == OK::part) o.kind = OK::reg, o.negated = false;
    return o;
  };
  for (std::size_t k = 1; k < 4; ++k) op_->in.push_back(k < operands() ? source(whole(operand(k)), 4) : constant(0));
  op_->out.push_back(dest(whole(to)));
  op_->video = std::make_shared<const Video>(std::move(v));
  op_->run = run_video;
  return true;
}

}  // namespace coalesce::machine::plain
