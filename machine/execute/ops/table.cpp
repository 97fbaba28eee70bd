// The table of all computing instructions, by mnemonic.
//
// Where PTX has several spellings of one instruction (add.f32 and add.rn.f32, mad and fma, add.u32 and add.s32, b32 and
// u32 moves) each has its row, with the same handlers where the function is the same. So a suffix without a row
// makes the mnemonic unknown, and nothing is ever dropped silently. Only the order of suffixes is free, as it is for
// ptxas (max.s16x2.relu is max.relu.s16x2): of types it is kept, since cvt.u32.f32 is not cvt.f32.u32.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "machine/execute/ops/rows.h"
#include "machine/ptx/module.h"

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
  PureOp& row = ops_.back();
  row.mnemonic = names_.emplace_back(mnemonic.text());
  row.operation = isa::operation_of(row.mnemonic);
  row.facts = facts_of(row.operation);
}

namespace {

bool is_type(std::string_view suffix) {
  const ptx::Type t = ptx::type_from(suffix);
  return t != ptx::Type::none && t != ptx::Type::other;
}

using Fill = void (*)(Rows&);
constexpr Fill kFamilies[] = {
    move_rows,   integer_rows, bit_rows,     carry_rows,         packed_rows, float_rows,     half_rows,
    approx_rows, compare_rows, convert_rows, convert_small_rows, video_rows,  video_any_rows,
};

// The mnemonic with its suffixes in an order that does not depend on how they were written.
std::string in_order(std::string_view mnemonic) {
  const bool pair = mnemonic.ends_with('|');
  if (pair) mnemonic.remove_suffix(1);
  std::vector<std::string_view> words;
  std::size_t at = std::min(mnemonic.find('.'), mnemonic.size());
  std::string key(mnemonic.substr(0, at));
  while (at < mnemonic.size()) {
    const std::size_t end = std::min(mnemonic.find('.', at + 1), mnemonic.size());
    words.push_back(mnemonic.substr(at + 1, end - at - 1));
    at = end;
  }
  words = types_last(std::move(words));
  std::sort(words.begin(), std::find_if(words.begin(), words.end(), is_type));
  for (const std::string_view w : words) key += "." + std::string(w);
  return pair ? key + "|" : key;
}

struct Table {
  Rows rows[std::size(kFamilies)];
  std::vector<std::span<const PureOp>> spans;
  std::unordered_map<std::string_view, const PureOp*> by_name;
  // The rows by in_order(); made when first needed, which few programs do.
  mutable std::once_flag ordered;
  mutable std::unordered_map<std::string, const PureOp*> by_order;

  Table() {
    for (size_t k = 0; k < std::size(kFamilies); ++k) {
      kFamilies[k](rows[k]);
      spans.emplace_back(rows[k].ops());
      for (const PureOp& op : rows[k].ops()) by_name.emplace(op.mnemonic, &op);
    }
  }
};
// Spellings of one instruction whose suffixes change nothing: conversions to a wider type are exact, and the reciprocal
// of a double has no subnormal result to flush on hardware either (measured: tests/truth/spellings.txt).
struct Alias {
  std::string_view name, same;
};
constexpr Alias kAliases[] = {
    {"rcp.rn.ftz.f64", "rcp.rn.f64"},
    {"rcp.rz.ftz.f64", "rcp.rz.f64"},
    {"rcp.rm.ftz.f64", "rcp.rm.f64"},
    {"rcp.rp.ftz.f64", "rcp.rp.f64"},
    {"cvt.f16.bf16", "cvt.rn.f16.bf16"},
    {"cvt.bf16.f16", "cvt.rn.bf16.f16"},
    {"cvt.rn.f32.bf16", "cvt.f32.bf16"},
    {"cvt.rz.f32.bf16", "cvt.f32.bf16"},
    {"cvt.rm.f32.bf16", "cvt.f32.bf16"},
    {"cvt.rp.f32.bf16", "cvt.f32.bf16"},
    {"cvt.rn.ftz.f32.bf16", "cvt.ftz.f32.bf16"},
    {"cvt.rz.ftz.f32.bf16", "cvt.ftz.f32.bf16"},
    {"cvt.rm.ftz.f32.bf16", "cvt.ftz.f32.bf16"},
    {"cvt.rp.ftz.f32.bf16", "cvt.ftz.f32.bf16"},
    {"cvt.rn.f64.bf16", "cvt.f64.bf16"},
    {"cvt.rz.f64.bf16", "cvt.f64.bf16"},
    {"cvt.rm.f64.bf16", "cvt.f64.bf16"},
    {"cvt.rp.f64.bf16", "cvt.f64.bf16"},
};

// Never destroyed: at the process's end a kernel may still be compiled, or launched by a destructor.
const Table& table() {
  static const Table* made = new Table;
  return *made;
}

}  // namespace

std::vector<std::string_view> types_last(std::vector<std::string_view> suffixes) {
  std::stable_partition(suffixes.begin(), suffixes.end(), [](std::string_view s) { return !is_type(s); });
  return suffixes;
}

const PureOp* find_pure(std::string_view mnemonic) {
  const Table& t = table();
  if (const auto found = t.by_name.find(mnemonic); found != t.by_name.end()) return found->second;
  std::call_once(t.ordered, [&] {
    for (const auto& [name, op] : t.by_name) t.by_order.emplace(in_order(name), op);
    for (const Alias& a : kAliases) t.by_order.emplace(in_order(a.name), t.by_name.at(a.same));
  });
  const auto found = t.by_order.find(in_order(mnemonic));
  return found == t.by_order.end() ? nullptr : found->second;
}

std::span<const std::span<const PureOp>> all_pure() { return table().spans; }

}  // namespace coalesce::machine
