// Operations of a warp's threads together: shuffles, votes, matches and reductions.
#include <algorithm>

#include "tests/random_cuda/builder.h"

namespace coalesce::random_cuda {

Tree Builder::together(Level control) {
  const unsigned warp = control >= Level::warp ? 1 : 0, block = control == Level::block ? 1 : 0;
  return choose({
      {"shuffle", 8 * warp, [&] { return shuffle(); }},
      {"vote", 5 * warp, [&] { return vote(); }},
      {"match", 2 * warp, [&] { return match(); }},
      {"reduce", 3 * warp, [&] { return reduce(); }},
      {"parts of a warp", 3 * warp, [&] { return split(); }},
      {"tile of a warp", 3 * warp, [&] { return warp_tile(); }},
      {"vote of the block", 3 * block, [&] { return block_vote(); }},
      {"write a tile", 8 * block, [&] { return write_tile(); }},
      {"atomics on a tile", 5 * block, [&] { return tile_atomic(); }},
      {"atomic on global memory", 4, [&] { return global_atomic(); }},
      {"atomic with its old value", 3, [&] { return own_atomic(); }},
      {"compare and swap", 2, [&] { return compare_and_swap(); }},
  });
}

Tree Builder::shuffle() {
  const Type type = any_type(kWords | kLongs | kReals);
  const Place* found = some_place(type, Level::lane, true);
  if (!found || found->bit_field) return nullptr;
  const Place copy = *found;
  std::vector<Tree> parts = {expression(type, Level::lane, 2).tree,
                             operand("($0 & 31u)", {expression(Type::u32, Level::lane, 1).tree}, "1u")};
  const std::string to = filled(copy.text, copy.sizes, Level::lane, 1, parts), name = fresh("x");
  const bool whole = threads_ % 32 == 0;
  const unsigned width = chance(50) ? 32 : one_of({16, 8, 4, 2});
  const std::string w = width == 32 ? ")" : ", " + std::to_string(width) + ")";
  if (width != 32) feature("shuffle: width");
  const std::string start = std::string("{\nconst ") + row(type).name + " " + name + " = ";
  // A lane that does not exist gives nothing: then the lane's own value stays.
  switch (below(4)) {
    case 0:
      feature("shuffle: any lane");
      if (!whole)
        return statement(
            start + "__shfl_sync(" + full_ + ", $0, $1 % __popc(" + full_ + "));\n" + to + " = " + name + ";\n}\n",
            std::move(parts));
      return statement(start + "__shfl_sync(" + full_ + ", $0, $1" + w + ";\n" + to + " = " + name + ";\n}\n",
                       std::move(parts));
    case 1:
      feature("shuffle: up");
      return statement(start + "__shfl_up_sync(" + full_ + ", $0, $1" + w + ";\n" + to + " = " + name + ";\n}\n",
                       std::move(parts));
    case 2:
      feature("shuffle: down");
      return statement(start + "__shfl_down_sync(" + full_ + ", $0, $1" + w + ";\n" +
                           (whole ? "" : "if (lane + $1 < __popc(" + full_ + ")) ") + to + " = " + name + ";\n}\n",
                       std::move(parts));
    default:
      feature("shuffle: xor");
      return statement(start + "__shfl_xor_sync(" + full_ + ", $0, $1" + w + ";\n" +
                           (whole ? "" : "if ((lane ^ $1) < __popc(" + full_ + ")) ") + to + " = " + name + ";\n}\n",
                       std::move(parts));
  }
}

// The result is the same for the warp, and may become the value of something that is.
Tree Builder::vote() {
  const Place* found = some_place(Type::u32, Level::warp, true);
  if (!found || found->bit_field) return nullptr;
  const Place copy = *found;
  std::vector<Tree> parts = {expression(Type::boolean, Level::lane, 2).tree};
  const std::string to = filled(copy.text, copy.sizes, copy.level, 1, parts);
  static const char* const names[] = {"__ballot_sync", "__any_sync", "__all_sync"};
  const unsigned which = below(4);
  if (which == 3) {
    feature("__activemask");
    return statement(to + " = __activemask() >> lane & 1u;\n", std::move(parts));
  }
  feature(names[which]);
  return statement(to + " = (u32)" + names[which] + "(" + full_ + ", $0);\n", std::move(parts));
}

Tree Builder::match() {
  const Place* found = some_place(Type::u32, Level::lane, true);
  if (!found || found->bit_field) return nullptr;
  const Place copy = *found;
  const Type type = any_type(kWords | kLongs);
  std::vector<Tree> parts = {
      operand("($0 & 3)", {expression(type, Level::lane, 2).tree}, std::string(row(type).name) + "(1)")};
  const std::string to = filled(copy.text, copy.sizes, Level::lane, 1, parts), name = fresh("x");
  if (chance(60))
    return feature("__match_any_sync"), statement(to + " = __match_any_sync(" + full_ + ", ($0));\n", std::move(parts));
  feature("__match_all_sync");
  return statement("{\nint " + name + " = 0;\nconst u32 y" + name + " = __match_all_sync(" + full_ + ", ($0), &" +
                       name + ");\n" + to + " = y" + name + " + (u32)" + name + ";\n}\n",
                   std::move(parts));
}

Tree Builder::reduce() {
  const Type type = any_type(kWords);
  const Place* found = some_place(type, Level::warp, true);
  if (!found || found->bit_field) return nullptr;
  const Place copy = *found;
  std::vector<Tree> parts = {expression(type, Level::lane, 2).tree};
  const std::string to = filled(copy.text, copy.sizes, copy.level, 1, parts);
  static const char* const names[] = {"add", "min", "max", "and", "or", "xor"};
  return statement(to + " = __reduce_" + names[below(type == Type::u32 ? 6 : 3)] + "_sync(" + full_ + ", $0);\n",
                   std::move(parts));
}

// Some lanes of a warp in one branch and the others in the other, each with a mask of its own.
Tree Builder::split() {
  const Place* found = some_place(Type::u32, Level::lane, true);
  if (!found || !found->sizes.empty() || found->bit_field) return nullptr;
  const std::string to = found->text;
  const uint32_t mask = static_cast<uint32_t>(random());
  const std::string m = "(" + full_ + " & " + std::to_string(mask) + "u)",
                    rest = "(" + full_ + " & " + std::to_string(~mask) + "u)";
  const auto side = [&](const std::string& who) {
    const Expression e = expression(Type::u32, Level::lane, 2), truth = expression(Type::boolean, Level::lane, 2);
    static const char* const texts[] = {" ^= __ballot_sync(", " += __match_any_sync(", " += __reduce_add_sync(",
                                        " ^= __reduce_xor_sync("};
    const unsigned which = below(6);
    if (which == 4)  // the first of them to all
      return statement(to + " += __shfl_sync(" + who + ", $0, __ffs((int)" + who + ") - 1);\n", {e.tree});
    if (which == 5) return statement("__syncwarp(" + who + ");\n");
    return statement(to + texts[which] + who + ", $0);\n", {which == 0 ? truth.tree : e.tree});
  };
  return statement("if (" + std::to_string(mask) + "u >> lane & 1u) {\n$0$1} else {\n$2}\n",
                   {side(m), side(m), side(rest)});
}

// Lanes of a warp read what others of it have written to shared memory.
Tree Builder::warp_tile() {
  const Place* found = some_place(Type::u32, Level::lane, true);
  if (!found || found->bit_field) return nullptr;
  const Place copy = *found;
  std::vector<Tree> parts = {expression(Type::u32, Level::lane, 2).tree,
                             operand("$0", {expression(Type::u32, Level::lane, 1).tree}, "0u")};
  const std::string to = filled(copy.text, copy.sizes, Level::lane, 1, parts), name = fresh("x");
  uses_warp_tile_ = true;
  return statement("{\nconst u32 " + name + " = $0;\nwarp_tile[tid] = " + name + ";\n__syncwarp(" + full_ +
                       ");\nconst u32 y" + name + " = warp_tile[(tid & ~31u) + $1 % __popc(" + full_ +
                       ")];\n__syncwarp(" + full_ + ");\n" + to + " = y" + name + ";\n}\n",
                   std::move(parts));
}

}  // namespace coalesce::random_cuda
