// Prints, a JSON value a line, what the machine's rule and the command's pictures answer to many questions;
// rule_test.mjs puts the same questions to the page's script.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "machine/observe/traffic.h"
#include "tool/present/html_pictures.h"

using namespace coalesce;
using Json = nlohmann::ordered_json;

namespace {

constexpr uint32_t kWidths[] = {1, 2, 4, 8, 16};

struct Kind {
  const char* name;
  tool::SharedAccess kind;
  machine::SharedCost (*cost)(const uint32_t*, uint32_t, uint32_t);
};
constexpr Kind kKinds[] = {{"load", tool::SharedAccess::load, machine::shared_load_cost},
                           {"store", tool::SharedAccess::store, machine::shared_store_cost},
                           {"atomic", tool::SharedAccess::atomic, machine::shared_atomic_cost}};

void print(const Json& value) { std::puts(value.dump().c_str()); }

void banks(const Kind& kind, uint32_t stride, uint32_t width, uint32_t pad, uint32_t lanes, bool picture) {
  const tool::BankQuestion question{stride, width, pad, lanes, kind.kind};
  const auto address = question.addresses();
  const machine::SharedCost cost = kind.cost(address.data(), ~0u >> (32 - lanes), width);
  Json answer = {{"stride", stride}, {"width", width}, {"pad", pad}, {"lanes", lanes}, {"kind", kind.name}};
  answer["wavefronts"] = cost.wavefronts;
  answer["ideal"] = cost.ideal;
  answer["summary"] = tool::bank_summary(question);
  if (picture) answer["svg"] = tool::bank_svg(question);
  print({{"banks", answer}});
}

void sectors(uint32_t stride, uint32_t offset, uint32_t width, bool picture) {
  const tool::SectorQuestion question{stride, offset, width};
  const auto address = question.addresses();
  const machine::GlobalCost cost = machine::global_cost(address.data(), ~0u, width);
  Json answer = {{"stride", stride}, {"offset", offset}, {"width", width}};
  answer["sectors"] = cost.sectors;
  answer["lines"] = cost.lines;
  answer["bytes"] = cost.bytes;
  answer["summary"] = tool::sector_summary(question);
  if (picture) answer["svg"] = tool::sector_svg(question);
  print({{"sectors", answer}});
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): what is thrown ends it, and the test with it
int main() {
  for (const uint32_t width : kWidths) {
    for (uint32_t stride = 0; stride <= 66; ++stride) {
      for (const Kind& kind : kKinds) {
        for (const uint32_t pad : {0u, 1u, 2u, 3u, 4u, 8u, 31u, 32u}) {
          banks(kind, stride, width, pad, 32, (stride <= 9 || stride == 32) && pad <= 1);
        }
        for (const uint32_t lanes : {1u, 2u, 7u, 16u, 17u, 31u}) {
          banks(kind, stride, width, 0, lanes, stride == 2 || stride == 32);
        }
      }
      for (const uint32_t offset : {0u, 1u, 3u, 8u, 31u, 32u})
        sectors(stride, offset, width, stride <= 9 && offset <= 3);
    }
    for (const uint32_t stride : {96u, 128u, 500u, 1000u, 1024u}) {
      for (const Kind& kind : kKinds) banks(kind, stride, width, stride % 3, 32, true);
      sectors(stride, stride, width, true);
    }
  }
  // Addresses of no pattern, those that merge groups of lanes among them.
  uint32_t state = 12345;
  const auto random = [&state] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (int i = 0; i < 4000; ++i) {
    const uint32_t width = kWidths[random() % 5], range = 1u << random() % 11;
    uint32_t address[32];
    for (uint32_t& a : address) a = random() % range * width;
    if (i % 4 < 2) {
      for (uint32_t lane = 0; lane < 32; ++lane) address[lane] = address[lane & ~(1u + static_cast<uint32_t>(i) % 2)];
    }
    uint64_t wide[32];
    for (int lane = 0; lane < 32; ++lane) wide[lane] = address[lane];
    const Kind& kind = kKinds[i % 3];
    const machine::SharedCost shared = kind.cost(address, ~0u, width);
    const machine::GlobalCost global = machine::global_cost(wide, ~0u, width);
    print({{"any",
            {{"address", address},
             {"width", width},
             {"kind", kind.name},
             {"wavefronts", shared.wavefronts},
             {"ideal", shared.ideal},
             {"sectors", global.sectors},
             {"lines", global.lines},
             {"bytes", global.bytes}}}});
  }
}
