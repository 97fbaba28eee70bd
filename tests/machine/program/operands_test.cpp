// How many operands an instruction has: what ptxas accepts with one number is refused with one less or one more, with a
// text that says so. Lists and addresses in brackets are one operand.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "machine/ptx/parser.h"
#include "tests/machine/program/decoded.h"

namespace coalesce::machine {
namespace {

struct Line {
  std::string mnemonic;
  std::vector<std::string> operands;

  std::string form() const {  // with a second result, an instruction is another one
    return mnemonic + (!operands.empty() && operands[0].find('|') != std::string::npos ? "|" : "");
  }
  std::string text() const {
    std::string t = mnemonic;
    for (std::size_t k = 0; k < operands.size(); ++k) t += (k ? ", " : " ") + operands[k];
    return t;
  }
};

Line line_of(const std::string& text) {
  const std::size_t space = text.find(' ');
  Line line{text.substr(0, space), {}};
  if (space == std::string::npos) return line;
  int depth = 0;
  std::string operand;
  for (const char c : text.substr(space + 1)) {
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (c == ',' && depth == 0)
      line.operands.push_back(operand), operand.clear();
    else if (c != ' ' || !operand.empty())
      operand += c;
  }
  line.operands.push_back(operand);
  return line;
}

// Empty: it is an instruction.
std::string refused(const std::string& text) {
  const ptx::Module module = ptx::parse(
      ".version 9.0\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 buffer[64];\n.visible .entry k()\n{\n"
      ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>, %t;\n.reg .b64 %rd<8>;\n.reg .b128 %q<4>;\nL:\n" +
          text + ";\nret;\n}\n",
      "operands.ptx");
  try {
    const auto p = decode(module, module.functions.front(), Symbols(), {{32, 1, 1}, {2, 1, 1}});
    for (const Instruction& i : p->code)
      if (i.kind == Kind::unknown) return i.text;
  } catch (const Error& e) {
    return e.diagnostic.message;
  }
  return {};
}

// With the last operand left out, and with it twice, unless `lines` has that number, too.
void expect_refused(const std::vector<Line>& lines) {
  std::map<std::string, std::set<std::size_t>> counts;
  for (const Line& l : lines) counts[l.form()].insert(l.operands.size());
  std::set<std::string> seen;
  for (const Line& l : lines) {
    std::vector<Line> others{l, l};
    others[1].operands.push_back(l.operands.empty() ? "%r1" : l.operands.back());
    if (l.operands.empty())
      others.erase(others.begin());
    else
      others[0].operands.pop_back();
    for (const Line& other : others)
      if (!counts[l.form()].contains(other.operands.size()) && seen.insert(other.text()).second)
        EXPECT_NE(refused(other.text()), "") << other.text();
  }
}

TEST(Operands, OfComputingInstructionsAreAsManyAsPtxasTakes) {
  std::vector<Line> lines;
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/spellings.txt");
  for (std::string text; std::getline(file, text);)
    if (!text.starts_with('#')) lines.push_back(line_of(text.substr(0, text.find(" ; "))));
  ASSERT_GE(lines.size(), 9000u);
  const std::size_t listed = lines.size();
  for (std::size_t k = 0; k < listed; ++k) {  // of three, ptxas takes these for sm_100
    const std::string& m = lines[k].mnemonic;
    if ((!m.starts_with("min") && !m.starts_with("max")) || !m.ends_with(".f32") || m.find("xor") != m.npos) continue;
    lines.push_back(lines[k]);
    lines.back().operands.push_back("%r4");
    EXPECT_EQ(refused(lines.back().text()), "") << lines.back().text();
  }
  expect_refused(lines);
}

TEST(Operands, OfOthersAreAsManyAsPtxasTakes) {
  std::vector<Line> lines;
  for (const char* text : {
           "mov.u32 %r1, %r2",
           "mov.b64 %rd1, {%r1, %r2}",
           "ld.shared.u32 %r1, [buffer]",
           "ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2",
           "ld.global.v2.u32 {%r1, %r2}, [%rd1]",
           "ldu.global.u32 %r1, [%rd1]",
           "st.shared.u32 [buffer], %r1",
           "st.global.L2::cache_hint.u32 [%rd1], %r1, %rd2",
           "atom.global.add.u32 %r1, [%rd1], %r2",
           "atom.global.add.L2::cache_hint.u32 %r1, [%rd1], %r2, %rd2",
           "atom.global.cas.b32 %r1, [%rd1], %r2, %r3",
           "red.global.add.u32 [%rd1], %r2",
           "red.global.add.L2::cache_hint.u32 [%rd1], %r2, %rd2",
           "shfl.sync.up.b32 %r1|%p1, %r2, %r3, %r4, %r5",
           "shfl.sync.idx.b32 %r1, %r2, %r3, %r4, %r5",
           "vote.sync.all.pred %p1, %p2, %r1",
           "vote.sync.ballot.b32 %r1, %p2, %r2",
           "activemask.b32 %r1",
           "match.any.sync.b32 %r1, %r2, %r3",
           "match.all.sync.b64 %r1|%p1, %rd2, %r3",
           "redux.sync.add.s32 %r1, %r2, %r3",
           "elect.sync %r1|%p1, %r2",
           "mapa.shared::cluster.u32 %r1, %r2, %r3",
           "getctarank.shared::cluster.u32 %r1, %r2",
           "bar.sync 0",
           "bar.sync 0, 64",
           "bar.arrive 0, 64",
           "bar.red.popc.u32 %r1, 0, %p1",
           "bar.red.popc.u32 %r1, 0, 64, %p1",
           "bar.red.and.pred %p1, 0, %p2",
           "bar.red.and.pred %p1, 0, 64, %p2",
           "bar.warp.sync %r1",
           "barrier.sync 0",
           "barrier.sync 0, 64",
           "barrier.cluster.arrive",
           "barrier.cluster.wait",
           "bra L",
           "trap",
           "brkpt",
           "exit",
           "ret",
           "cvta.to.global.u64 %rd1, %rd2",
           "isspacep.global %p1, %rd1",
           "cp.async.ca.shared.global [buffer], [%rd1], 4",
           "cp.async.ca.shared.global [buffer], [%rd1], 4, %r1",
           "cp.async.ca.shared.global.L2::cache_hint [buffer], [%rd1], 4, %rd2",
           "cp.async.ca.shared.global.L2::cache_hint [buffer], [%rd1], 4, %r1, %rd2",
           "cp.async.commit_group",
           "cp.async.wait_group 1",
           "cp.async.wait_all",
           "cp.async.bulk.commit_group",
           "cp.async.bulk.wait_group 1",
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [%r2]",
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r1], [%rd1], 16, [%r2], "
           "%rd2",
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd1], 16, "
           "[%r2], %h1",
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%r1], "
           "[%rd1], 16, [%r2], %h1, %rd2",
           "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r3], 16, [%r2]",
           "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16",
           "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd1], [%r1], 16, %rd2",
           "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 16",
           "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.u32 [%rd1], [%r1], 16, %rd2",
           "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], "
           "[%r3]",
           "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%r1], "
           "[%rd1, {%r2}], [%r3], %rd2",
           "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r1, %r2}], [%r3]",
           "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [%rd1, {%r1, %r2}], [%r3], %rd2",
           "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%rd1, {%r1}], [%r3]",
           "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%rd1, {%r1}]",
           "cp.async.bulk.prefetch.tensor.1d.L2.global.tile.L2::cache_hint [%rd1, {%r1}], %rd2",
           "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%rd1, {%r1, %r2, %r3}], {%h1}",
           "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r1, "
           "%r2, "
           "%r3}], [%r3], {%h1}",
           "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3]",
           "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r1], {%r2, %r4}, [%r3]",
           "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3]",
           "mbarrier.init.shared.b64 [buffer], 1",
           "mbarrier.inval.shared.b64 [buffer]",
           "mbarrier.arrive.shared.b64 %rd1, [buffer]",
           "mbarrier.arrive.shared.b64 %rd1, [buffer], 2",
           "mbarrier.test_wait.shared.b64 %p1, [buffer], %rd1",
           "membar.gl",
           "fence.acq_rel.gpu",
           "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128",
           "fence.proxy.async",
           "prefetch.global.L1 [%rd1]",
           "prefetchu.L1 [%rd1]",
           "nanosleep.u32 %r1",
           "discard.global.L2 [%rd1], 128",
           "applypriority.global.L2::evict_normal [%rd1], 128",
           "pmevent 1",
           "griddepcontrol.wait",
           "createpolicy.fractional.L2::evict_last.b64 %rd1",
           "createpolicy.fractional.L2::evict_last.b64 %rd1, 0f3F800000",
           "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [buffer]",
           "stmatrix.sync.aligned.m8n8.x1.shared.b16 [buffer], {%r1}",
           "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2",
       }) {
    EXPECT_EQ(refused(text), "") << text;
    lines.push_back(line_of(text));
  }
  expect_refused(lines);
  // Lists of another length than the form says, and registers in place of numbers.
  for (const char* text : {"st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r1], {%r2, %r4, %r5}, [%r3]",
                           "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r1], %r2, [%r3]",
                           "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], {%r2, %r4}, [%r3]",
                           "ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1]", "ld.global.u32 {%r1, %r2}, [%rd1]",
                           "st.global.v4.u32 [%rd1], {%r1, %r2}", "cp.async.ca.shared.global [buffer], [%rd1], %r1",
                           "cp.async.ca.shared.global [buffer], [%rd1], 2",
                           "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r1}], [%r3]"})
    EXPECT_NE(refused(text), "") << text;
}

// Suffixes, lists and addresses that belong to other instructions, and what is said of them.
TEST(Operands, OfAnotherFormAreRefused) {
  const std::string four = "{%r1, %r2, %r3, %r4}";
  const std::pair<std::string, std::string> kLines[] = {
      {"ld.shared.u32 %r1, %rd1", "takes an address in brackets"},
      {"ldmatrix.sync.aligned.m8n8.x4.once.shared.b16 " + four + ", [buffer]", "ldmatrix"},
      {"ldmatrix.sync.aligned.m8n8.x4.global.b16 " + four + ", [%rd1]", "ldmatrix"},
      {"movmatrix.sync.aligned.m8n8.trans.shared.b16 %r1, %r2", "movmatrix"},
      {"wmma.load.c.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5}, [%rd1]", "number or size"},
      {"wmma.load.c.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3}, [%rd1]", "number or size"},
      {"wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%rd1], {%r1, %r2, %r3, %r4, %r5}", "number or size"},
  };
  for (const auto& [line, why] : kLines) {
    EXPECT_NE(refused(line).find(why), std::string::npos) << line << ": " << refused(line);
    EXPECT_EQ(refused(line).find("compute capability"), std::string::npos) << line;
  }
  EXPECT_EQ(refused("ldmatrix.sync.aligned.m8n8.x4.shared.b16 " + four + ", [buffer]"), "");
  EXPECT_EQ(refused("wmma.load.c.sync.aligned.row.m16n16k16.global.f16 " + four + ", [%rd1]"), "");
  EXPECT_NE(refused("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [buffer]").find("10.0"),
            std::string::npos);
}

// Instructions with a suffix or an operand changed, left out or added, and what ptxas says of each.
TEST(Operands, FormsThatPtxasTakesAndRefuses) {
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/forms.txt");
  int taken = 0, others = 0;
  for (std::string text; std::getline(file, text);) {
    if (text[0] != '+' && text[0] != '-') continue;
    const std::string why = refused(text.substr(2));
    EXPECT_EQ(why.empty(), text[0] == '+') << text << ": " << why;
    ++(text[0] == '+' ? taken : others);
  }
  EXPECT_GE(taken, 200);
  EXPECT_GE(others, 2000);
}

// The order in which lanes add real numbers shows in the sum; that of integers does not.
TEST(Operands, OfSumsWhoseOrderShows) {
  for (const auto& [type, shows] : {std::pair{"noftz.f16", true},
                                    {"noftz.f16x2", true},
                                    {"noftz.bf16", true},
                                    {"f32", true},
                                    {"f64", true},
                                    {"u32", false},
                                    {"s32", false},
                                    {"u64", false}}) {
    const std::string of = std::string(type).ends_with("f16") ? "h" : std::string(type).ends_with("64") ? "d" : "w";
    const Case c = decoded(
        ".reg .b16 %h;\n.reg .b32 %w;\n.reg .b64 %d;\nld.param.u64 %rd1, [out];\n"
        "red.global.add." +
        std::string(type) + " [%rd1], %" + of + ";");
    EXPECT_EQ(c.memory(5).ordered, shows) << type;
  }
}

}  // namespace
}  // namespace coalesce::machine
