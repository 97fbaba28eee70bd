// Services: functions and instructions that the machine carries out itself, a thread at a time, for all executors: the
// device's runtime (execute/device_services.cpp), barriers of clusters and bulk copies (execute/bulk_services.cpp). A
// service is a row; its arguments are 64-bit words. Those of instructions have names that no function can have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coalesce::machine {

class Cluster;
class DeviceHeap;
class DeviceRuntime;

// Bytes in a row that a bulk copy is about to move. Generic addresses; 0: none.
struct BulkPart {
  uint64_t to = 0, from = 0, bytes = 0;
  uint64_t object = 0;  // the mbarrier object that hears of it; 0: the copy is one of a group
  bool reduces = false;
};

// The thread that asks.
class ServiceThread {
 public:
  virtual ~ServiceThread() = default;
  // `bytes` at a generic address that this thread may use. Throws what the executor throws for such an access.
  virtual std::byte* at(uint64_t address, uint64_t bytes) = 0;
  // The same where the thread may only read, as in a kernel's parameters.
  virtual const std::byte* read(uint64_t address, uint64_t bytes) = 0;
  // Counts the sectors of global memory there as touched by the launch.
  virtual void touch(uint64_t address, uint64_t bytes) = 0;
  // Counts sectors that a copy moves to or from global memory.
  virtual void sectors(uint64_t count) = 0;
  // For who looks for mistakes: what is about to be moved; all bytes have come, as the object hears now; the thread
  // arrives at, or goes on behind, a barrier of the cluster in that phase.
  virtual void moves(const BulkPart& /*part*/) {}
  virtual void completes(uint64_t /*object*/) {}
  virtual void arrives(uint64_t /*phase*/, bool /*releases*/) {}
  virtual void passes(uint64_t /*phase*/) {}
  // The cluster of its block, and the block's rank there.
  virtual Cluster& cluster(uint32_t& rank) = 0;
  // The thread ends the launch with this message. / By an address that is not aligned.
  [[noreturn]] virtual void fail(const std::string& message) = 0;
  [[noreturn]] virtual void astray(const std::string& message) = 0;  // by an address where nothing is
  [[noreturn]] virtual void misaligned(const std::string& message) = 0;
  DeviceRuntime* runtime = nullptr;
  DeviceHeap* heap = nullptr;
  uint64_t block = 0;   // its number
  uint32_t thread = 0;  // within the block
};

struct Service {
  std::string_view name;
  std::string_view arguments;  // one each: 4 and 8 (bytes), d (a dim3, three words)
  char result = '4';           // bytes; 0: none
  bool ordered = true;         // its effect depends on the order of blocks: one at a time, in that order
  uint64_t (*run)(ServiceThread&, const uint64_t* arguments) = nullptr;
};

// Null: there is no such service.
const Service* find_service(std::string_view name);
const Service* find_bulk_service(std::string_view name);  // of instructions only
const Service* find_tensor_service(std::string_view name);

inline constexpr std::size_t kMostServiceWords = 16;

// ---- The services of instructions

inline constexpr std::string_view kClusterArrive = "barrier.cluster.arrive", kClusterWait = "barrier.cluster.wait",
                                  kClusterArriveRelaxed = "barrier.cluster.arrive.relaxed";
// To, from, bytes, the mbarrier object or 0, a mask, a BulkForm. Generic addresses.
inline constexpr std::string_view kBulkCopy = "cp.async.bulk", kBulkReduce = "cp.reduce.async.bulk";
// To, the mbarrier object, a BulkForm, up to four values.
inline constexpr std::string_view kStoreAsync = "st.async";

enum class BulkOp : uint8_t { copy, add, min, max, inc, dec, and_, or_, xor_ };
enum class BulkType : uint8_t { b32, b64, u32, s32, u64, s64, f16, bf16, f32, f64 };
struct BulkForm {
  BulkOp op = BulkOp::copy;
  BulkType type = BulkType::b32;
  bool multicast = false;  // the mask names the blocks of the cluster that get the bytes
  bool masked = false;     // the mask names the bytes of each 16 that are copied
  uint8_t count = 1;       // values of st.async
  uint64_t word() const {
    return static_cast<uint64_t>(op) | static_cast<uint64_t>(type) << 8 | uint64_t{multicast} << 16 |
           uint64_t{masked} << 17 | uint64_t{count} << 24;
  }
  static BulkForm of(uint64_t w) {
    BulkForm f;
    f.op = static_cast<BulkOp>(w & 15);
    f.type = static_cast<BulkType>(w >> 8 & 15);
    f.multicast = w >> 16 & 1;
    f.masked = w >> 17 & 1;
    f.count = static_cast<uint8_t>(w >> 24 & 7);
    return f;
  }
  uint32_t width() const {
    constexpr uint8_t kWidths[] = {4, 8, 4, 4, 8, 8, 2, 2, 4, 8};
    return kWidths[static_cast<uint8_t>(type)];
  }
  // Reads the word of PTX; false: it is none.
  bool op_from(std::string_view w) {
    constexpr std::string_view kNames[] = {"", "add", "min", "max", "inc", "dec", "and", "or", "xor"};
    for (uint8_t k = 1; k < 9; ++k)
      if (w == kNames[k]) return op = static_cast<BulkOp>(k), true;
    return false;
  }
  bool type_from(std::string_view w) {
    constexpr std::string_view kNames[] = {"b32", "b64", "u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64"};
    for (uint8_t k = 0; k < 10; ++k)
      if (w == kNames[k]) return type = static_cast<BulkType>(k), true;
    return false;
  }
  // Whether PTX has the operation on that type.
  bool valid() const {
    const bool integer =
        type == BulkType::u32 || type == BulkType::s32 || type == BulkType::u64 || type == BulkType::s64;
    const bool half = type == BulkType::f16 || type == BulkType::bf16;
    switch (op) {
      case BulkOp::copy:
        return true;
      case BulkOp::add:
        return integer || half || type == BulkType::f32 || type == BulkType::f64;
      case BulkOp::min:
      case BulkOp::max:
        return integer || half;
      case BulkOp::inc:
      case BulkOp::dec:
        return type == BulkType::u32;
      default:
        return type == BulkType::b32 || type == BulkType::b64;
    }
  }
};

// The tile in shared memory, the tensor map, the mbarrier object or 0, a mask, a TensorForm, 5 coordinates, 3 offsets.
// tensormap: the description, a TensorField, which one, the value; to and from, of 128 bytes.
inline constexpr std::string_view kTensorChange = "tensormap.replace", kTensorPublish = "tensormap.cp_fenceproxy";
inline constexpr std::string_view kTensorCopy = "cp.async.bulk.tensor", kTensorReduce = "cp.reduce.async.bulk.tensor";

enum class TensorAction : uint8_t { load, store, prefetch };
struct TensorForm {
  TensorAction action = TensorAction::load;
  BulkOp op = BulkOp::copy;
  uint8_t rank = 0;
  bool im2col = false, multicast = false, policy = false;
  uint64_t word() const {
    return static_cast<uint64_t>(action) | static_cast<uint64_t>(op) << 4 | uint64_t{rank} << 8 |
           uint64_t{im2col} << 12 | uint64_t{multicast} << 13;
  }
  static TensorForm of(uint64_t w) {
    TensorForm f;
    f.action = static_cast<TensorAction>(w & 3);
    f.op = static_cast<BulkOp>(w >> 4 & 15);
    f.rank = static_cast<uint8_t>(w >> 8 & 7);
    f.im2col = w >> 12 & 1;
    f.multicast = w >> 13 & 1;
    return f;
  }
  bool offsets() const { return im2col && action != TensorAction::store; }
  std::size_t operands() const {
    return (action == TensorAction::load    ? 3u
            : action == TensorAction::store ? 2u
                                            : 1u) +
           offsets() + multicast + policy;
  }
  bool op_from(std::string_view w) {
    BulkForm f;
    const bool known = f.op_from(w);
    op = f.op;
    return known;
  }
  // The form that the suffixes of an instruction say; false: PTX 8.8 has none such for compute capability 9.0.
  bool from(const std::vector<std::string_view>& suffixes);
};

}  // namespace coalesce::machine
