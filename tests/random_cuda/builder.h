// The generator's own state: what there is to name where the next piece of a program stands.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tests/random_cuda/generator.h"
#include "tests/random_cuda/types.h"

namespace coalesce::random_cuda {

// One kind of expression: `text` with "$0" ... for operands, "$T" for the type's name, "$W" for the unsigned type in
// which it is computed, "$M" for its bits less one. Operands are letters: T the type itself; N any type, the same for
// all N of a row; X any integer of up to 64 bits; R a floating-point type; B bool; others as in kOperands.
struct ExpressionRow {
  const char* feature;
  unsigned weight;
  uint32_t types;
  const char* text;
  const char* operands;
};
const std::vector<ExpressionRow>& expression_rows();

// The first of a program's structs are CUDA's vector types.
inline constexpr unsigned kVectorTypes = 11;

struct Expression {
  Tree tree;
  Type type;
  Level level;
};

struct Parameter {
  enum class Kind : uint8_t { scalar, structure, reference, const_reference, pointer, array };
  Kind kind;
  Type type;       // scalar, reference, array
  unsigned which;  // structure, const_reference, pointer: the struct; array: its size
};

struct Function {
  std::string name;
  Type result;
  int struct_result = -1;
  std::vector<Parameter> parameters;
  unsigned cost = 1;
  bool recursive = false;
  bool alike = false;  // has the signature of those that are called through pointers
};

class Builder {
 public:
  explicit Builder(uint32_t seed);
  Program build();

 private:
  friend std::vector<std::string> all_features();

  // random.cpp: choices
  uint64_t random();
  unsigned below(unsigned n) { return static_cast<unsigned>(random() % n); }
  bool chance(unsigned percent) { return below(100) < percent; }
  unsigned one_of(std::initializer_list<unsigned> values);
  Type any_type(uint32_t set);
  bool feature(const char* name);  // counts it; true
  std::string fresh(const char* prefix);
  struct Choice {
    const char* feature;
    unsigned weight;
    std::function<Tree()> make;
  };
  Tree choose(const std::vector<Choice>& choices);

  // pieces of the tree
  Tree text(std::string t);  // fixed
  Tree statement(std::string t, std::vector<Tree> parts = {}, uint32_t stand_ins = 0, unsigned first_listed = 0);
  Tree declaration(const std::string& name, std::string t, std::vector<Tree> parts = {});
  Tree list(std::vector<Tree> parts);
  Tree operand(std::string t, std::vector<Tree> parts, std::string least);

  // expressions.cpp
  Expression expression(Type type, Level level, unsigned depth);
  Expression from_row(const ExpressionRow& row, Type type, Level level, unsigned depth);
  Expression leaf(Type type, Level level, unsigned depth);
  Expression call(Type type, Level level, unsigned depth);
  Tree constant(Type type);
  Tree index(unsigned size, Level level, unsigned depth);
  Expression finished(Type type, Level level, std::string t, std::vector<Expression> parts,
                      std::vector<Tree> others = {});
  // `filled` appends the indices of a place to parts and returns its text with "$n" for them.
  std::string filled(const std::string& place, const std::vector<unsigned>& sizes, Level level, unsigned depth,
                     std::vector<Tree>& parts);
  const Place* some_place(Type type, Level level, bool to_write);
  const StructPlace* some_struct(int type, Level level, bool to_write);

  // structs.cpp
  void make_structs();
  void inner_field(Struct& made, const std::string& name, unsigned type, std::string& field);
  void add_struct_place(const std::string& text, const std::vector<unsigned>& sizes, unsigned type, Level level,
                        bool writable);
  Tree struct_argument(unsigned type, Level level);

  // statements.cpp, control.cpp
  Tree body(unsigned statements, Level control);
  Tree any_statement(Level control);
  Tree declare(Level control);
  Tree declare_array();
  Tree declare_struct(Level control);
  Tree assign(Level control);
  Tree copy_struct();
  Tree copy_bytes();
  Tree lambda();
  Tree call_statement();
  Tree if_else(Level control);
  Tree loop(Level control);
  Tree switch_over(Level control);
  Tree leave_loop(Level control);

  // warp.cpp: what threads do together; control says who
  Tree together(Level control);
  Tree shuffle();
  Tree vote();
  Tree match();
  Tree reduce();
  Tree split();
  Tree warp_tile();
  Tree block_vote();
  Tree write_tile();
  Tree tile_atomic();
  void hide(const std::string& name, bool hidden);
  Tree global_atomic();
  struct Update {
    unsigned operation;  // of the table of atomics
    Type type;
  };
  Update any_update();
  Tree update(const std::string& address, Update u, std::vector<Tree> parts);
  Tree own_atomic();
  Tree compare_and_swap();

  // functions.cpp
  void make_functions();
  Tree function(unsigned number);
  Tree recursive_function(unsigned number);
  Tree template_function();
  Tree array_argument(Type type, Level level);
  bool arguments(const Function& f, Level level, unsigned depth, std::vector<Tree>& parts, std::string& t);

  // kernel.cpp, program.cpp
  Tree kernel(unsigned number);
  void make_constants();
  void shape();
  void parameter(const std::string& declared, const std::string& on_device, const std::string& on_host);
  void struct_parameters();
  void number_parameters();
  void buffer_parameters();
  void shared_memory(std::vector<Tree>& declarations);
  Tree results();
  Tree launch(const std::string& name);
  Tree run_function();

  uint64_t state_;
  Program program_;
  uint32_t next_id_ = 1;
  unsigned names_ = 0;
  std::vector<Struct> structs_;
  std::vector<Function> functions_;
  std::vector<std::pair<std::string, unsigned>> templates_;
  std::vector<Tree> top_;  // what stands before the kernels

  // The scope: pieces that end take theirs away again.
  std::vector<Place> places_;
  std::vector<StructPlace> struct_places_;
  Level control_ = Level::lane;  // who is together where the next statement stands
  unsigned nesting_ = 0, cost_ = 0, times_ = 1;
  Level loop_control_ = Level::lane;
  bool in_loop_ = false, in_kernel_ = false, has_switch_inside_loop_ = false;

  // The kernel being made
  struct Tile {
    std::string name;
    Type type;
    unsigned size;
    bool is_updated = false;  // by atomics alone, all of one kind
    Update update{};
  };
  std::vector<Tile> tiles_, sums_;
  std::string full_;  // text for the mask of the warp's lanes
  unsigned grid_[3] = {1, 1, 1}, block_[3] = {32, 1, 1}, threads_ = 32;
  unsigned dynamic_bytes_ = 0;
  bool uses_warp_tile_ = false;
  std::vector<Tree> parameters_, device_arguments_, host_arguments_;

  // The program's buffers, which its launches work on in turn
  struct Row {
    std::string name;
    Type type;
    bool sums;
  };
  std::vector<Row> buffers_;
  std::vector<unsigned> struct_buffers_;  // the types of s0, s1 ...
  std::vector<Tree> launches_;
};

}  // namespace coalesce::random_cuda
