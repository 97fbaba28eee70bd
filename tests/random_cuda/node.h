// A generated program as a tree of pieces of text. Each piece says what may stand for it, so that a failing program can
// be made smaller without ever becoming one whose behaviour is undefined.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace coalesce::random_cuda {

struct Node;
using Tree = std::shared_ptr<const Node>;

struct Node {
  uint32_t id = 0;   // its number in the program: the same for the same seed
  std::string text;  // "$0" ... "$9" are parts; "$*" are all parts from `first_listed` on, one after another
  std::vector<Tree> parts;
  unsigned first_listed = 0;
  bool droppable = false;
  std::string least;       // what stands for a dropped piece: nothing for a statement, a constant for an expression
  uint32_t stand_ins = 0;  // bit i: part i may stand for the whole
  std::string declares;    // a name that exists only with this piece
};

// The reductions: by a piece's number the part that stands for it, or kDropped.
inline constexpr int kDropped = -1;
using Cuts = std::map<uint32_t, int>;

std::string print(const Tree& tree, const Cuts& cuts = {});

// The pieces that are still part of the printed program, from the outside to the inside.
std::vector<const Node*> pieces(const Tree& tree, const Cuts& cuts);

// Lines indented by their braces.
std::string indented(const std::string& text);

}  // namespace coalesce::random_cuda
