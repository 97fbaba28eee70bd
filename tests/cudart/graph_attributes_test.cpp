// Attributes of kernel nodes: which there are, what they are at first, and of how many bytes, as an H100's driver
// answers.
#include <map>

#include "cudart/driver/abi.h"
#include "graph.h"

namespace coalesce::cudart {
extern "C" {
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t, int, void*);
cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t, int, const void*);
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
CUresult cuGraphKernelNodeGetAttribute(cudaGraphNode_t, int, void*);
CUresult cuGraphKernelNodeSetAttribute(cudaGraphNode_t, int, const void*);
CUresult cuGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from);
}

namespace {

using Bytes = std::vector<uint8_t>;
constexpr int kNotCompared = 13;  // of 16 bytes, four of them nobody's

class GraphAttributes : public Graphs {
 protected:
  void SetUp() override {
    Graphs::SetUp();
    ASSERT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
    one_ = kernel_node(graph_, 0, 1);
    other_ = kernel_node(graph_, 1, 2);
  }
  // An answer: the bytes that it writes; empty: none is given.
  static Bytes answer(cudaGraphNode_t node, int attribute) {
    Bytes low(64, 0x00), high(64, 0xff), written;
    const cudaError_t error = cudaGraphKernelNodeGetAttribute(node, attribute, low.data());
    EXPECT_EQ(cudaGraphKernelNodeGetAttribute(node, attribute, high.data()), error);
    EXPECT_TRUE(error == cudaSuccess || error == cudaErrorInvalidValue) << attribute;
    cudaGetLastError();
    for (std::size_t k = 0; k < low.size(); ++k)
      if (low[k] == high[k]) written.push_back(low[k]);
    return written;
  }
  cudaGraph_t graph_ = nullptr;
  cudaGraphNode_t one_ = nullptr, other_ = nullptr;
};

const std::map<int, std::size_t> kSizes = {{1, 28}, {2, 4}, {4, 12}, {5, 4}, {8, 4}, {9, 2}, {10, 4}, {14, 4}};

TEST_F(GraphAttributes, AreNothingAtFirst) {
  for (int id = -1; id <= 20; ++id) {
    if (id == kNotCompared) continue;
    const auto size = kSizes.find(id);
    Bytes expected(size == kSizes.end() ? 0 : size->second);
    if (id == 9) expected = {0, 1};
    EXPECT_EQ(answer(one_, id), expected) << id;
  }
}

TEST_F(GraphAttributes, AreWhatWasSetAndCopied) {
  Bytes value(64);
  for (std::size_t k = 0; k < value.size(); ++k) value[k] = static_cast<uint8_t>(k % 4 == 0 ? k + 1 : 0);
  const auto expect_set = [&](cudaGraphNode_t node) {
    for (const auto& [id, size] : kSizes)
      if (id != 2) {
        EXPECT_EQ(answer(node, id), Bytes(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(size))) << id;
      }
    EXPECT_EQ(answer(node, 2), (Bytes{1, 0, 0, 0}));
  };
  for (int id = -1; id <= 20; ++id) {
    if (id == kNotCompared) continue;
    const bool known = kSizes.contains(id) || id == 16;
    EXPECT_EQ(cudaGraphKernelNodeSetAttribute(one_, id, value.data()), known ? cudaSuccess : cudaErrorInvalidValue)
        << id;
  }
  cudaGetLastError();
  expect_set(one_);
  EXPECT_EQ(cudaGraphKernelNodeCopyAttributes(other_, one_), cudaSuccess);
  expect_set(other_);
  value[0] = 7;
  EXPECT_EQ(cudaGraphKernelNodeSetAttribute(one_, 8, value.data()), cudaSuccess);
  EXPECT_EQ(answer(one_, 8), (Bytes{7, 0, 0, 0})) << "the last one holds";
  EXPECT_EQ(answer(other_, 8), (Bytes{1, 0, 0, 0})) << "a copy";
}

TEST_F(GraphAttributes, OfCapturedLaunches) {
  ASSERT_EQ(cudaStreamBeginCapture(stream_, 0), cudaSuccess);
  int* to = device_;
  int value = 3;
  void* arguments[] = {&to, &value};
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  for (unsigned& d : attributes[0].value.clusterDim) d = 1;
  attributes[1].id = static_cast<cudaLaunchAttributeID>(8);
  attributes[1].value.bytes[0] = 2;
  cudaLaunchConfig_t config{};
  config.gridDim = config.blockDim = {1, 1, 1};
  config.stream = stream_;
  config.attrs = attributes;
  config.numAttrs = 2;
  ASSERT_EQ(cudaLaunchKernelExC(&config, &store_, arguments), cudaSuccess);
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &captured), cudaSuccess);
  cudaGraphNode_t node = nullptr;
  size_t n = 1;
  ASSERT_EQ(cudaGraphGetNodes(captured, &node, &n), cudaSuccess);
  EXPECT_EQ(answer(node, 4), (Bytes{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(answer(node, 8), (Bytes{2, 0, 0, 0}));
}

TEST_F(GraphAttributes, OfNoKernel) {
  cudaGraphNode_t empty = nullptr;
  ASSERT_EQ(cudaGraphAddEmptyNode(&empty, graph_, nullptr, 0), cudaSuccess);
  Bytes value(64);
  EXPECT_EQ(answer(empty, 2), Bytes{});
  EXPECT_EQ(cudaGraphKernelNodeSetAttribute(empty, 2, value.data()), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphKernelNodeCopyAttributes(empty, one_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphKernelNodeCopyAttributes(one_, empty), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphKernelNodeGetAttribute(one_, 2, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphKernelNodeSetAttribute(one_, 2, nullptr), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_F(GraphAttributes, ByTheDriver) {
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);  // the driver's functions need a context of this thread
  Bytes value(64), is(64);
  value[0] = 9;
  EXPECT_EQ(cuGraphKernelNodeSetAttribute(one_, 10, value.data()), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphKernelNodeCopyAttributes(other_, one_), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphKernelNodeGetAttribute(other_, 10, is.data()), CUDA_SUCCESS);
  EXPECT_EQ(is, value);
}

}  // namespace
}  // namespace coalesce::cudart
