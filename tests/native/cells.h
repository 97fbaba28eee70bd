// Kernels for the table of memory accesses: one of each space x kind x width, with every form of address by every class
// of value, and a model of what they leave in memory that shares nothing with the machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coalesce::machine::test::cells {

// How a kernel comes to its memory: an instruction of the space itself, or a generic one through cvta.
struct Place {
  const char* name;
  const char* space;  // of the instructions; "": generic
  const char* where;  // of what is accessed
};
inline constexpr Place kPlaces[] = {
    {"global", "global", "buffer"},    {"global variable", "global", "global"}, {"shared", "shared", "shared"},
    {"local", "local", "local"},       {"constant", "const", "const"},          {"param", "param", "param"},
    {"generic global", "", "buffer"},  {"generic shared", "", "shared"},        {"generic local", "", "local"},
    {"generic constant", "", "const"}, {"generic param", "", "param"}};

enum class Kind { load, store, atomic };
enum class Form { fixed, uniform, contiguous, strided, downwards, wraps, general };
inline constexpr Form kForms[] = {Form::fixed,     Form::uniform, Form::contiguous, Form::strided,
                                  Form::downwards, Form::wraps,   Form::general};
enum class Values { constant, uniform, affine, general };
inline constexpr Values kValues[] = {Values::constant, Values::uniform, Values::affine, Values::general};
enum class Guard { none, block, lanes };
inline constexpr Guard kGuards[] = {Guard::none, Guard::block, Guard::lanes};

struct Width {
  uint32_t bytes, count;
  uint32_t all() const { return bytes * count; }
};
inline constexpr Width kWidths[] = {{1, 1}, {2, 1}, {4, 1}, {8, 1}, {16, 1}, {1, 2},
                                    {1, 4}, {2, 2}, {2, 4}, {4, 2}, {4, 4},  {8, 2}};

struct Cell {
  Form form;
  Values values;
};

class Kernel {
 public:
  Kernel(const Place& place, Kind kind, Width width, Guard guard);
  bool empty() const { return cells_.empty(); }  // no program: nothing writes constants
  const std::string& ptx() const { return ptx_; }
  const std::vector<Cell>& cells() const { return cells_; }
  uint32_t area() const { return static_cast<uint32_t>(cells_.size()) * each_; }  // bytes that the cells access
  // The memory at first: numbers for loads, else zeros.
  std::vector<uint8_t> before() const;
  // The contents of `out` and of the buffer at the end with blocks of x by y threads, if %n is n.
  std::vector<uint8_t> out_after(uint32_t x, uint32_t y, uint32_t n) const;
  std::vector<uint8_t> buffer_after(uint32_t x, uint32_t y, uint32_t n) const;

 private:
  uint64_t place_of(std::size_t cell, uint32_t t, uint32_t n) const;
  bool goes(const Cell& c, uint32_t t, uint32_t n) const;
  void apply(std::vector<uint8_t>& memory, std::size_t cell, uint32_t t, uint32_t n) const;
  std::string text() const;
  std::string access(std::size_t cell) const;

  Place place_;
  Kind kind_;
  Width width_;
  Guard guard_;
  std::vector<Cell> cells_;
  uint32_t each_;
  std::string ptx_;
};

inline constexpr uint32_t kNumber = 16;  // %n for which the block's guard holds

}  // namespace coalesce::machine::test::cells
