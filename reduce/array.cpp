#include "reduce/array.h"

#include <bit>
#include <cctype>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace coalesce::reduce {
namespace {

static_assert(std::endian::native == std::endian::little, "stored summaries and .npy bytes are taken as they lie");

// The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  void read(Array& array) {
    expect('{');
    bool descr = false, order = false, shape = false;
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        type(array);
      } else if (key == "fortran_order" && !order) {
        order = true;
        array.fortran = truth();
      } else if (key == "shape" && !shape) {
        shape = true;
        extents(array);
      } else {
        refuse("unknown or repeated key '" + std::string(key) + "' in its header");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!descr || !order || !shape) refuse("its header lacks descr, fortran_order or shape");
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw std::runtime_error("cannot read '" + path_ + "' as .npy: " + reason);
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse(std::string("its header has no '") + c + "' at character " + std::to_string(at_));
  }
  std::string_view quoted() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const auto end = text_.find(quote, at_);
    if (end == std::string_view::npos) refuse("its header ends within a text");
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end + 1;
    return word;
  }
  bool truth() {
    skip();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    refuse("fortran_order is neither True nor False");
  }
  void type(Array& array) {
    skip();
    if (at_ < text_.size() && text_[at_] == '[') refuse("its elements are records; one number an element is needed");
    const std::string_view word = quoted();
    const std::string_view kind = word.empty() ? word : word.substr(1);
    for (const ElementRow& row : kElements) {
      if (row.npy.empty() || row.npy != kind) continue;
      if (word[0] != '<' && word[0] != '>' && word[0] != '|' && word[0] != '=') break;
      array.element = row.element;
      array.swapped = word[0] == '>' && row.bytes > 1;
      return;
    }
    if (kind == "b1") {  // booleans are 0 and 1
      array.element = Element::u8;
      return;
    }
    refuse("its elements have type '" + std::string(word) +
           "'; int8 to int64, uint8 to uint64, float16, float32, float64 and bool are read");
  }
  void extents(Array& array) {
    expect('(');
    while (!accept(')')) {
      skip();
      uint64_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error != std::errc()) refuse("its shape is not a list of whole numbers");
      at_ = static_cast<std::size_t>(end - text_.data());
      array.extents.push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
};

uint32_t little_endian(const unsigned char* bytes, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i) value |= uint32_t{bytes[i]} << 8 * i;
  return value;
}

}  // namespace

uint64_t Array::position(uint64_t index) const {
  if (!fortran) return index;
  uint64_t result = 0, below = count;
  for (const uint64_t extent : extents) {
    below /= extent;  // row-major elements from one index of this axis to the next
    result += index % extent * below;
    index /= extent;
  }
  return result;
}

Array open_npy(const std::string& path) {
  Array array{MappedFile(path)};
  const auto refuse = [&](const std::string& reason) {
    throw std::runtime_error("cannot read '" + path + "' as .npy: " + reason);
  };
  const auto* bytes = reinterpret_cast<const unsigned char*>(array.file.data());
  const uint64_t size = array.file.size();
  if (size < 6 || std::memcmp(bytes, "\x93NUMPY", 6) != 0) refuse("it does not begin with \\x93NUMPY");
  if (size < 8) refuse("it ends within its header");
  const int length_bytes = bytes[6] == 1 ? 2 : 4;
  if (bytes[6] < 1 || bytes[6] > 3) refuse("its version is " + std::to_string(bytes[6]) + "; 1, 2 and 3 are known");
  if (size < 8u + length_bytes) refuse("it ends within its header");
  const uint64_t length = little_endian(bytes + 8, length_bytes);
  array.begin = 8 + length_bytes + length;
  if (array.begin > size) refuse("it ends within its header");
  HeaderReader(std::string_view(reinterpret_cast<const char*>(bytes) + 8 + length_bytes, length), path).read(array);
  array.count = 1;
  bool overflow = false, none = false;
  for (const uint64_t extent : array.extents) {
    none |= extent == 0;
    overflow |= __builtin_mul_overflow(array.count, extent, &array.count);
  }
  if (none) array.count = 0;
  uint64_t needed = 0;
  overflow |= __builtin_mul_overflow(array.count, uint64_t{row_of(array.element).bytes}, &needed);
  if (!none && overflow) refuse("its shape has more elements than 64 bits count");
  if (size - array.begin < needed)
    refuse("it is cut: its header promises " + std::to_string(needed) + " bytes of elements, it has " +
           std::to_string(size - array.begin));
  return array;
}

Array open_raw(const std::string& path, Element element, uint64_t skip) {
  Array array{MappedFile(path), element};
  const uint32_t width = row_of(element).bytes;
  if (array.file.size() < skip || (array.file.size() - skip) % width != 0)
    throw std::runtime_error("cannot read '" + path + "': its " + std::to_string(array.file.size()) + " bytes" +
                             (skip == 0 ? "" : " less " + std::to_string(skip)) + " are no whole number of " +
                             std::string(row_of(element).name));
  array.begin = skip;
  array.count = (array.file.size() - skip) / width;
  array.extents = {array.count};
  return array;
}

}  // namespace coalesce::reduce
