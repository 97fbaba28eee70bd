// Clusters: their registers, shared memory of other blocks, their barrier; bulk copies and asynchronous stores.
#include <fstream>
#include <map>
#include <sstream>

#include "harness.h"

namespace coalesce::machine::test {
namespace clusters {

Shape of(std::array<uint32_t, 3> grid, std::array<uint32_t, 3> cluster, uint32_t threads = 64) {
  Shape s;
  s.grid = grid;
  s.cluster = cluster;
  s.block = {threads, 1, 1};
  return s;
}
// %rd1: the buffer; %r1: the thread; %r2: the number of its block; %r3: the rank. A shared array S of 64 words, an
// mbarrier object B, 1024 aligned bytes T.
std::string body(const std::string& text) {
  return kernel(".param .u64 p",
                ".shared .align 8 .b64 B;\n.shared .align 128 .b8 T[1024];\n.shared .align 4 .b32 S[64];\n"
                "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r10, %ctaid.x;\nmov.u32 %r11, %ctaid.y;\n"
                "mov.u32 %r12, %ctaid.z;\nmov.u32 %r13, %nctaid.x;\nmov.u32 %r14, %nctaid.y;\n"
                "mad.lo.u32 %r2, %r12, %r14, %r11;\nmad.lo.u32 %r2, %r2, %r13, %r10;\n"
                "mov.u32 %r3, %cluster_ctarank;\nmov.u32 %r4, S;\nshl.b32 %r5, %r1, 2;\nadd.u32 %r4, %r4, %r5;\n"
                "mov.u32 %r6, %ntid.x;\nmad.lo.u32 %r7, %r2, %r6, %r1;\nmul.wide.u32 %rd2, %r7, 4;\n"
                "add.u64 %rd2, %rd2, %rd1;\n" +
                    text);
}
const std::string kBarrier = "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n";
const std::string kWaitForBytes = "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p9, [B], 0;\n@!%p9 bra WAIT;\n";

TEST(Clusters, RanksAreThoseOfAnH100) {
  // 4 x 4 x 2 blocks in clusters of 2 x 2 x 2, as an H100 has printed them.
  const std::vector<uint32_t> expected = {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3,
                                          4, 5, 4, 5, 6, 7, 6, 7, 4, 5, 4, 5, 6, 7, 6, 7};
  const Ran r = run(body("st.global.u32 [%rd2], %r3;\n"), {zeros<uint32_t>(32)}, of({4, 4, 2}, {2, 2, 2}, 1));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_EQ(r.read(), expected);
}

TEST(Clusters, RegistersSayWhereABlockIs) {
  std::string text;
  const char* const names[] = {"%clusterid.x",     "%clusterid.y",      "%nclusterid.x",     "%cluster_ctaid.x",
                               "%cluster_ctaid.y", "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctarank"};
  for (std::size_t k = 0; k < 8; ++k)
    text += "mov.u32 %r20, " + std::string(names[k]) + ";\nst.global.u32 [%rd3+" + std::to_string(4 * k) + "], %r20;\n";
  const Ran r = run(body("mul.wide.u32 %rd3, %r2, 32;\nadd.u64 %rd3, %rd3, %rd1;\n" + text), {zeros<uint32_t>(8 * 24)},
                    of({6, 4, 1}, {3, 2, 1}, 1));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t y = 0; y < 4; ++y)
    for (uint32_t x = 0; x < 6; ++x) {
      const uint32_t expected[] = {x / 3, y / 2, 2, x % 3, y % 2, 3, 2, 6};
      for (uint32_t k = 0; k < 8; ++k) EXPECT_EQ(r.read()[8 * (6 * y + x) + k], expected[k]) << names[k];
    }
}

// Each block fills its array, waits for the others, and reads that of the next rank.
std::string neighbour(const std::string& read) {
  return body("mad.lo.u32 %r8, %r2, 1000, %r1;\nst.shared.u32 [%r4], %r8;\n" + kBarrier +
              "mov.u32 %r15, %cluster_nctarank;\nadd.u32 %r9, %r3, 1;\nrem.u32 %r9, %r9, %r15;\n" + read + kBarrier +
              "st.global.u32 [%rd2], %r20;\n");
}
void expect_neighbours(const Ran& r, uint32_t blocks, uint32_t cluster) {
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t b = 0; b < blocks; ++b)
    for (uint32_t t = 0; t < 64; ++t)
      EXPECT_EQ(r.read()[64 * b + t], 1000 * (b / cluster * cluster + (b % cluster + 1) % cluster) + t) << b;
}

TEST(Clusters, BlocksReadEachOthersSharedMemory) {
  const std::string window =
      "mapa.shared::cluster.u32 %r16, %r4, %r9;\ngetctarank.shared::cluster.u32 %r17, %r16;\n"
      "setp.ne.u32 %p1, %r17, %r9;\n@%p1 trap;\nld.shared::cluster.u32 %r20, [%r16];\n";
  const Ran r = run(neighbour(window), {zeros<uint32_t>(64 * 9)}, of({9, 1, 1}, {3, 1, 1}));
  expect_neighbours(r, 9, 3);
  // Measured on an H100: loads of another block's shared memory are no passes of the banks.
  EXPECT_EQ(r.counters().shared_load_wavefronts, 0u);
  EXPECT_EQ(r.counters().shared_store_wavefronts, 18u);
  const std::string generic =
      "cvt.u64.u32 %rd5, %r4;\ncvta.shared.u64 %rd5, %rd5;\nmapa.u64 %rd6, %rd5, %r9;\nld.u32 %r20, [%rd6];\n";
  expect_neighbours(run(neighbour(generic), {zeros<uint32_t>(64 * 8)}, of({8, 1, 1}, {8, 1, 1})), 8, 8);
  // A cluster of one block, as every block is where a launch has none.
  expect_neighbours(run(neighbour(window), {zeros<uint32_t>(64 * 3)}, of({3, 1, 1}, {1, 1, 1})), 3, 1);
}

TEST(Clusters, AtomicsOnTheFirstBlocksMemory) {
  const Ran r = run(body("mov.u32 %r8, 0;\nst.shared.u32 [%r4], %r8;\n" + kBarrier +
                         "mov.u32 %r9, 0;\nmapa.shared::cluster.u32 %r16, %r4, %r9;\nadd.u32 %r8, %r3, 1;\n"
                         "red.shared::cluster.add.u32 [%r16], %r8;\n" +
                         kBarrier + "ld.shared.u32 %r20, [%r4];\nst.global.u32 [%rd2], %r20;\n"),
                    {zeros<uint32_t>(64 * 8)}, of({8, 1, 1}, {4, 1, 1}));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t b = 0; b < 8; ++b)
    for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(r.read()[64 * b + t], b % 4 == 0 ? 1u + 2 + 3 + 4 : 0u);
}

TEST(Clusters, ABarrierDoesNotWaitForThreadsThatHaveEnded) {
  const Ran r = run(body("setp.gt.u32 %p1, %r1, 40;\n@%p1 exit;\nsetp.eq.u32 %p2, %r3, 1;\n@%p2 exit;\n"
                         "barrier.cluster.arrive;\nbarrier.cluster.wait;\nst.global.u32 [%rd2], %r1;\n"),
                    {buffer(std::vector<uint32_t>(128, 7))}, of({2, 1, 1}, {2, 1, 1}));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t t = 0; t < 64; ++t) {
    EXPECT_EQ(r.read()[t], t <= 40 ? t : 7u);
    EXPECT_EQ(r.read()[64 + t], 7u);
  }
}

TEST(Clusters, AtomicsReturnWhatWasThere) {
  // Each thread of 4 blocks takes a number from a word of rank 3; cas then puts the highest back once.
  const Ran r =
      run(body("mov.u32 %r8, 0;\nst.shared.u32 [%r4], %r8;\n" + kBarrier +
               "mov.u32 %r9, 3;\nmov.u32 %r15, S;\nmapa.shared::cluster.u32 %r16, %r15, %r9;\n"
               "atom.shared::cluster.add.u32 %r20, [%r16], 1;\nst.global.u32 [%rd2], %r20;\n" +
               kBarrier +
               "atom.shared::cluster.cas.b32 %r21, [%r16], 256, 77;\nsetp.ne.u32 %p1, %r21, 256;\n"
               "@%p1 bra END;\nst.global.u32 [%rd1+1024], %r21;\nEND:\n" +
               kBarrier + "ld.shared::cluster.u32 %r22, [%r16];\nsetp.ne.u32 %p2, %r22, 77;\n@%p2 trap;\n" + kBarrier),
          {zeros<uint32_t>(257)}, of({4, 1, 1}, {4, 1, 1}));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  std::vector<uint32_t> got = r.read();
  EXPECT_EQ(got[256], 256u);
  got.pop_back();
  std::sort(got.begin(), got.end());
  for (uint32_t k = 0; k < 256; ++k) EXPECT_EQ(got[k], k);
}

TEST(Clusters, VectorsGoToAndComeFromAnotherBlock) {
  // Lane t writes 4 words to the block opposite, and reads there the words that its own block has been given.
  const Ran r =
      run(body("mov.u32 %r15, T;\nshl.b32 %r5, %r1, 4;\nadd.u32 %r15, %r15, %r5;\nxor.b32 %r9, %r3, 1;\n"
               "mapa.shared::cluster.u32 %r16, %r15, %r9;\nmad.lo.u32 %r20, %r3, 1000, %r1;\nadd.u32 %r21, %r20, 1;\n"
               "add.u32 %r22, %r20, 2;\nadd.u32 %r23, %r20, 3;\n" +
               kBarrier + "st.shared::cluster.v4.u32 [%r16], {%r20, %r21, %r22, %r23};\n" + kBarrier +
               "ld.shared::cluster.v4.u32 {%r24, %r25, %r26, %r27}, [%r16];\nld.shared.v2.u32 {%r28, %r29}, [%r15+8];\n"
               "shl.b32 %r7, %r7, 4;\ncvt.u64.u32 %rd5, %r7;\nadd.u64 %rd5, %rd5, %rd1;\n"
               "st.global.v4.u32 [%rd5], {%r24, %r27, %r28, %r29};\n" +
               kBarrier),
          {zeros<uint32_t>(2 * 64 * 4)}, of({2, 1, 1}, {2, 1, 1}));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t b = 0; b < 2; ++b)
    for (uint32_t t = 0; t < 64; ++t) {
      const uint32_t mine = 1000 * b + t, theirs = 1000 * (1 - b) + t,
                     expected[] = {mine, mine + 3, theirs + 2, theirs + 3};
      for (uint32_t k = 0; k < 4; ++k) EXPECT_EQ(r.read()[4 * (64 * b + t) + k], expected[k]) << b << ' ' << t;
    }
}

TEST(Clusters, MemoryOfABlockThatHasEndedIsAFault) {
  // Rank 1 says that it ends, and does; rank 0 reads its memory then.
  const Ran r = run(body("setp.eq.u32 %p1, %r3, 1;\n@%p1 bra ONE;\nPOLL:\nld.volatile.global.u32 %r20, [%rd1];\n"
                         "setp.eq.u32 %p2, %r20, 0;\n@%p2 bra POLL;\nmov.u32 %r9, 1;\n"
                         "mapa.shared::cluster.u32 %r16, %r4, %r9;\nld.shared::cluster.u32 %r21, [%r16];\n"
                         "st.global.u32 [%rd1+4], %r21;\nbra END;\nONE:\nst.global.u32 [%rd1], 1;\nEND:\n"),
                    {zeros<uint32_t>(2)}, of({2, 1, 1}, {2, 1, 1}, 1));
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
  EXPECT_NE(r.message().find("rank 1, or that block has ended"), std::string::npos) << r.message();
}

TEST(Clusters, GridsAreMadeOfWholeOnes) {
  const Ran r = run(body("st.global.u32 [%rd2], %r3;\n"), {zeros<uint32_t>(3)}, of({3, 1, 1}, {2, 1, 1}, 1));
  EXPECT_NE(r.message().find("whole clusters"), std::string::npos) << r.message();
}

// More clusters than one: each has a barrier and a memory of its own, and blocks are used again.
TEST(Clusters, ManyOneAfterTheOther) {
  const Ran r = run(body("mov.u32 %r8, 0;\nst.shared.u32 [%r4], %r8;\n" + kBarrier +
                         "mov.u32 %r9, 0;\nmapa.shared::cluster.u32 %r16, %r4, %r9;\n"
                         "red.shared::cluster.add.u32 [%r16], %r2;\n" +
                         kBarrier + "ld.shared.u32 %r20, [%r4];\nst.global.u32 [%rd2], %r20;\n"),
                    {zeros<uint32_t>(32 * 200)}, of({200, 1, 1}, {2, 1, 1}, 32));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t b = 0; b < 200; ++b)
    for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(r.read()[32 * b + t], b % 2 == 0 ? 2 * b + 1 : 0u) << b;
}

TEST(Clusters, MemoryOfNoBlockIsAFault) {
  const Ran r = run(body("mov.u32 %r9, 5;\nmapa.shared::cluster.u32 %r16, %r4, %r9;\n"
                         "ld.shared::cluster.u32 %r20, [%r16];\nst.global.u32 [%rd2], %r20;\n"),
                    {zeros<uint32_t>(128)}, of({2, 1, 1}, {2, 1, 1}));
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
}

TEST(BulkCopies, FillSharedMemoryAndTellTheirObject) {
  std::vector<uint32_t> in(512);
  for (uint32_t k = 0; k < 512; ++k) in[k] = 3 * k + 1;
  const Ran r =
      run(body("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\nmbarrier.init.shared.b64 [B], 1;\n"
               "fence.mbarrier_init.release.cluster;\nmbarrier.arrive.expect_tx.shared.b64 _, [B], 1024;\n"
               "mul.wide.u32 %rd3, %r2, 1024;\nadd.u64 %rd3, %rd3, %rd1;\nmov.u32 %r20, T;\n"
               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd3], 768, [B];\n"
               "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r20+768], [%rd3+768], 256, [B];\n"
               "READY:\nbar.sync 0;\n" +
               kWaitForBytes +
               "mov.u32 %r20, T;\nadd.u32 %r20, %r20, %r5;\nld.shared.u32 %r21, [%r20];\nadd.u32 %r21, %r21, 1;\n"
               "st.shared.u32 [%r20], %r21;\nfence.proxy.async;\nbar.sync 0;\n@%p1 bra END;\nmov.u32 %r20, T;\n"
               "mul.wide.u32 %rd3, %r2, 1024;\nadd.u64 %rd3, %rd3, %rd1;\n"
               "cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r20], 256;\ncp.async.bulk.commit_group;\n"
               "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd3+512], [%r20+512], 512;\n"
               "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nEND:\n"),
          {buffer(in)}, of({2, 1, 1}, {1, 1, 1}));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t k = 0; k < 512; ++k) {
    const uint32_t in_block = k % 256;
    EXPECT_EQ(r.read()[k], in_block < 64 ? in[k] + 1 : in_block < 128 ? in[k] : 2 * in[k]) << k;
  }
  // Measured on an H100: the copies are no loads, stores or passes of the banks; they touch the sectors they copy.
  EXPECT_EQ(r.counters().global_load_sectors, 0u);
  EXPECT_EQ(r.counters().global_store_sectors, 0u);
  EXPECT_EQ(r.counters().compulsory_bytes, 2048u);
}

// Each block adds 16 bytes to the 16 before them.
TEST(BulkCopies, SumsOfRealNumbersAreThoseOfAnH100) {
  std::map<std::string, std::vector<std::array<uint64_t, 3>>> rows;  // type: before, added, sum
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/bulk_sums.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string type;
    std::array<uint64_t, 3> row{};
    words >> type >> std::hex >> row[0] >> row[1] >> row[2];
    ASSERT_TRUE(words) << line;
    rows[type].push_back(row);
  }
  for (const auto& [type, of_type] : rows) {
    const std::size_t width = type == "f32" ? 4 : 8;
    std::vector<uint64_t> in(4 * of_type.size());
    for (std::size_t k = 0; k < 8 * in.size(); k += width)
      std::memcpy(reinterpret_cast<char*>(in.data()) + k, &of_type[k / 32][k / 16 % 2], width);
    const Ran r =
        run(body("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra END;\nmul.wide.u32 %rd3, %r2, 32;\n"
                 "add.u64 %rd1, %rd1, %rd3;\nld.global.u64 %rd3, [%rd1+16];\nmov.u32 %r20, T;\n"
                 "st.shared.u64 [%r20], %rd3;\nst.shared.u64 [%r20+8], %rd3;\nfence.proxy.async;\n"
                 "cp.reduce.async.bulk.global.shared::cta.bulk_group.add." +
                 type + " [%rd1], [%r20], 16;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nEND:\n"),
            {buffer(in)}, of({static_cast<uint32_t>(of_type.size()), 1, 1}, {1, 1, 1}));
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    const std::vector<uint64_t> out = r.read<uint64_t>();
    for (std::size_t k = 0; k < of_type.size(); ++k) {
      uint64_t got = 0;
      std::memcpy(&got, &out[4 * k + 1], width);
      EXPECT_EQ(got, of_type[k][2]) << type << std::hex << " " << of_type[k][0] << " " << of_type[k][1];
    }
  }
  EXPECT_EQ(rows["f32"].size(), 324u);
  EXPECT_EQ(rows["f64"].size(), 100u);
}

// Two words, an element of 8 bytes or two of 4: what is there, what comes, and what every operation on every type
// leaves.
TEST(BulkCopies, ReduceWordsOfAllTypes) {
  const uint64_t there = 0x8000000700000005, comes = 0x0000000980000003;
  const auto halves = [&](const auto& of) {
    return uint64_t{of(static_cast<uint32_t>(there >> 32), static_cast<uint32_t>(comes >> 32))} << 32 |
           of(static_cast<uint32_t>(there), static_cast<uint32_t>(comes));
  };
  const auto is_less = [](uint32_t a, uint32_t b) { return static_cast<int32_t>(a) < static_cast<int32_t>(b); };
  using W = uint32_t;
  const std::pair<const char*, uint64_t> rows[] = {
      {"add.u32", halves([](W a, W b) { return a + b; })},
      {"add.s32", halves([](W a, W b) { return a + b; })},
      {"add.u64", there + comes},
      {"min.u32", halves([](W a, W b) { return std::min(a, b); })},
      {"max.u32", halves([](W a, W b) { return std::max(a, b); })},
      {"min.s32", halves([&](W a, W b) { return is_less(a, b) ? a : b; })},
      {"max.s32", halves([&](W a, W b) { return is_less(a, b) ? b : a; })},
      {"min.u64", comes},
      {"max.u64", there},
      {"min.s64", there},
      {"max.s64", comes},
      {"inc.u32", halves([](W a, W b) { return a >= b ? 0 : a + 1; })},
      {"dec.u32", halves([](W a, W b) { return a == 0 || a > b ? b : a - 1; })},
      {"and.b32", there & comes},
      {"or.b32", there | comes},
      {"xor.b32", there ^ comes},
      {"and.b64", there & comes},
      {"or.b64", there | comes},
      {"xor.b64", there ^ comes}};
  std::vector<uint64_t> before(16, 1);
  before[0] = before[1] = there;
  for (const auto& [operation, wanted] : rows) {
    const Ran r = run(
        body("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra END;\nmov.u32 %r20, T;\nmov.u64 %rd3, " + std::to_string(comes) +
             ";\nst.shared.u64 [%r20], %rd3;\nst.shared.u64 [%r20+8], %rd3;\nfence.proxy.async;\n"
             "cp.reduce.async.bulk.global.shared::cta.bulk_group." +
             operation + " [%rd1], [%r20], 16;\ncp.async.bulk.commit_group;\n" + "cp.async.bulk.wait_group 0;\nEND:\n"),
        {buffer(before)}, of({1, 1, 1}, {1, 1, 1}));
    ASSERT_EQ(r.report.fault, Fault::none) << operation << r.message();
    EXPECT_EQ(r.read<uint64_t>()[0], wanted) << operation;
    EXPECT_EQ(r.read<uint64_t>()[1], wanted) << operation;
    EXPECT_EQ(r.read<uint64_t>()[2], 1u) << operation;
    EXPECT_EQ(r.counters().compulsory_bytes, 32u) << "the sector that it is in";
  }
}

TEST(BulkCopies, GoToSeveralBlocksAndToOneOther) {
  std::vector<uint32_t> in(4 * 64);
  for (uint32_t k = 0; k < in.size(); ++k) in[k] = 7 * k + 5;
  // Rank 0 sends 128 bytes to ranks 0 and 2; rank 3 sends its words 32.. to rank 1's.
  const Ran r = run(
      body("shl.b32 %r8, %r3, 8;\nadd.u32 %r8, %r8, %r1;\nmov.u32 %r20, T;\nadd.u32 %r21, %r20, %r5;\n"
           "st.shared.u32 [%r21], %r8;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\n"
           "mbarrier.init.shared.b64 [B], 1;\nmbarrier.arrive.expect_tx.shared.b64 _, [B], 128;\nREADY:\n" +
           kBarrier +
           "@%p1 bra SENT;\nsetp.ne.u32 %p2, %r3, 0;\n@%p2 bra OTHER;\nmov.b16 %h1, 5;\n"
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r20], [%rd1], 128, "
           "[B], %h1;\nbra.uni SENT;\nOTHER:\nsetp.ne.u32 %p3, %r3, 3;\n@%p3 bra SENT;\nmov.u32 %r22, 1;\n"
           "mapa.shared::cluster.u32 %r23, %r20, %r22;\nmov.u32 %r24, B;\nmapa.shared::cluster.u32 %r25, %r24, %r22;\n"
           "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r23+128], [%r20+128], 128, "
           "[%r25];\nSENT:\nsetp.eq.u32 %p4, %r3, 3;\n@%p4 bra DONE;\n" +
           kWaitForBytes + "DONE:\n" + kBarrier + "ld.shared.u32 %r26, [%r21];\nst.global.u32 [%rd2], %r26;\n"),
      {buffer(in)}, of({4, 1, 1}, {4, 1, 1}));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t b = 0; b < 4; ++b)
    for (uint32_t t = 0; t < 64; ++t) {
      const uint32_t own = 256 * b + t;
      const uint32_t expected = b % 2 == 0 && t < 32 ? in[t] : b == 1 && t >= 32 ? 256 * 3 + t : own;
      EXPECT_EQ(r.read()[64 * b + t], expected) << b << " " << t;
    }
}

TEST(BulkCopies, StoresToAnotherBlockTellItsObject) {
  const Ran r =
      run(body("mov.u32 %r8, 9;\nst.shared.u32 [%r4], %r8;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\n"
               "mbarrier.init.shared.b64 [B], 1;\nmbarrier.arrive.expect_tx.shared.b64 _, [B], 512;\nREADY:\n" +
               kBarrier +
               "xor.b32 %r9, %r3, 1;\nmapa.shared::cluster.u32 %r16, %r4, %r9;\nmov.u32 %r17, B;\n"
               "mapa.shared::cluster.u32 %r18, %r17, %r9;\nadd.u32 %r8, %r7, 100;\n"
               "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r16], %r8, [%r18];\n"
               "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r16], %r1, [%r18];\n" +
               kWaitForBytes + "ld.shared.u32 %r20, [%r4];\nst.global.u32 [%rd2], %r20;\n" + kBarrier),
          {zeros<uint32_t>(128)}, of({2, 1, 1}, {2, 1, 1}));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t b = 0; b < 2; ++b)
    for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(r.read()[64 * b + t], 64 * (1 - b) + t + 100 + t) << b << " " << t;
}

TEST(BulkCopies, WrongOnesAreFaults) {
  const std::string to = "mov.u32 %r20, T;\nmbarrier.init.shared.b64 [B], 1;\n";
  const std::pair<std::string, Fault> wrong[] = {{"[%r20+8], [%rd1], 16", Fault::misaligned_address},
                                                 {"[%r20], [%rd1+4], 16", Fault::misaligned_address},
                                                 {"[%r20], [%rd1], 24", Fault::misaligned_address},
                                                 {"[%r20], [%rd1+4096], 16", Fault::illegal_address},
                                                 {"[%r20], [%rd1], 16384", Fault::illegal_address}};
  for (const auto& [operands, fault] : wrong) {
    const Ran r =
        run(body(to + "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes " + operands + ", [B];\n"),
            {zeros<uint32_t>(128)}, of({1, 1, 1}, {1, 1, 1}, 1));
    EXPECT_EQ(r.report.fault, fault) << operands << ": " << r.message();
  }
  const Ran r = run(body(to + "cp.async.bulk.shared::cluster.global.bulk_group [%r20], [%rd1], 16;\n"),
                    {zeros<uint32_t>(128)}, of({1, 1, 1}, {1, 1, 1}, 1));
  EXPECT_EQ(r.report.fault, Fault::illegal_instruction) << "a copy to shared memory that tells no object";
}

}  // namespace clusters
}  // namespace coalesce::machine::test
