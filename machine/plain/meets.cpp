// Where lanes that part at a branch meet again: at its immediate post-dominator, the first place that is on all ways
// from the branch to the function's end. A way that ends the thread is none: lanes that leave before the end do not
// keep apart those that stay.
#include <algorithm>
#include <set>

#include "machine/plain/code.h"

namespace coalesce::machine::plain {

namespace {

// Basic blocks, numbered in the order of the text; behind them the end of the text, of a kernel an exit, of a function
// where the call returns; and an exit for guarded instructions that end the thread. gone() is behind all exits.
class Graph {
 public:
  Graph(Code& code, const Bodies& bodies) : code_(code), bodies_(bodies) { build(); }

  void find() {
    leave_out_exits();
    for (;;) {
      const std::vector<uint32_t> meets = post_dominators();
      if (leave_out_smallest_side(meets)) continue;
      for (uint32_t b = 0; b < end(); ++b) {
        Op& last = code_.ops[blocks_[b].last];
        if (last.flow == Flow::branch || last.flow == Flow::table || last.flow == Flow::leave)
          last.meet = meets[b] >= gone() ? kNowhere : blocks_[meets[b]].first;
        // An exit that is the only way out: all meet there.
        if (last.taken_exits && meets[b] == blocks_[b].next[0]) last.taken_exits = false;
        if (last.next_exits && meets[b] == blocks_[b].next[1]) last.next_exits = false;
      }
      return;
    }
  }

 private:
  struct Block {
    uint32_t first = 0, last = 0;  // instructions
    std::vector<uint32_t> next;    // of a branch: where it goes when taken, then what follows
    bool two_ways = false;         // a branch, or a guarded return
    bool has_barrier = false, is_exit = false, reached = false;
    uint32_t left_out = kNowhere;  // a way that is none
  };

  uint32_t gone() const { return static_cast<uint32_t>(blocks_.size()); }
  uint32_t exit() const { return end_ + 1; }
  uint32_t end() const { return end_; }
  bool is_end(uint32_t b) const { return blocks_[b].next.empty(); }

  bool leaves_thread(const Op& op) const {
    return op.flow == Flow::exit || (op.flow == Flow::leave && code_.is_kernel);
  }

  // Whether a function ever returns, and whether it has a barrier.
  static bool returns(const ptx::Function& f) {
    for (const ptx::Instruction& in : f.body)
      if (in.mnemonic.starts_with("ret")) return true;
    return f.body.empty() || !f.body.back().mnemonic.starts_with("exit") || f.body.back().guard >= 0;
  }
  bool holds_barrier(const ptx::Function* f, std::set<const ptx::Function*>& seen) const {
    const auto body = bodies_.codes.find(f);
    if (body == bodies_.codes.end() || !seen.insert(f).second) return false;
    for (const Op& op : body->second->ops)
      if (op.flow == Flow::barrier || (op.flow == Flow::call && holds_barrier(op.callee.function, seen))) return true;
    return false;
  }

  void build() {
    std::vector<Op>& ops = code_.ops;
    const uint32_t n = static_cast<uint32_t>(ops.size());
    std::vector<bool> begins(n + 1);
    begins[0] = begins[n] = true;
    for (uint32_t k = 0; k < n; ++k) {
      if (ops[k].flow != Flow::straight) begins[k + 1] = true;
      if (ops[k].names_lanes) begins[k] = true;
      if (ops[k].target != kNowhere) begins[ops[k].target] = true;
      for (uint32_t t : ops[k].targets) begins[t] = true;
    }
    std::vector<uint32_t> block_of(n + 1);
    for (uint32_t k = 0; k <= n; ++k) {
      if (begins[k]) {
        blocks_.push_back({});
        blocks_.back().first = k;
      }
      if (k < n) ops[k].begins = begins[k];
      blocks_.back().last = k;
      block_of[k] = static_cast<uint32_t>(blocks_.size() - 1);
    }
    end_ = static_cast<uint32_t>(blocks_.size()) - 1;
    blocks_.push_back({});
    blocks_.back().is_exit = true;
    for (uint32_t b = 0; b < end(); ++b) {
      Block& block = blocks_[b];
      const Op& op = ops[block.last];
      const uint32_t following = b + 1;
      const bool guarded = op.guard >= 0;
      block.is_exit = block.first == block.last && leaves_thread(op) && !guarded;
      block.has_barrier = op.flow == Flow::barrier;
      switch (op.flow) {
        case Flow::branch:
          block.next = {block_of[op.target]};
          if (guarded && block.next[0] != following) {
            block.next.push_back(following);
            block.two_ways = true;
          }
          break;
        case Flow::table:
          for (uint32_t t : op.targets) block.next.push_back(block_of[t]);
          break;
        case Flow::exit:
        case Flow::leave:
          if (!leaves_thread(op)) block.next.push_back(end());
          if (leaves_thread(op) && guarded) block.next.push_back(exit());
          if (guarded) block.next.push_back(following);
          block.two_ways = guarded;
          break;
        case Flow::call: {
          std::set<const ptx::Function*> seen;
          block.has_barrier = op.callee.function && holds_barrier(op.callee.function, seen);
          if (!op.callee.function || returns(*op.callee.function)) block.next = {following};
          break;
        }
        default:
          block.next = {following};
      }
    }
    if (code_.is_kernel) blocks_[end()].is_exit = true;
    give_exits();
    std::vector<uint32_t> todo{0};
    while (!todo.empty()) {
      const uint32_t b = todo.back();
      todo.pop_back();
      if (blocks_[b].reached) continue;
      blocks_[b].reached = true;
      todo.insert(todo.end(), blocks_[b].next.begin(), blocks_[b].next.end());
    }
  }

  // Branches of which one way is an exit and nothing else: lanes that take it leave at once, by an exit of their own.
  void give_exits() {
    for (uint32_t b = 0; b < end(); ++b) {
      Op& op = code_.ops[blocks_[b].last];
      if (op.flow != Flow::branch || !blocks_[b].two_ways) continue;
      for (uint32_t k = 0; k < 2; ++k) {
        const uint32_t to = blocks_[b].next[k];
        if (!blocks_[to].is_exit) continue;
        (k == 0 ? op.taken_exits : op.next_exits) = true;
        blocks_[b].next[k] = static_cast<uint32_t>(blocks_.size());
        blocks_.push_back(Block(blocks_[to]));
      }
    }
  }

  // Blocks on the ways from `from` that do not go on from `without`.
  std::vector<bool> reached_from(uint32_t from, uint32_t without, bool all_ways) const {
    std::vector<bool> seen(blocks_.size());
    std::vector<uint32_t> todo{from};
    while (!todo.empty()) {
      const uint32_t b = todo.back();
      todo.pop_back();
      if (seen[b]) continue;
      seen[b] = true;
      if (b == without) continue;
      for (uint32_t t : blocks_[b].next)
        if (all_ways || t != blocks_[b].left_out) todo.push_back(t);
    }
    return seen;
  }

  // A way to an exit is left out, if those who stay have another way out.
  void leave_out_exits() {
    for (uint32_t b = 0; b < end(); ++b) {
      Block& block = blocks_[b];
      if (!block.reached || !block.two_ways || block.next.size() != 2) continue;
      for (uint32_t k = 0; k < 2; ++k) {
        if (!blocks_[block.next[k]].is_exit) continue;
        const std::vector<bool> stay = reached_from(block.next[1 - k], b, false);
        bool gets_out = false;
        for (uint32_t other = 0; other < stay.size(); ++other)
          gets_out = gets_out || (stay[other] && other != b && is_end(other));
        if (!gets_out) continue;
        block.left_out = block.next[k];
        break;
      }
    }
  }

  // Where the sides of a branch have nothing in common, one of them never comes back to the other: the smallest of all
  // such sides, without a barrier, is left out. True: one was.
  bool leave_out_smallest_side(const std::vector<uint32_t>& meets) {
    std::size_t smallest = blocks_.size() + 1;
    uint32_t from = kNowhere, way = kNowhere;
    for (uint32_t b = 0; b < end(); ++b) {
      const Block& block = blocks_[b];
      if (!block.reached || !block.two_ways || block.next.size() != 2 || block.left_out != kNowhere ||
          meets[b] != gone())
        continue;
      const std::vector<bool> sides[2] = {reached_from(block.next[0], b, true), reached_from(block.next[1], b, true)};
      bool apart = true;
      for (uint32_t k = 0; k < sides[0].size(); ++k) apart = apart && (k == b || !(sides[0][k] && sides[1][k]));
      if (!apart) continue;
      for (uint32_t k = 0; k < 2; ++k) {
        bool may = !sides[k][b] && (code_.is_kernel || !sides[k][end()]);
        std::size_t size = 0;
        for (uint32_t other = 0; other < sides[k].size(); ++other) {
          size += sides[k][other];
          may = may && !(sides[k][other] && blocks_[other].has_barrier);
        }
        if (!may || size >= smallest) continue;
        smallest = size;
        from = b;
        way = block.next[k];
      }
    }
    if (from == kNowhere) return false;
    blocks_[from].left_out = way;
    return true;
  }

  // Immediate post-dominators, gone() where there is none. Sets of post-dominators would be too large for kernels of
  // ten thousands of blocks; so each block's first one is moved towards the end until nothing changes.
  std::vector<uint32_t> post_dominators() const {
    const uint32_t n = gone() + 1;
    std::vector<std::vector<uint32_t>> next(n), before(n);
    for (uint32_t b = 0; b < gone(); ++b) {
      for (uint32_t t : blocks_[b].next)
        if (t != blocks_[b].left_out) next[b].push_back(t);
      if (next[b].empty()) next[b].push_back(gone());
    }
    // Blocks from which no way leads to the end (endless loops) get one, the first of them in the text.
    std::vector<uint32_t> order;
    for (;;) {
      for (auto& list : before) list.clear();
      for (uint32_t b = 0; b < gone(); ++b)
        if (blocks_[b].reached)
          for (uint32_t t : next[b]) before[t].push_back(b);
      order = from_the_end(before);
      std::vector<bool> reaches(n);
      for (uint32_t b : order) reaches[b] = true;
      uint32_t lost = 0;
      while (lost < gone() && (!blocks_[lost].reached || reaches[lost])) ++lost;
      if (lost == gone()) break;
      next[lost].push_back(gone());
    }
    std::vector<uint32_t> place(n, kNowhere), first(n, kNowhere);
    for (uint32_t k = 0; k < order.size(); ++k) place[order[k]] = k;
    first[gone()] = gone();
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t b : order) {
        if (b == gone()) continue;
        uint32_t common = kNowhere;
        for (uint32_t t : next[b]) {
          if (first[t] == kNowhere) continue;
          if (common == kNowhere) common = t;
          uint32_t other = t;
          while (common != other) {  // the one further from the end goes on to its own
            if (place[common] > place[other])
              common = first[common];
            else
              other = first[other];
          }
        }
        if (common != first[b]) first[b] = common, changed = true;
      }
    }
    return first;
  }

  // Blocks in an order in which each comes after one of those it leads to: reverse post-order of the reversed graph.
  std::vector<uint32_t> from_the_end(const std::vector<std::vector<uint32_t>>& before) const {
    std::vector<uint32_t> order;
    std::vector<bool> seen(before.size());
    std::vector<std::pair<uint32_t, std::size_t>> path{{gone(), 0}};
    seen[gone()] = true;
    while (!path.empty()) {
      const uint32_t b = path.back().first;
      if (path.back().second < before[b].size()) {
        const uint32_t p = before[b][path.back().second++];
        if (!seen[p]) seen[p] = true, path.emplace_back(p, 0);
        continue;
      }
      order.push_back(b);
      path.pop_back();
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  Code& code_;
  const Bodies& bodies_;
  std::vector<Block> blocks_;
  uint32_t end_ = 0;
};

}  // namespace

void find_meets(Code& code, const Bodies& bodies) { Graph(code, bodies).find(); }

}  // namespace coalesce::machine::plain
