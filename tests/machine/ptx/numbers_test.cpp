// Numbers and initial values: every way to write one, with its digits, its limits and what is one too many; where an
// error is said to be.
#include <bit>
#include <cstdio>
#include <cstring>
#include <random>

#include "machine/ptx/lexer.h"
#include "parsed.h"

namespace coalesce::ptx {
namespace {

std::string digits_of(uint64_t value, unsigned base, bool upper = false) {
  std::string text;
  do text.insert(text.begin(), (upper ? "0123456789ABCDEF" : "0123456789abcdef")[value % base]);
  while ((value /= base) != 0);
  return text;
}

bool reads(const std::string& text, uint64_t bits, bool is_real = false, bool is_f32 = false) {
  Number n;
  return decode_number(text, n) && n.bits == bits && n.is_real == is_real && n.is_f32 == is_f32;
}
bool refuses(const std::string& text) {
  Number n;
  return !decode_number(text, n);
}

TEST(PtxNumbers, WholeOnesOfEveryBase) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> values = {0, 1, 2, 7, 8, 9, 10, 15, 16, ~uint64_t{0}, uint64_t{1} << 63};
  for (unsigned k = 0; k < 64; ++k) values.push_back(random() >> k);
  for (const uint64_t v : values)
    for (const std::string unsigned_ : {"", "U"}) {
      SCOPED_TRACE(v);
      EXPECT_TRUE(reads(digits_of(v, 10) + unsigned_, v));
      EXPECT_TRUE(reads("0" + digits_of(v, 8) + unsigned_, v));
      for (const bool upper : {false, true}) {
        EXPECT_TRUE(reads((upper ? "0X" : "0x") + digits_of(v, 16, upper) + unsigned_, v));
        EXPECT_TRUE(reads((upper ? "0B" : "0b") + digits_of(v, 2) + unsigned_, v));
      }
    }
  for (const char* text :
       {"", "U", "0x", "0xU", "0b", "0b2", "0b12", "08", "019", "9a", "0xg", "12UU", "1u", "18446744073709551616",
        "0x10000000000000000", "02000000000000000000000", "99999999999999999999"})
    EXPECT_TRUE(refuses(text)) << text;
  EXPECT_TRUE(refuses("0b1" + std::string(64, '0')));
}

TEST(PtxNumbers, RealOnes) {
  std::mt19937_64 random(2);
  for (int k = 0; k < 200; ++k) {
    const uint64_t bits = random();
    const auto f32 = static_cast<uint32_t>(bits);
    char text[64];
    std::snprintf(text, sizeof text, "%08x", f32);
    EXPECT_TRUE(reads(std::string(k % 2 ? "0f" : "0F") + text, f32, true, true)) << text;
    EXPECT_TRUE(refuses(std::string("0f") + (text + 1))) << text;
    EXPECT_TRUE(refuses(std::string("0f") + text + "0")) << text;
    std::snprintf(text, sizeof text, "%016llX", static_cast<unsigned long long>(bits));
    EXPECT_TRUE(reads(std::string(k % 2 ? "0d" : "0D") + text, bits, true)) << text;
    EXPECT_TRUE(refuses(std::string("0d") + (text + 1))) << text;
    EXPECT_TRUE(refuses(std::string("0d") + text + "0")) << text;
    const double d = std::bit_cast<double>(bits & ~(uint64_t{1} << 63));
    if (!(d < 1e300)) continue;
    std::snprintf(text, sizeof text, k % 2 ? "%.17e" : "%.17E", d);
    EXPECT_TRUE(reads(text, std::bit_cast<uint64_t>(d), true)) << text;
  }
  EXPECT_TRUE(reads("0.5", std::bit_cast<uint64_t>(0.5), true));
  EXPECT_TRUE(reads("10.", std::bit_cast<uint64_t>(10.0), true));
  EXPECT_TRUE(reads("1e5", std::bit_cast<uint64_t>(1e5), true));
  for (const char* text : {"0f0000000g", "0d000000000000000g", "1e", "1.5x", "1.2.3", "1e5e5", "1e400", "0f", "0d"})
    EXPECT_TRUE(refuses(text)) << text;
}

// A variable with initial values, as text, and the bytes that it should have.
class Initialised {
 public:
  explicit Initialised(uint32_t seed) : random_(seed) {
    constexpr std::pair<const char*, uint32_t> kTypes[] = {{"u8", 1},  {"s16", 2}, {"b16", 2}, {"u32", 4}, {"s32", 4},
                                                           {"b64", 8}, {"s64", 8}, {"f32", 4}, {"f64", 8}};
    const auto& [type, bytes] = kTypes[below(9)];
    type_ = type, element_ = bytes;
    const uint32_t levels = below(4);
    text = ".global ." + type_ + " x";
    open_ = levels > 0 && below(3) == 0;
    for (uint32_t k = 0; k < levels; ++k) {
      extents_.push_back(1 + below(4));
      text += open_ && k == 0 ? "[]" : "[" + std::to_string(extents_[k]) + "]";
    }
    text += " = ";
    if (levels == 0 && below(2)) {
      text += value(0);
      end_ = element_;
    } else {
      if (levels == 0) extents_.push_back(1);
      text += list(0, 0);
    }
    const uint64_t row = bytes_of(1), size = open_ ? (end_ + row - 1) / row * row : bytes_of(0);
    bytes_wanted.resize(size);
    text += ";";
  }

  std::string text;
  std::vector<uint8_t> bytes_wanted;

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  uint64_t bytes_of(std::size_t level) const {  // of what one entry of the level above has
    uint64_t n = element_;
    for (std::size_t k = level; k < extents_.size(); ++k) n *= extents_[k];
    return n;
  }

  template <class T>
  void put(uint64_t at, T v) {
    if (bytes_wanted.size() < at + sizeof v) bytes_wanted.resize(at + sizeof v);
    std::memcpy(&bytes_wanted[at], &v, sizeof v);
    end_ = std::max(end_, at + sizeof v);
  }

  std::string value(uint64_t at) {
    char literal[64];
    const int whole = static_cast<int>(below(2001)) - 1000;
    if (type_ == "f32" || type_ == "f64") {
      const double real = whole / 8.0;
      const uint32_t way = below(4);
      if (way == 0)
        std::snprintf(literal, sizeof literal, "%d", whole);
      else if (way == 1)
        std::snprintf(literal, sizeof literal, "%.4f", real);
      else if (way == 2)
        std::snprintf(literal, sizeof literal, "0f%08X", std::bit_cast<uint32_t>(static_cast<float>(real)));
      else
        std::snprintf(literal, sizeof literal, "0d%016llx",
                      static_cast<unsigned long long>(std::bit_cast<uint64_t>(real)));
      const double v = way == 0 ? whole : real;
      type_ == "f32" ? put(at, static_cast<float>(v)) : put(at, v);
      return literal;
    }
    std::snprintf(literal, sizeof literal, below(2) ? (whole < 0 ? "-%d" : "%d") : (whole < 0 ? "-0x%x" : "0x%x"),
                  std::abs(whole));
    const int64_t v = std::strchr(literal, '-') ? -std::abs(whole) : std::abs(whole);
    element_ == 1   ? put(at, static_cast<int8_t>(v))
    : element_ == 2 ? put(at, static_cast<int16_t>(v))
    : element_ == 4 ? put(at, static_cast<int32_t>(v))
                    : put(at, v);
    return literal;
  }

  // The entries of the part that begins at `begin`.
  std::string list(std::size_t level, uint64_t begin) {
    const uint64_t inner = bytes_of(level + 1), end = begin + bytes_of(level);
    const bool all = below(2);
    std::string t = "{";
    for (uint64_t at = begin; at < end && (all || below(8));) {
      if (t.size() > 1) t += ", ";
      const uint64_t row = begin + (at - begin + inner - 1) / inner * inner;
      if (level + 1 < extents_.size() && row + inner <= end && below(3)) {
        t += list(level + 1, row);
        at = row + inner;
        end_ = std::max(end_, at);
      } else {
        t += value(at);
        at += element_;
      }
    }
    return t + "}";
  }

  std::mt19937 random_;
  std::string type_;
  uint32_t element_ = 0;
  bool open_ = false;
  std::vector<uint32_t> extents_;
  uint64_t end_ = 0;
};

TEST(PtxNumbers, InitialValuesOfEveryShape) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const Initialised wanted(seed);
    const Module m = module_of(wanted.text);
    const Variable& x = m.variables.at(0);
    ASSERT_EQ(x.size, wanted.bytes_wanted.size()) << wanted.text;
    ASSERT_EQ(x.initial, wanted.bytes_wanted) << wanted.text;
  }
}

TEST(PtxNumbers, OneInitialValueTooMany) {
  for (const char* text :
       {"x = {1, 2}", "x[1] = {1, 2}", "x[3] = {1, 2, 3, 4}", "x[2][2] = {1, 2, 3, 4, 5}", "x[2][2] = {{1, 2, 3}}",
        "x[2][2] = {{1}, {2}, {3}}", "x[2][2] = {1, 2, 3, {4}}", "x[2][2] = {{1}, {2}, 3}", "x[][2] = {{1, 2, 3}}"})
    for (const char* type : {"u8", "u16", "f32", "b64"})
      EXPECT_THAT(error_of(head + ".global ." + type + " " + text + ";").message, HasSubstr("more initial values than"))
          << text;
}

// A character that PTX does not have, anywhere between the words of a text: the error is there.
TEST(PtxNumbers, ErrorsAreWhereTheirCharacterIs) {
  const std::vector<std::string> lines = {".version 8.5",
                                          ".target sm_90",
                                          ".address_size 64",
                                          ".file 1 \"a b.cu\"",
                                          ".global .u32 x [ 2 ] = { 1 , 2 } ;",
                                          "",
                                          "  .func f ( .param .b64 in ) {",
                                          "\t.reg .b32 %r<10> ;  // two",
                                          "mov.u32 %r1 , 5 ; /* none */ mov.u32 %r2 , x ;",
                                          "L: add.u32 %r1 , %r2 , -3 ;",
                                          "ret ;",
                                          "}"};
  for (std::size_t k = 0; k < lines.size(); ++k)
    for (std::size_t at = 0; at <= lines[k].size(); ++at) {
      if (at > 0 && at < lines[k].size() && lines[k][at] != ' ') continue;
      if (lines[k].substr(0, at).find("//") != std::string::npos ||
          (lines[k].find("/*") < at && at < lines[k].find("*/")))
        continue;
      if (std::count(lines[k].begin(), lines[k].begin() + static_cast<std::ptrdiff_t>(at), '"') == 1) continue;
      std::vector<std::string> with = lines;
      with[k].insert(at, "`");
      std::string text;
      for (const std::string& line : with) text += line + "\n";
      const machine::Diagnostic d = error_of(text);
      EXPECT_THAT(d.message, HasSubstr("PTX has no '`' here"));
      EXPECT_EQ(d.place.file, "test.ptx");
      EXPECT_EQ(d.place.line, k + 1);
      EXPECT_EQ(d.place.column, at + 1);
      EXPECT_EQ(d.ptx_line, k + 1);
      EXPECT_EQ(d.ptx_text, with[k]);
    }
  for (const auto& [byte, named] :
       {std::pair{'\x01', "0x01"}, {'\x7f', "0x7f"}, {'\x80', "0x80"}, {'\xff', "0xff"}, {'\x1e', "0x1e"}})
    EXPECT_THAT(error_of(head + byte).message, HasSubstr(std::string("found the byte ") + named));
  for (const char c : {'#', '\\', '`', '\''})
    EXPECT_THAT(error_of(head + c).message, HasSubstr(std::string("PTX has no '") + c + "' here"));
}

}  // namespace
}  // namespace coalesce::ptx
