// The order of work by the rules of CUDA's programming guide for streams, events and the default stream.
#include "cudart/check/order.h"

#include <gtest/gtest.h>

#include "cudart/check/uses.h"

namespace coalesce::cudart {
namespace {

const StreamKey kLegacy = nullptr, kPerThread = reinterpret_cast<StreamKey>(2);
const StreamKey kA = reinterpret_cast<StreamKey>(100), kB = reinterpret_cast<StreamKey>(200);
const EventKey kEvent = reinterpret_cast<EventKey>(300);

class OrderOfWork : public testing::Test {
 protected:
  // Work in the stream; blocking streams, unless said otherwise.
  Moment work(StreamKey stream, bool blocking = true) { return order.begin(stream, blocking, before); }
  Order order;
  WorkClock before;  // what the last work came after
};

TEST_F(OrderOfWork, StreamsDoNotWaitForEachOther) {
  const Moment a1 = work(kA);
  work(kA);
  EXPECT_TRUE(before.covers(a1)) << "within a stream";
  work(kB);
  EXPECT_FALSE(before.covers(a1));
}

TEST_F(OrderOfWork, AnEventStandsForWhatWasBeforeItsRecord) {
  const Moment a1 = work(kA);
  order.record(kEvent, kA, true);
  const Moment a2 = work(kA);
  order.wait(kB, true, kEvent);
  work(kB);
  EXPECT_TRUE(before.covers(a1));
  EXPECT_FALSE(before.covers(a2));
  order.host_waits_for_event(kEvent);
  EXPECT_TRUE(order.host().covers(a1));
  EXPECT_FALSE(order.host().covers(a2));
}

TEST_F(OrderOfWork, TheLegacyStreamAndBlockingOnesWaitForEachOther) {
  const Moment a1 = work(kA), b1 = work(kB, false);
  const Moment d1 = work(kLegacy);
  EXPECT_TRUE(before.covers(a1));
  EXPECT_FALSE(before.covers(b1));
  work(kA);
  EXPECT_TRUE(before.covers(d1));
  work(kB, false);
  EXPECT_FALSE(before.covers(d1));
  work(kPerThread);
  EXPECT_TRUE(before.covers(d1));
}

TEST_F(OrderOfWork, WhatTheHostHasWaitedForIsBeforeAllThatFollows) {
  const Moment a1 = work(kA), b1 = work(kB);
  order.host_waits(kA, true);
  const StreamKey fresh = reinterpret_cast<StreamKey>(400);
  work(fresh, false);
  EXPECT_TRUE(before.covers(a1));
  EXPECT_FALSE(before.covers(b1));
  EXPECT_FALSE(order.settle());
  order.host_waits_for_all();
  EXPECT_TRUE(order.settle());
}

TEST_F(OrderOfWork, NodesOfAGraphComeAfterWhatTheyNeed) {
  const Moment a1 = work(kA);
  int n[4];
  order.begin_graph(kA, true);
  const Moment root = order.node(&n[0], {}, before);
  EXPECT_TRUE(before.covers(a1));
  const Moment left = order.node(&n[1], {&n[0]}, before);
  EXPECT_TRUE(before.covers(root));
  const Moment right = order.node(&n[2], {&n[0]}, before);
  EXPECT_TRUE(before.covers(root));
  EXPECT_FALSE(before.covers(left));
  order.node(&n[3], {&n[1], &n[2]}, before);
  EXPECT_TRUE(before.covers(left));
  EXPECT_TRUE(before.covers(right));
  order.end_graph();
  work(kA);
  EXPECT_TRUE(before.covers(right));
  work(kB);
  EXPECT_FALSE(before.covers(left));
}

TEST_F(OrderOfWork, UsesConflictByByte) {
  Uses uses;
  std::vector<uint64_t> found;
  const auto add = [&](StreamKey stream, uint64_t address, uint64_t bytes, bool writes, bool atomic = false) {
    const Moment now = work(stream);
    const uint32_t index = uses.begin({now, "", "", {}, false});
    AccessSite site;
    site.writes = writes;
    site.atomic = atomic;
    site.add(address, bytes);
    found.clear();
    uses.add(index, std::move(site), before, [&](const Conflict& c) { found.push_back(c.address); });
    return found;
  };
  using Addresses = std::vector<uint64_t>;
  EXPECT_EQ(add(kA, 4000, 200, true), Addresses{});
  EXPECT_EQ(add(kA, 4000, 200, true), Addresses{}) << "one stream";
  EXPECT_EQ(add(kB, 4200, 100, true), Addresses{}) << "beside it";
  EXPECT_EQ(add(kB, 4100, 50, false), Addresses{4100}) << "a read, on the next page";
  EXPECT_EQ(add(kA, 8192, 4, true, true), Addresses{});
  EXPECT_EQ(add(kB, 8192, 4, true, true), Addresses{}) << "atomics";
  EXPECT_EQ(add(kA, 9000, 4, false), Addresses{});
  EXPECT_EQ(add(kB, 9000, 4, false), Addresses{}) << "reads";
  EXPECT_EQ(add(kB, 9000, 4, true), Addresses{9000}) << "behind a read of its own stream the other's is known";
}

}  // namespace
}  // namespace coalesce::cudart
