// From the text's instructions to Ops. One Decoder for a function; the families are in decode*.cpp.
#pragma once

#include "machine/plain/code.h"
#include "machine/plain/matrix.h"

namespace coalesce::machine::plain {

struct WrongOperands {};  // thrown by what finds operands; the instruction is then unknown

class Decoder {
 public:
  Decoder(Bodies& bodies, Code& code) : bodies_(bodies), code_(code), f_(*code.function) {}
  void run();

 private:
  using Family = void (Decoder::*)();
  static const std::map<std::string_view, Family>& families();

  void lay_out();
  void instruction(const ptx::Instruction& in, Op& op);
  uint32_t line_of(const ptx::Instruction& in);
  void unknown(const std::string& why = {});  // an error only where it is reached
  [[noreturn]] void fail(const std::string& what) const;

  // Operands. `bytes`: of the value as the instruction takes it; 0: a predicate.
  Source constant(uint64_t low, uint64_t high = 0);
  Source source(const ptx::Operand& o, uint8_t bytes);
  Source symbol(const std::string& name, int64_t offset);
  Source own_address(const Variable& v, bool is_param, int64_t offset);
  Dest dest(const ptx::Operand& o, bool is_signed = false);
  Dest second(const ptx::Operand& o);  // of p|q
  Place place(const ptx::Operand& o);
  bool is_own_param(const ptx::Operand& o) const;
  const ptx::Operand& operand(std::size_t k) const;
  std::size_t operands() const { return in_->operands.size(); }
  bool has(std::string_view word) const { return words_->has(word); }

  // Families.
  void compute();
  bool composed();
  bool video();
  void add_with_carry();
  void move();
  void load_store();
  void atomic();
  void copy();
  void address_conversion();
  void is_space();
  void stack();
  void branch();
  void table();
  void leave();
  void call();
  void barrier();
  void trap();
  void nothing();
  void shuffle();
  void vote();
  void match();
  void redux();
  void elect();
  void texture();
  void surface();
  void matrix();
  bool quads(MatrixOp& m, const std::vector<CellType>& types, const std::vector<bool>& by_rows);
  void group_matrix();  // group.cpp
  void mbarrier();
  // cluster.cpp
  void map_address();
  void cluster_rank_of();
  void cluster_barrier();
  void tensor_copy();
  void tensor_map();
  // bulk.cpp
  void bulk_copy();
  void store_async();
  bool element();
  void word(const ptx::Operand& o, bool shared);
  void word(uint64_t value);
  void fragment(const ptx::Operand& o, uint8_t bytes, bool results);
  bool texture_place(const ptx::Operand& o, unsigned coordinates);
  bool read_somewhere(int32_t reg) const;

  Bodies& bodies_;
  Code& code_;
  const ptx::Function& f_;
  const ptx::Instruction* in_ = nullptr;
  const Words* words_ = nullptr;
  Op* op_ = nullptr;
  std::vector<bool> read_;  // registers that some instruction reads
};

bool space_from(std::string_view word, Space* space);
uint8_t register_bytes(Element element);

}  // namespace coalesce::machine::plain
