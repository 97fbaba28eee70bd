#include "machine/isa/atomic.h"

#include <algorithm>
#include <span>

namespace coalesce::machine::isa {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view kSums[] = {"u32", "s32", "u64", "f16", "f16x2", "bf16", "bf16x2", "f32", "f64"};
constexpr std::string_view kExtremes[] = {"u32", "s32", "u64", "s64", "f16", "f16x2", "bf16", "bf16x2"};
constexpr std::string_view kWrapping[] = {"u32"};
constexpr std::string_view kLogic[] = {"b32", "b64"};
constexpr std::string_view kExchanged[] = {"b32", "b64", "b128"};
constexpr std::string_view kCompared[] = {"b16", "b32", "b64", "b128"};

// As ptxas of CUDA 13.0 takes them for sm_90.
constexpr struct {
  std::string_view operation;
  Names types;
} kForms[] = {{"add", kSums},  {"min", kExtremes}, {"max", kExtremes}, {"inc", kWrapping},   {"dec", kWrapping},
              {"and", kLogic}, {"or", kLogic},     {"xor", kLogic},    {"exch", kExchanged}, {"cas", kCompared}};

}  // namespace

bool is_atomic_form(std::string_view operation, std::string_view type) {
  return std::any_of(std::begin(kForms), std::end(kForms), [&](const auto& form) {
    return form.operation == operation && std::find(form.types.begin(), form.types.end(), type) != form.types.end();
  });
}

}  // namespace coalesce::machine::isa
