// A PTX text as values. The parser (parser.h) builds it; machine/program reads it. The parser knows syntax only, not
// which instructions exist. An instruction is its mnemonic and operands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coalesce::ptx {

enum class Space : uint8_t { none, param, global, shared, local, constant };

enum class Type : uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  f32,
  f64,
  other
};
// Size of one element in bytes; pred and none: 0.
unsigned size_of(Type type);
// "u32" -> Type::u32; Type::none when the word names no type; Type::other for types without a use here (e4m3x2, tf32
// ...).
Type type_from(std::string_view word);
std::string_view name_of(Type type);

struct Operand {
  enum class Kind : uint8_t {
    reg,      // `reg`; with `reg2` >= 0 it is the pair `%p|%q` (of `_|%q` `reg` is -1; `%p|_` is %p alone)
    integer,  // `bits`: two's complement, 64 bits wide
    real,     // `bits`: f64 bits (0d..., decimal) or f32 bits (0f...), see `is_f32`
    special,  // `name`: "%tid.x", "%laneid", "%clock64" ...
    symbol,   // `name` (+ `offset`): a variable, function or parameter used as a value
    address,  // [base + offset]: base is register `reg` when >= 0, else symbol `name`, else absolute `offset`;
              // [base, {x, y}, ...] (textures, tensor copies): what follows the base is in `elements`
    vector,   // {elements}
    label,    // `target`: index of an instruction in the function's body (may equal body.size())
    list,     // (elements): call arguments and results; variables of the function appear by their unique names
    part,     // of register `reg`: `name` (b0, h10) or, where that is empty, its negative; `negated`: its part's
    sink,     // _
  };
  Kind kind = Kind::sink;
  bool negated = false;  // !%p as an operand
  bool is_f32 = false;
  int32_t reg = -1;  // index into Function::registers
  int32_t reg2 = -1;
  int64_t offset = 0;
  uint64_t bits = 0;
  uint32_t target = 0;
  std::string name;
  std::vector<Operand> elements;
};

// One .loc: a place, and where its inlined function was called from.
struct Location {
  uint32_t file = 0;  // .file index as written; 0 unknown
  uint32_t line = 0;
  uint32_t column = 0;
  std::string function;     // inlined function's mangled name, from .debug_str; its label where the text lacks that
                            // section; empty when not inlined
  int32_t inlined_at = -1;  // index into Function::locations of the call site, -1 none
};

struct Instruction {
  std::string mnemonic;           // "ld.global.v4.f32", "bra.uni": opcode and suffixes exactly as written
  std::vector<Operand> operands;  // as written, left to right
  int32_t guard = -1;             // @%p: index into Function::registers
  bool guard_negated = false;     // @!%p
  uint32_t line = 0;              // line in the PTX text, from 1
  int32_t location = -1;          // index into Function::locations, -1 before the first .loc
  bool keeps_loop = false;        // `.pragma "nounroll"` stands before it: the loop that begins here is not unrolled
};

struct Register {
  std::string name;  // "%r12", as unique within its scope as written
  Type type = Type::none;
};

// True if a store of that type would take a part of such a register, a number of single or double precision. PTX does
// not allow it; ptxas converts the number to an integer for `.b8` and `.b16` and refuses other types.
inline bool is_part_of_real(Type stored, Type of_register) {
  return (of_register == Type::f32 || of_register == Type::f64) && size_of(stored) < size_of(of_register);
}

// False if ld and st of type `moved` do not take such a register: integers and real numbers do not mix; bits go with
// all (ptxas 13.0, tests/truth/registers.txt). Sizes are another matter.
inline bool is_of_one_kind(Type moved, Type of_register) {
  const auto is_integer = [](Type t) { return t >= Type::u8 && t <= Type::s64; };
  const auto is_real = [](Type t) { return t >= Type::f16 && t <= Type::f64; };
  if (is_real(moved) && is_real(of_register)) return moved == of_register;
  return !(is_integer(moved) && is_real(of_register)) && !(is_real(moved) && is_integer(of_register));
}

// A place in an initialiser that holds the address of a symbol.
struct Relocation {
  uint64_t at = 0;  // byte offset in the variable
  std::string symbol;
  int64_t addend = 0;
  bool generic = false;  // generic(symbol): a generic address, else the address in the symbol's own space
  unsigned size = 8;     // bytes written: 8 or 4; 1 with mask 0xFF(symbol)-style initialisers is expanded by the parser
  unsigned shift = 0;    // mask form: byte `shift/8` of the address (0xFF00(sym) has shift 8, size 1)
};

// The reach of a name when modules are linked.
enum class Linkage : uint8_t {
  local,    // nobody
  visible,  // .visible, .extern
  weak,     // .weak, .common: gives way to a visible definition
};

struct Variable {
  std::string name;
  Linkage linkage = Linkage::local;
  Space space = Space::none;
  Type type = Type::none;
  unsigned alignment = 0;        // bytes; 0: natural
  uint64_t size = 0;             // bytes in all; 0 for `extern .shared x[]` (size given at launch)
  bool is_extern = false;        // .extern: defined elsewhere (or dynamic shared memory when space is shared)
  bool managed = false;          // .attribute(.managed)
  std::vector<uint8_t> initial;  // empty: zeros; else `size` bytes
  std::vector<Relocation> relocations;
};

struct Function {
  std::string name;
  Linkage linkage = Linkage::local;
  bool is_entry = false;  // .entry, else .func
  bool is_declaration = false;
  std::vector<Variable> params;   // in order; offsets follow from size and alignment
  std::vector<Variable> returns;  // .func only
  // .shared, .local, .param variables declared inside, every scope. Names are unique in the function and differ from
  // the module's: a name met again gets "@2", "@3" ... appended, and operands use that.
  std::vector<Variable> variables;
  std::vector<Register> registers;  // every scope; operands refer to them by index
  std::vector<Instruction> body;
  std::vector<Location> locations;
  // .branchtargets / .calltargets label lists and .callprototype, by label (an operand names one as a symbol, made
  // unique as variables are). `targets` are indices into `body`; empty for .calltargets.
  struct Table {
    std::string name;
    std::vector<std::string> entries;
    std::vector<uint32_t> targets;
  };
  std::vector<Table> branch_tables;
  struct Prototype {
    std::string name;
    std::vector<Variable> returns, params;
  };
  std::vector<Prototype> prototypes;
  uint32_t max_threads[3] = {0, 0, 0};       // .maxntid, 0: not given
  uint32_t required_threads[3] = {0, 0, 0};  // .reqntid
  uint32_t most_registers = 0;               // .maxnreg, 0: not given
  uint32_t cluster[3] = {0, 0, 0};           // .reqnctapercluster
  uint32_t line = 0;
};

struct Module {
  std::string text;  // the PTX itself, for diagnostics
  unsigned version_major = 0, version_minor = 0;
  std::string target;  // "sm_90"
  unsigned address_size = 64;
  std::vector<std::pair<uint32_t, std::string>> files;       // .file index, path
  std::vector<Variable> variables;                           // module scope
  std::vector<Function> functions;                           // declarations too
  std::vector<std::pair<std::string, std::string>> aliases;  // .alias name, target
};

}  // namespace coalesce::ptx
