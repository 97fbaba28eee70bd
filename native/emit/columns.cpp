// Tiles of shared memory that are written by rows and read by columns, as a transpose does: tile[x][y]. Each lane of a
// column is in another row, which is a gather (57 % of a transpose's time, docs/results/speed.md), and the next warp's
// column is 4 bytes further. Where the block's dimensions say that the warps together read most of such a tile, and
// nothing is written to shared memory meanwhile, it is transposed before the loop over warps, 16 columns of 16 rows at
// a time, and a warp's column is then what it loads.
#include <algorithm>
#include <array>
#include <cstddef>

#include "native/emit/generator.h"

namespace coalesce::native {

using namespace llvm;
using machine::AddressSpace;
using machine::Kind;
using machine::kLanes;

namespace {
// Columns at a time; of a tile, 8 KB of the CPU's first cache; tiles of a region.
constexpr uint32_t kColumns = 16, kMostColumns = 64, kTiles = 2;
}  // namespace

// A word of each lane, rows apart.
bool Generator::reads_column(const Instruction& i) const {
  if (i.kind != Kind::load || i.guard != kNone) return false;
  const MemoryOp& m = p_.memory[i.memory];
  if (m.space != AddressSpace::shared || m.is_volatile || m.width != 4 || m.count != 1 || !m.address.is_reg() ||
      !m.values[0].is_reg() || !in_bounds(m))
    return false;
  const Register& r = p_.registers[m.address.reg];
  return r.lanes == LaneClass::affine && r.stride >= 4 * int64_t{kColumns} && r.stride % 4 == 0;
}

// Before the loop over the warps of region `r`. `all_on`: whether all lanes of all warps are.
void Generator::find_columns(uint32_t r, Value* all_on) {
  tiles_.clear();
  if (isa<Constant>(all_on)) return;
  for (const uint32_t b : plans_[r].blocks)
    for (uint32_t k = p_.blocks[b].first; k < p_.blocks[b].last; ++k) {
      const Instruction& i = p_.code[k];
      const bool writes = i.kind == Kind::store && p_.memory[i.memory].space != AddressSpace::global;
      const bool computes = i.kind == Kind::pure || i.kind == Kind::load || i.kind == Kind::store;
      const bool ends =
          i.kind == Kind::nothing || i.kind == Kind::branch || i.kind == Kind::barrier || i.kind == Kind::exit;
      if (writes || (!computes && !ends)) return tiles_.clear();
      if (!reads_column(i)) continue;
      const MemoryOp& m = p_.memory[i.memory];
      const machine::Range& range = p_.registers[m.address.reg].range;
      const int64_t span = (int64_t{kLanes} - 1) * p_.registers[m.address.reg].stride;
      auto tile = std::ranges::find(tiles_, m.address.reg, &Tile::reg);
      if (tile == tiles_.end()) tile = tiles_.insert(tile, {m.address.reg, 0, INT64_MAX, 0, 0, nullptr});
      if (!p_.blocks[b].divergent) tile->reads += warps();
      tile->first = std::min(tile->first, range.low + m.offset);
      tile->last = std::max(tile->last, range.high - span + m.offset);
    }
  std::erase_if(tiles_, [](Tile& t) {
    t.first &= ~int64_t{3};
    const int64_t columns = ((t.last - t.first) / 4 + kColumns) / kColumns * kColumns;
    t.columns = static_cast<uint32_t>(std::min<int64_t>(columns, kMostColumns + 1));
    return t.columns > kMostColumns || 2 * t.reads < t.columns;
  });
  if (tiles_.size() > kTiles) tiles_.resize(kTiles);
  if (tiles_.empty()) return;
  BB *transpose = block("transpose"), *ready = block("ready");
  tiles_ready_ = all_on;
  ir_.CreateCondBr(all_on, transpose, ready);
  ir_.SetInsertPoint(transpose);
  for (std::size_t k = 0; k < tiles_.size(); ++k) {
    tiles_[k].place = tile_place(k);
    transpose_tile(tiles_[k]);
  }
  ir_.CreateBr(ready);
  ir_.SetInsertPoint(ready);
}

// Regions run one after the other: all have the same places.
AllocaInst* Generator::tile_place(std::size_t k) {
  if (tile_places_.size() > k) return tile_places_[k];
  IRBuilder<> at(entry_, entry_->begin());
  AllocaInst* place = at.CreateAlloca(ArrayType::get(ir_.getInt32Ty(), kLanes * kMostColumns), nullptr, "columns");
  place->setAlignment(Align(64));
  tile_places_.push_back(place);
  return place;
}

// Column c, lane l of it: word 32 c + l of the tile's columns. May read what lies behind the last row, up to 60 bytes:
// there is room behind shared memory.
void Generator::transpose_tile(const Tile& tile) {
  Type *i32 = ir_.getInt32Ty(), *i64 = ir_.getInt64Ty();
  const int64_t stride = p_.registers[tile.reg].stride;
  BB *before = ir_.GetInsertBlock(), *loop = block("columns"), *after = block("transposed");
  ir_.CreateBr(loop);
  ir_.SetInsertPoint(loop);
  PHINode* part = ir_.CreatePHI(i64, 2);  // 16 columns of the first 16 rows, then of the others
  part->addIncoming(ir_.getInt64(0), before);
  Value *window = ir_.CreateLShr(part, 1), *half = ir_.CreateAnd(part, ir_.getInt64(1));
  Value* from = ir_.CreateAdd(ir_.CreateMul(window, ir_.getInt64(4 * kColumns)),
                              ir_.CreateMul(half, ir_.getInt64(static_cast<uint64_t>(16 * stride))));
  from = ir_.CreateAdd(from, ir_.getInt64(static_cast<uint64_t>(tile.first)));
  Value* rows = ir_.CreateGEP(ir_.getInt8Ty(), field(offsetof(Frame, shared), ir_.getPtrTy(), "shared"), from);
  Value* to = ir_.CreateAdd(ir_.CreateMul(window, ir_.getInt64(4 * kColumns * kLanes)), ir_.CreateShl(half, 6));
  Value* columns = ir_.CreateGEP(ir_.getInt8Ty(), tile.place, to);
  VectorType *four = FixedVectorType::get(i32, 4), *all = FixedVectorType::get(i32, 16);
  // Of each four lanes of a vector: elements of `a` and, from 4 on, of `b`.
  const auto mix = [&](Value* a, Value* b, std::array<int, 4> which) {
    SmallVector<int, 16> order;
    for (int group = 0; group < 16; group += 4)
      for (const int k : which) order.push_back(k < 4 ? group + k : 16 + group + k - 4);
    return ir_.CreateShuffleVector(a, b, order);
  };
  for (uint64_t column = 0; column < kColumns; column += 4) {
    Value* v[4];  // v[j]: of rows j, j + 4, j + 8, j + 12
    for (uint64_t j = 0; j < 4; ++j) {
      v[j] = PoisonValue::get(all);
      for (uint64_t group = 0; group < 4; ++group) {
        const uint64_t offset = (j + 4 * group) * static_cast<uint64_t>(stride) + 4 * column;
        Value* piece = ir_.CreateAlignedLoad(four, ir_.CreateConstGEP1_64(ir_.getInt8Ty(), rows, offset), Align(4));
        v[j] = ir_.CreateInsertVector(all, v[j], piece, ir_.getInt64(4 * group));
      }
    }
    Value *low01 = mix(v[0], v[1], {0, 4, 1, 5}), *high01 = mix(v[0], v[1], {2, 6, 3, 7});
    Value *low23 = mix(v[2], v[3], {0, 4, 1, 5}), *high23 = mix(v[2], v[3], {2, 6, 3, 7});
    Value* out[] = {mix(low01, low23, {0, 1, 4, 5}), mix(low01, low23, {2, 3, 6, 7}), mix(high01, high23, {0, 1, 4, 5}),
                    mix(high01, high23, {2, 3, 6, 7})};
    for (uint64_t j = 0; j < 4; ++j)
      ir_.CreateAlignedStore(out[j], ir_.CreateConstGEP1_64(ir_.getInt8Ty(), columns, 4 * kLanes * (column + j)),
                             Align(64));
  }
  Value* next = ir_.CreateAdd(part, ir_.getInt64(1));
  part->addIncoming(next, loop);
  ir_.CreateCondBr(ir_.CreateICmpULT(next, ir_.getInt64(2 * tile.columns / kColumns)), loop, after);
  ir_.SetInsertPoint(after);
}

// A load by a whole warp, lane 0 at `base` of shared memory: from the transposed tile. False: there is none.
bool Generator::load_column(const Instruction& i, Value* base, const Where& where) {
  if (where.mask || !reads_column(i)) return false;
  const MemoryOp& m = p_.memory[i.memory];
  const auto tile = std::ranges::find(tiles_, m.address.reg, &Tile::reg);
  if (tile == tiles_.end()) return false;
  Type* i64 = ir_.getInt64Ty();
  VectorType* all = wide(ir_.getInt32Ty());
  BB *quick = block("column"), *gather = block("gather"), *done = block("loaded");
  ir_.CreateCondBr(tiles_ready_, quick, gather);
  ir_.SetInsertPoint(quick);
  Value* from = ir_.CreateSub(ir_.CreateZExt(base, i64), ir_.getInt64(static_cast<uint64_t>(tile->first)));
  Value* column = ir_.CreateGEP(ir_.getInt8Ty(), tile->place, ir_.CreateMul(from, ir_.getInt64(kLanes)));
  Value* transposed = ir_.CreateAlignedLoad(all, column, Align(64));
  ir_.CreateBr(done);
  ir_.SetInsertPoint(gather);
  Value* at = ir_.CreateGEP(ir_.getInt8Ty(), field(offsetof(Frame, shared), ir_.getPtrTy(), "shared"),
                            spread(base, p_.registers[m.address.reg].stride));
  Value* gathered = ir_.CreateMaskedGather(all, at, Align(4), Constant::getAllOnesValue(wide(ir_.getInt1Ty())),
                                           Constant::getNullValue(all));
  ir_.CreateBr(done);
  ir_.SetInsertPoint(done);
  PHINode* either = ir_.CreatePHI(all, 2);
  either->addIncoming(transposed, quick);
  either->addIncoming(gathered, gather);
  load_result(m, 0, either, where);
  return true;
}

}  // namespace coalesce::native
