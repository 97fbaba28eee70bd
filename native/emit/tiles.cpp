#include "native/emit/tiles.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "native/emit/move.h"

namespace coalesce::native {

using namespace llvm;
using machine::kLanes;

namespace {

AllocaInst* tile_place(Emitter& e, std::size_t k) {
  if (e.tile_places.size() > k) return e.tile_places[k];
  AllocaInst* place = e.local(ArrayType::get(e.ir.getInt32Ty(), kLanes * kMostTileColumns), "columns");
  place->setAlignment(Align(64));
  e.tile_places.push_back(place);
  return place;
}

// Word 32 c + l of the place is lane l of column c. Reads up to 60 bytes behind the last row: there is room behind
// shared memory.
void transpose_tile(Emitter& e, const Tile& tile, AllocaInst* place) {
  IRBuilder<>& ir = e.ir;
  Type *i32 = ir.getInt32Ty(), *i64 = ir.getInt64Ty();
  const int64_t stride = e.p.registers[tile.reg].stride;
  BasicBlock *before = ir.GetInsertBlock(), *loop = e.block("columns"), *after = e.block("transposed");
  ir.CreateBr(loop);
  ir.SetInsertPoint(loop);
  PHINode* part = ir.CreatePHI(i64, 2);  // 16 columns of the first 16 rows, then of the others
  part->addIncoming(ir.getInt64(0), before);
  Value *window = ir.CreateLShr(part, 1), *half = ir.CreateAnd(part, ir.getInt64(1));
  Value* from = ir.CreateAdd(ir.CreateMul(window, ir.getInt64(4 * kTileColumns)),
                             ir.CreateMul(half, ir.getInt64(static_cast<uint64_t>(16 * stride))));
  from = ir.CreateAdd(from, ir.getInt64(static_cast<uint64_t>(tile.first)));
  Value* rows = ir.CreateGEP(ir.getInt8Ty(), e.field(offsetof(Frame, shared), "shared"), from);
  Value* to = ir.CreateAdd(ir.CreateMul(window, ir.getInt64(4 * kTileColumns * kLanes)), ir.CreateShl(half, 6));
  Value* columns = ir.CreateGEP(ir.getInt8Ty(), place, to);
  VectorType *four = FixedVectorType::get(i32, 4), *all = FixedVectorType::get(i32, 16);
  // Mixes each four lanes of a vector: elements of `a` and, from 4 on, of `b`.
  const auto mix = [&](Value* a, Value* b, std::array<int, 4> which) {
    SmallVector<int, 16> order;
    for (int group = 0; group < 16; group += 4)
      for (const int k : which) order.push_back(k < 4 ? group + k : 16 + group + k - 4);
    return ir.CreateShuffleVector(a, b, order);
  };
  for (uint64_t column = 0; column < kTileColumns; column += 4) {
    Value* v[4];  // v[j]: of rows j, j + 4, j + 8, j + 12
    for (uint64_t j = 0; j < 4; ++j) {
      v[j] = PoisonValue::get(all);
      for (uint64_t group = 0; group < 4; ++group) {
        const uint64_t offset = (j + 4 * group) * static_cast<uint64_t>(stride) + 4 * column;
        Value* piece = ir.CreateAlignedLoad(four, ir.CreateConstGEP1_64(ir.getInt8Ty(), rows, offset), Align(4));
        v[j] = ir.CreateInsertVector(all, v[j], piece, ir.getInt64(4 * group));
      }
    }
    Value *low01 = mix(v[0], v[1], {0, 4, 1, 5}), *high01 = mix(v[0], v[1], {2, 6, 3, 7});
    Value *low23 = mix(v[2], v[3], {0, 4, 1, 5}), *high23 = mix(v[2], v[3], {2, 6, 3, 7});
    Value* out[] = {mix(low01, low23, {0, 1, 4, 5}), mix(low01, low23, {2, 3, 6, 7}), mix(high01, high23, {0, 1, 4, 5}),
                    mix(high01, high23, {2, 3, 6, 7})};
    for (uint64_t j = 0; j < 4; ++j)
      ir.CreateAlignedStore(out[j], ir.CreateConstGEP1_64(ir.getInt8Ty(), columns, 4 * kLanes * (column + j)),
                            Align(64));
  }
  Value* next = ir.CreateAdd(part, ir.getInt64(1));
  part->addIncoming(next, loop);
  ir.CreateCondBr(ir.CreateICmpULT(next, ir.getInt64(2 * tile.columns / kTileColumns)), loop, after);
  ir.SetInsertPoint(after);
}

}  // namespace

void prepare_tiles(Emitter& e, uint32_t r, Value* all_on) {
  IRBuilder<>& ir = e.ir;
  const std::vector<Tile>& tiles = e.facts.regions[r].tiles;
  if (isa<Constant>(all_on) || tiles.empty()) return;
  BasicBlock *transpose = e.block("transpose"), *ready = e.block("ready");
  e.region.tiles_ready = all_on;
  ir.CreateCondBr(all_on, transpose, ready);
  ir.SetInsertPoint(transpose);
  for (std::size_t k = 0; k < tiles.size(); ++k) {
    e.region.tiles.push_back({&tiles[k], tile_place(e, k)});
    transpose_tile(e, tiles[k], e.region.tiles.back().place);
  }
  ir.CreateBr(ready);
  ir.SetInsertPoint(ready);
}

bool load_column(Emitter& e, const Instruction& i, Value* base, const Active& active) {
  IRBuilder<>& ir = e.ir;
  if (active.mask || !reads_column(e.p, i)) return false;
  const MemoryOp& m = e.p.memory[i.memory];
  const auto tile = std::ranges::find(e.region.tiles, m.address.reg, [](const PlacedTile& t) { return t.tile->reg; });
  if (tile == e.region.tiles.end()) return false;
  Type* i64 = ir.getInt64Ty();
  VectorType* all = e.wide(ir.getInt32Ty());
  BasicBlock *quick = e.block("column"), *gather = e.block("gather"), *done = e.block("loaded");
  ir.CreateCondBr(e.region.tiles_ready, quick, gather);
  ir.SetInsertPoint(quick);
  Value* from = ir.CreateSub(ir.CreateZExt(base, i64), ir.getInt64(static_cast<uint64_t>(tile->tile->first)));
  Value* column = ir.CreateGEP(ir.getInt8Ty(), tile->place, ir.CreateMul(from, ir.getInt64(kLanes)));
  Value* transposed = ir.CreateAlignedLoad(all, column, Align(64));
  ir.CreateBr(done);
  ir.SetInsertPoint(gather);
  Value* at = ir.CreateGEP(ir.getInt8Ty(), e.field(offsetof(Frame, shared), "shared"),
                           e.spread(base, e.p.registers[m.address.reg].stride));
  Value* gathered = ir.CreateMaskedGather(all, at, Align(4), Constant::getAllOnesValue(e.wide(ir.getInt1Ty())),
                                          Constant::getNullValue(all));
  ir.CreateBr(done);
  ir.SetInsertPoint(done);
  PHINode* either = ir.CreatePHI(all, 2);
  either->addIncoming(transposed, quick);
  either->addIncoming(gathered, gather);
  load_result(e, m, 0, either, active);
  return true;
}

}  // namespace coalesce::native
