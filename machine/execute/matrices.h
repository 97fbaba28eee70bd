// The tensor cores' instructions on a warp's registers (isa/matrix.h).
#pragma once

#include "machine/execute/code.h"
#include "machine/execute/ops/tensor_registers.h"
#include "machine/isa/matrix.h"

namespace coalesce::machine {

Handler matrix_handler(const MatrixForm& form);  // of Kind::collective

// The forms of mma.sync that programs use most, and several of one form.
void multiply_common(const Step& s, Context& c);
void multiply_group(const Step& s, Context& c);

struct MatrixGroup {
  struct Product {
    const LaneOp* op;
    FactorPlaces places;
  };
  uint32_t lefts = 0, factors = 0, sums = 0;  // registers of each product
  std::vector<Product> products;
};

// Makes one step of common products that follow one another, which reads what they share once. `stream` has the last
// steps. Checked code keeps a step for each; native code has no products.
void group_products(Code& code, Stream& stream);

}  // namespace coalesce::machine
