// Flattening: a kernel's PTX and the functions it calls become one list of instructions over one set of registers.
// Calls are inlined; what is passed through .param variables becomes registers (or local memory where it overlaps).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "machine/memory/memory.h"
#include "machine/program/program.h"

namespace coalesce::machine {

struct VideoForm;

class Flattener;
struct OpcodeRow;
using Operand = ptx::Operand::Kind;

// "ld.global.v4.f32" -> opcode "ld", suffixes {"global", "v4", "f32"}.
struct Mnemonic {
  explicit Mnemonic(std::string_view text);
  bool has(std::string_view suffix) const;
  std::string_view opcode;
  std::vector<std::string_view> suffixes;
};

// The feature of an instruction that is known but not executed ("textures"); empty: unknown.
std::string_view unsupported(std::string_view mnemonic);

// The element a register of this PTX type has.
Element element_of(ptx::Type type);
unsigned bytes_of(Element element);
Element element_of_bytes(unsigned bytes);

// Variables that .param names stand for while a call is being inlined: pieces by (offset, size), each a register.
struct ParamStorage {
  std::string owner, name;  // function and variable, for the retry in memory
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> pieces;
  bool in_memory = false;
  uint32_t local_offset = 0;
};

// One function being flattened.
struct Frame {
  const ptx::Function* function = nullptr;
  std::vector<uint32_t> registers;         // the function's registers -> the program's
  std::map<std::string, uint32_t> params;  // .param name -> index of storage (device functions, call arguments)
  std::map<std::string, uint32_t> locals;  // .local variable -> local offset
  std::vector<uint32_t> starts;            // body index -> first instruction of it (one past the end too)
  std::vector<std::pair<uint32_t, uint32_t>> branches;                   // instruction, body index it goes to
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> table_branches;  // instruction, slot, body index
  std::vector<uint32_t> places;                                          // location index -> place
  std::vector<uint32_t> returns;                                         // instructions that leave the function
};

struct ParamConflict {  // thrown inside flatten(): this storage must live in memory; start again
  std::string owner, name;
};

class Flattener {
 public:
  Flattener(const ptx::Module& module, const ptx::Function& kernel, const SymbolTable& symbols, Decoded& out,
            const std::set<std::pair<std::string, std::string>>& in_memory);
  void run();

 private:
  // --- registers, values, instructions
  uint32_t new_register(Element element);
  uint32_t builtin(Builtin which, Element element = Element::b32);
  uint32_t carry();
  Instruction& emit(Kind kind);
  Instruction& emit_pure(std::string_view mnemonic, std::vector<uint32_t> results, std::vector<Value> sources,
                         bool counts);
  Value value(const ptx::Operand& operand, Element wanted);
  Value fitted(Value v,
               Element wanted);  // widened or narrowed by a helper instruction where the register is of another size
  uint32_t result(const ptx::Operand& operand, Element produced, bool is_signed);  // register to write; helper queued
  void finish_results();
  uint32_t array_of(const std::string& name);
  int64_t symbol_value(const std::string& name, int64_t offset, bool generic);
  uint32_t place_of(const ptx::Instruction& in);
  [[noreturn]] void fail(const std::string& message) const;
  void unknown(const std::string& why = {});
  void wrong_number();

  // --- functions
  void function(const ptx::Function& f, Frame& frame);
  void instruction(const ptx::Instruction& in);
  void declare_variables(const ptx::Function& f, Frame& frame);
  uint32_t storage(const std::string& name);

  // --- families (flatten_*.cpp)
  void pure();
  void move();
  void param_load();
  void param_store();
  void load_store(bool is_store);
  void atomic(bool returns);
  void shuffle();
  void vote();
  void match();
  void barrier();
  void branch();
  void branch_table();
  void leave(bool whole_thread);
  void leave_function() { leave(false); }
  void leave_kernel() { leave(true); }
  void trap();
  void call();
  void address_conversion();
  void texture();
  void surface();
  bool texture_place(const ptx::Operand& place, unsigned wanted, const ptx::Operand& results,
                     std::vector<Value>& sources);
  void texture_call(const std::vector<Value>& sources, uint32_t a, uint32_t b, bool counts);
  void is_space();
  void nothing();
  void grid_control();
  Instruction& emit_nothing(Nothing what = Nothing::nothing);
  void groups(Nothing commit, Nothing wait);
  void fence();
  void reduce_lanes();
  void elect();
  void async_copy();
  void mbarrier();
  void mbarrier_access(const ptx::Operand& where, AtomicOp op, Value operand, uint32_t old, Order order);
  void copies_arrive();
  // flatten_cluster.cpp
  Value cluster_register(std::string_view name);
  void map_address();
  void cluster_rank_of();
  void cluster_barrier();
  void bulk_copy();
  void tensor_copy();
  void store_async();
  void tensor_map();
  Value pure64(std::string_view row, std::vector<Value> sources);
  Value generic_address(const ptx::Operand& o, bool shared);
  void counts_sectors(BulkSite::Traffic traffic);
  void service(std::string_view name, std::vector<Value> words, uint32_t result);
  // flatten_matrix.cpp
  struct Fragment;
  void move_matrix();
  void warp_matrix();
  void matrix_multiply();
  void quad_multiply(MatrixForm f, const std::vector<bool>& by_column);
  void matrix_fragment();
  void matrix_meet();
  void group_matrix();  // flatten_group.cpp
  std::vector<uint32_t> described_tiles(const ptx::Operand& descriptor, bool left, bool transposed, std::size_t count,
                                        uint8_t deep);
  std::vector<uint32_t> matrix_registers(const ptx::Operand& operand, Element element) const;
  Instruction& emit_matrix(const MatrixForm& form, const std::vector<uint32_t>& sources, std::vector<uint32_t> results,
                           bool meets, bool counts);
  uint32_t matrix_pure(std::string_view mnemonic, Element element, std::vector<Value> sources);
  void matrix_move(uint32_t to, Value from);
  void matrix_access(Kind kind, MemoryOp op, uint32_t first);
  void matrix_spread(MemoryOp op, uint8_t count, bool transposed, std::vector<uint32_t> results);
  MemoryOp matrix_place(const Fragment& f, uint32_t line, Value lane_line, uint32_t place, Value lane_place);
  void load_tile(const Fragment& f, const Tile& tile, uint32_t result);
  void load_rows(const Fragment& f, const std::vector<Tile>& tiles, bool left, const std::vector<uint32_t>& results);
  void access_sums(Kind kind, const Fragment& f, const Tile& tile, const uint32_t* registers);
  void store_halves(const Fragment& f, const Tile& tile, uint32_t from);
  void vector_atomic(const MemoryOp& form, bool returns);
  bool composed();
  bool composed_set();
  bool composed_setp();
  bool composed_lop3();
  bool video_form(VideoForm* form) const;
  bool composed_video();
  bool extreme_of_three();
  bool compare_parts(std::vector<std::string_view> suffixes, std::vector<uint32_t>* tests);
  void emit_final(std::string_view mnemonic, std::vector<uint32_t> results, std::vector<Value> sources, bool counts);
  void async_access(Kind kind, MemoryOp op, uint32_t guard, bool counts);
  struct Arguments {
    std::vector<uint32_t> results, arguments;  // storages
    std::vector<std::string> result_names;     // the caller's names of the results
  };
  bool call_builtin(const std::string& callee, const Arguments& a);
  bool call_service(const std::string& callee, const Arguments& a);
  void call_function(const ptx::Function& f, const Arguments& a);
  void inline_call(const ptx::Function& f, const Arguments& a);
  void call_instance(const ptx::Function& f, const Arguments& a);
  const std::unordered_set<std::string_view>& taken();
  void call_pointer(const ptx::Operand& callee, const std::string& prototype, const Arguments& a);
  void leave_instance();
  void start_stack();
  void finish_stack();
  void allocate_stack();
  void save_stack();
  void restore_stack();
  void emit_instances();
  uint32_t piece_of(uint32_t storage, uint32_t offset, uint32_t width);
  MemoryOp address(const ptx::Operand& operand);
  uint32_t add_memory(MemoryOp op, Kind kind);

  const ptx::Module& module_;
  const ptx::Function& kernel_;
  const SymbolTable& symbols_;
  Decoded& out_;
  const std::set<std::pair<std::string, std::string>>& in_memory_;
  std::unordered_map<std::string_view, const ptx::Function*> defined_;  // the module's, by name
  std::optional<std::unordered_set<std::string_view>> taken_;           // see taken()
  std::vector<uint32_t> parameter_offsets_;
  std::vector<ParamStorage> storages_;
  std::map<std::pair<int, int>, uint32_t> builtins_;
  std::map<std::string, uint32_t> shared_;   // variable -> offset
  std::vector<const ptx::Function*> stack_;  // functions being inlined
  // Functions with a body of their own (flatten_calls.cpp).
  struct Instance {
    std::vector<uint32_t> params, returns;  // storages
    uint32_t frame_base = kNone;            // register: where its local memory begins
    uint32_t entry = 0, frame_bytes = 0;
  };
  std::map<const ptx::Function*, Instance> instances_;
  std::vector<const ptx::Function*> todo_;
  const ptx::Function* instance_ = nullptr;  // being emitted; null: the kernel
  std::vector<std::pair<uint32_t, const ptx::Function*>> frame_fixups_, call_fixups_, return_fixups_;
  uint32_t stack_pointer_ = kNone, stack_start_ = kNone;  // alloca's, where the program uses it
  Frame* frame_ = nullptr;
  const ptx::Instruction* in_ = nullptr;  // being translated
  const ptx::Instruction end_{};          // what stands for the end of the text
  const Mnemonic* m_ = nullptr;
  uint32_t carry_ = kNone;
  struct Pending {
    uint32_t from, to;
    bool is_signed;
  };
  std::vector<Pending> pending_;  // results to widen into their real registers
  friend const std::map<std::string_view, OpcodeRow>& opcode_table();
};

}  // namespace coalesce::machine
