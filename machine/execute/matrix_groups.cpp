// Products that follow one another share factors: 4 x 8 of them, say, have 12.
#include <algorithm>
#include <map>

#include "machine/execute/matrices.h"

namespace coalesce::machine {

namespace {

// Products in the order of the code that can be one step.
class Grouping {
 public:
  // Whether the product belongs to those before it, which it follows.
  bool takes(const LaneOp& op) {
    if (ops_.empty() || ops_.size() == kMost) return false;
    const MatrixForm &f = *op.matrix, &first = *ops_.front()->matrix;
    if (f.left != first.left || f.result != first.result || f.k != first.k || f.block != first.block ||
        f.negative != first.negative)
      return false;
    for (uint32_t i = 0; i < factors(); ++i)
      if (std::find(written_.begin(), written_.end(), op.sources[i]) != written_.end()) return false;
    add(op);
    return true;
  }
  void begin(const LaneOp& op) {
    ops_.clear(), written_.clear();
    add(op);
  }
  // The group, unless it is one product.
  std::shared_ptr<const MatrixGroup> end() {
    if (ops_.size() < 2) return ops_.clear(), nullptr;
    auto group = std::make_shared<MatrixGroup>();
    group->lefts = factors() / 3 * 2, group->factors = factors();
    group->sums = static_cast<uint32_t>(ops_.front()->targets.size());
    for (const LaneOp* op : ops_) group->products.push_back({op, {}});
    keep(0, group->lefts, kLeftPlaces, [&](std::size_t n, uint8_t place, bool has) {
      group->products[n].places.left = place, group->products[n].places.has_left = has;
    });
    keep(group->lefts, group->factors, kRightPlaces, [&](std::size_t n, uint8_t place, bool has) {
      group->products[n].places.right = place, group->products[n].places.has_right = has;
    });
    ops_.clear();
    return group;
  }

 private:
  static constexpr std::size_t kMost = 64;
  uint32_t factors() const { return 3u * ops_.front()->matrix->k / (4 * run_of(ops_.front()->matrix->left)); }
  void add(const LaneOp& op) {
    ops_.push_back(&op);
    written_.insert(written_.end(), op.targets.begin(), op.targets.end());
  }
  // Places of the factors whose registers are the sources [first, last). One that is needed last gives way, and of
  // those that are not needed the first: few places stay in the CPU's nearest cache.
  template <class Set>
  void keep(uint32_t first, uint32_t last, uint32_t places, Set set) const {
    std::map<std::vector<Slot>, uint32_t> numbers;
    std::vector<uint32_t> number, held(places, kNone);
    for (const LaneOp* op : ops_)
      number.push_back(numbers
                           .emplace(std::vector<Slot>(op->sources.begin() + first, op->sources.begin() + last),
                                    static_cast<uint32_t>(numbers.size()))
                           .first->second);
    for (std::size_t n = 0; n < number.size(); ++n) {
      const auto next = [&](uint32_t factor) {
        return std::find(number.begin() + static_cast<std::ptrdiff_t>(n), number.end(), factor);
      };
      auto at = std::find(held.begin(), held.end(), number[n]);
      const bool has = at != held.end();
      if (!has)
        at = std::max_element(held.begin(), held.end(), [&](uint32_t a, uint32_t b) { return next(a) < next(b); });
      *at = number[n];
      set(n, static_cast<uint8_t>(at - held.begin()), has);
    }
  }

  std::vector<const LaneOp*> ops_;
  std::vector<Slot> written_;
};

}  // namespace

void group_products(Code& code, Stream& stream) {
  if (code.checked) return;
  const Handler others =
      matrix_handler({});  // the block's beginning has waited: the step where lanes meet does nothing
  Grouping group;
  LaneOp* leader = nullptr;
  uint32_t to = stream.first;
  const auto end = [&] {
    if (auto all = group.end()) {
      leader->group = std::move(all);
      code.steps[to - 1].run = multiply_group;
    }
  };
  for (uint32_t k = stream.first; k < stream.last; ++k) {
    const Step s = code.steps[k];
    if (s.run == others && static_cast<const LaneOp*>(s.extra)->matrix->action == MatrixForm::Action::meet) continue;
    const bool is_product = s.run == multiply_common;
    const auto* op = is_product ? static_cast<const LaneOp*>(s.extra) : nullptr;
    if (is_product && group.takes(*op)) continue;
    end();
    code.steps[to] = s;
    code.instruction_of[to++] = code.instruction_of[k];
    if (!is_product) continue;
    leader = const_cast<LaneOp*>(op);
    group.begin(*op);
  }
  end();
  code.steps.resize(to);
  code.instruction_of.resize(to);
  stream.last = to;
}

}  // namespace coalesce::machine
