// The table of all computing instructions, by mnemonic.
//
// There is no rewriting of mnemonics: where PTX has several spellings of one instruction (add.f32 and add.rn.f32, mad
// and fma, add.u32 and add.s32, b32 and u32 moves) each has its row, with the same handlers where the function is the
// same. So a suffix that no row knows makes the mnemonic unknown, and nothing is ever dropped silently.
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "machine/execute/ops/rows.h"

namespace coalesce::machine {

Name::Name(const char* text) { append(text); }
void Name::append(std::string_view more) {
  if (size_ + more.size() > sizeof(text_)) std::abort();
  std::memcpy(text_ + size_, more.data(), more.size());
  size_ += static_cast<uint32_t>(more.size());
}
Name operator+(const Name& a, const Name& b) {
  Name sum = a;
  sum.append(b.text());
  return sum;
}
void Rows::keep(const Name& mnemonic, const PureOp& op) {
  ops_.push_back(op);
  ops_.back().mnemonic = names_.emplace_back(mnemonic.text());
}

namespace {

using Fill = void (*)(Rows&);
constexpr Fill kFamilies[] = {
    move_rows, integer_rows, bit_rows,     carry_rows,   packed_rows,        float_rows,
    half_rows, approx_rows,  compare_rows, convert_rows, convert_small_rows, video_rows,
};

struct Table {
  Rows rows[std::size(kFamilies)];
  std::vector<std::span<const PureOp>> spans;
  std::unordered_map<std::string_view, const PureOp*> by_name;

  Table() {
    for (size_t k = 0; k < std::size(kFamilies); ++k) {
      kFamilies[k](rows[k]);
      spans.emplace_back(rows[k].ops());
      for (const PureOp& op : rows[k].ops()) by_name.emplace(op.mnemonic, &op);
    }
  }
};
// Never destroyed: at the process's end a kernel may still be compiled, or launched by a destructor.
const Table& table() {
  static const Table* made = new Table;
  return *made;
}

}  // namespace

const PureOp* find_pure(std::string_view mnemonic) {
  const auto& names = table().by_name;
  const auto found = names.find(mnemonic);
  return found == names.end() ? nullptr : found->second;
}

std::span<const std::span<const PureOp>> all_pure() { return table().spans; }

}  // namespace coalesce::machine
