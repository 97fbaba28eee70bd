// A kernel: parameters, shared memory, statements, and what it leaves.
#include <algorithm>

#include "tests/random_cuda/builder.h"

namespace coalesce::random_cuda {
namespace {

constexpr unsigned kMostThreads = 512;  // of a launch; buffers have four elements for each

std::string number(uint64_t n) { return std::to_string(n); }

}  // namespace

void Builder::shape() {
  static const unsigned blocks[][3] = {{32, 1, 1}, {32, 1, 1}, {64, 1, 1}, {64, 1, 1}, {128, 1, 1}, {256, 1, 1},
                                       {96, 1, 1}, {33, 1, 1}, {1, 1, 1},  {7, 1, 1},  {40, 1, 1},  {100, 1, 1},
                                       {8, 8, 1},  {16, 4, 1}, {5, 3, 2},  {4, 4, 4},  {31, 1, 3},  {2, 33, 1},
                                       {32, 4, 1}, {3, 7, 1},  {1, 1, 48}};
  const auto& b = blocks[below(sizeof blocks / sizeof *blocks)];
  std::copy(b, b + 3, block_);
  threads_ = b[0] * b[1] * b[2];
  feature(b[1] * b[2] == 1 ? "block of one dimension" : "block of several dimensions");
  feature(threads_ % 32 == 0 ? "block of whole warps" : "block with part of a warp");
  const unsigned most = kMostThreads / threads_;
  std::fill(grid_, grid_ + 3, 1u);
  grid_[0] = 1 + below(std::min(most, chance(25) ? 16u : 3u));
  if (grid_[0] * 2 <= most && chance(20)) feature("grid of two dimensions"), grid_[1] = 2;
  if (grid_[0] * grid_[1] * 2 <= most && chance(10)) feature("grid of three dimensions"), grid_[2] = 2;
}

// A parameter and the arguments for it are left out together.
void Builder::parameter(const std::string& declared, const std::string& on_device, const std::string& on_host) {
  const uint32_t id = next_id_++;
  const auto piece = [&](const std::string& t) {
    auto node = std::make_shared<Node>();
    node->id = id, node->text = ", " + t, node->droppable = true;
    node->declares = declared.substr(declared.find_last_of(" *") + 1);
    return node;
  };
  parameters_.push_back(piece(declared));
  device_arguments_.push_back(piece(on_device)), host_arguments_.push_back(piece(on_host));
}

void Builder::struct_parameters() {
  for (unsigned i = 0, n = below(3); i < n; ++i) {
    const auto all = static_cast<unsigned>(structs_.size());
    const unsigned type = chance(80) ? kVectorTypes + below(all - kVectorTypes) : below(all), kind = below(3);
    const std::string name = fresh("p"), t = structs_[type].name;
    const std::string value = "rc::value<" + t + ">(" + number(random() >> 8) + ")";
    static const char* const kinds[] = {"kernel parameter: struct", "kernel parameter: const struct",
                                        "kernel parameter: __grid_constant__"};
    feature(kinds[kind]);
    parameter((kind == 0 ? "" : kind == 1 ? "const " : "const GRID_CONSTANT ") + t + " " + name, value, value);
    // A copy belongs to its thread, not to all.
    add_struct_place(name, {}, type, kind == 0 ? Level::lane : Level::block, kind == 0);
  }
}

void Builder::number_parameters() {
  for (unsigned i = 0, n = 1 + below(4); i < n; ++i) {
    const Type type = any_type(kIntegers | kReals);
    const std::string name = fresh("n"), t = row(type).name;
    feature("kernel parameter: number");
    const std::string value = "rc::value<" + t + ">(" + number(random() >> 8) + ")";
    parameter("const " + t + " " + name, value, value);
    places_.push_back({name, {}, type, Level::block});
  }
}

// Each buffer has one role in a launch: read by all, a thread's own, or updated by atomics of one kind.
void Builder::buffer_parameters() {
  const std::string own = "gid * 4u + (@)";
  for (const Row& b : buffers_) {
    const std::string t = row(b.type).name;
    if (b.sums) {
      if (chance(30)) continue;
      Tile sum{b.name, b.type, 64, true, any_update()};
      if (sum.update.type != b.type) sum.update = {5, b.type};  // exclusive or: of all types that buffers have
      parameter(t + "* " + b.name, b.name + ".device", b.name + ".host.data()");
      sums_.push_back(sum);
      continue;
    }
    const unsigned role = below(10);
    if (role == 0) continue;
    if (role < 5) {
      const bool restricted = chance(50);
      feature(restricted ? "buffer: const, restrict" : "buffer: const");
      parameter("const " + t + "* " + (restricted ? "__restrict__ " : "") + b.name, b.name + ".device",
                b.name + ".host.data()");
      places_.push_back({b.name + "[@]", {4 * kMostThreads}, b.type, Level::block});
      if (chance(60)) places_.push_back({b.name + "[gid]", {}, b.type, Level::lane});
      continue;
    }
    for (unsigned v = 0; v < kVectorTypes; ++v) {  // as vectors, where there is one of four
      if (structs_[v].leaves.size() != 4 || structs_[v].leaves[0].type != b.type || !chance(60)) continue;
      feature("buffer: vectors");
      const std::string& vector = structs_[v].name;
      parameter(vector + "* " + b.name, "(" + vector + "*)" + b.name + ".device",
                "(" + vector + "*)" + b.name + ".host.data()");
      add_struct_place(b.name + "[gid]", {}, v, Level::lane, true);
      add_struct_place(b.name + "[gid]", {}, v, Level::lane, true);
      goto next;
    }
    feature("buffer: one's own");
    parameter(t + "* " + b.name, b.name + ".device", b.name + ".host.data()");
    places_.push_back({b.name + "[" + own + "]", {4}, b.type, Level::lane, true});
    places_.push_back({b.name + "[gid]", {}, b.type, Level::lane, true});
    places_.pop_back();
  next:;
  }
  for (size_t i = 0; i < struct_buffers_.size(); ++i) {
    if (chance(40)) continue;
    feature("buffer: structs");
    const std::string name = "r" + number(i);
    parameter("const " + structs_[struct_buffers_[i]].name + "* " + name, name + ".device", name + ".host.data()");
    add_struct_place(name + "[@]", {64}, struct_buffers_[i], Level::block, false);
  }
}

void Builder::shared_memory(std::vector<Tree>& declarations) {
  dynamic_bytes_ = 0;
  for (unsigned i = 0, n = below(4); i < n; ++i) {
    Tile tile{
        fresh("tile"), any_type(kNarrow | kWords | kLongs | kReals), threads_ * one_of({1, 1, 2}), chance(40), {}};
    if (tile.is_updated) tile.update = any_update(), tile.type = tile.update.type, tile.size = one_of({1, 8, 33, 64});
    if (!tile.is_updated && chance(60))
      while ((tile.size & (tile.size - 1)) != 0) ++tile.size;
    const std::string t = row(tile.type).name, size = number(tile.size), i_name = fresh("j");
    std::string declared;
    if (chance(40)) {
      feature("dynamic shared memory");
      declared = t + "* const " + tile.name + " = (" + t + "*)(dynamic + " + number(dynamic_bytes_) + ");\n";
      dynamic_bytes_ += (tile.size * row(tile.type).bits / 8 + 15) / 16 * 16;
    } else {
      feature("static shared memory");
      declared = "SHARED " + t + " " + tile.name + "[" + size + "];\n";
    }
    // Sums of real numbers begin small, and whole.
    const bool zero = tile.is_updated && in(tile.type, kReals);
    declarations.push_back(declaration(tile.name, declared + "for (u32 " + i_name + " = tid; " + i_name + " < " + size +
                                                      "u; " + i_name + " += " + number(threads_) + "u) " + tile.name +
                                                      "[" + i_name + "] = (" + t + ")(" +
                                                      (zero ? "0" : i_name + " * 77u") + ");\n"));
    tiles_.push_back(tile);
    // Between the barriers around its writes it is the same for all.
    places_.push_back({tile.name + "[@]", {tile.size}, tile.type, Level::block});
  }
}

// The values of the thread's variables at the end.
Tree Builder::results() {
  std::vector<Tree> made;
  for (unsigned i = 0; i < 4; ++i) {
    std::vector<Tree> parts;
    std::string t = number(i + 1) + "ull";
    for (unsigned j = 0; j < 3; ++j) {
      const Type type = any_type(kIntegers | kReals | only(Type::boolean));
      parts.push_back(expression(type, Level::lane, one_of({0, 0, 1, 2})).tree);
      t = "rc::mix(" + t + ", $" + number(j) + ")";
    }
    made.push_back(statement("out[gid * 4u + " + number(i) + "u] = " + t + ";\n", std::move(parts)));
  }
  return list(std::move(made));
}

Tree Builder::kernel(unsigned number_of_kernel) {
  const std::string name = "k" + number(number_of_kernel);
  const size_t places = places_.size(), structs = struct_places_.size();
  shape();
  tiles_.clear(), sums_.clear(), parameters_.clear(), device_arguments_.clear(), host_arguments_.clear();
  uses_warp_tile_ = false, in_kernel_ = true, cost_ = 0, times_ = 1;
  full_ = threads_ % 32 == 0 && chance(70) ? "0xffffffffu" : "full";
  struct_parameters(), number_parameters(), buffer_parameters();
  for (const char* own : {"tid", "lane", "gid", "threadIdx.x", "threadIdx.y"})
    places_.push_back({own, {}, Type::u32, Level::lane});
  places_.push_back({"warp", {}, Type::u32, Level::warp});
  for (const char* own : {"blockIdx.x", "blockIdx.y", "gridDim.x", "blockDim.x"})
    places_.push_back({own, {}, Type::u32, Level::block});
  std::vector<Tree> parts;
  shared_memory(parts);
  parts.push_back(text("__syncthreads();\n"));
  for (unsigned i = 0; i < 3; ++i) parts.push_back(declare(Level::block));
  parts.push_back(declare_struct(Level::block));
  for (unsigned i = 0, n = 6 + below(14); i < n; ++i)
    if (Tree s = any_statement(Level::block)) parts.push_back(s);
  if (chance(15)) {
    feature("leave the kernel early");
    parts.push_back(statement("if ($0) return;\n", {expression(Type::boolean, Level::lane, 2).tree}));
  }
  parts.push_back(results());
  places_.resize(places), struct_places_.resize(structs);
  in_kernel_ = false;

  std::string start;
  if (dynamic_bytes_) start += "DYNAMIC_SHARED(dynamic);\n";
  if (uses_warp_tile_) start += "SHARED u32 warp_tile[" + number((threads_ + 31) / 32 * 32) + "];\n";
  const bool flat = block_[1] * block_[2] == 1;
  start += std::string("const u32 tid = threadIdx.x") +
           (flat ? "" : " + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)") + ";\n";
  start += "const u32 lane = tid & 31u, warp = tid >> 5, full = rc::lanes();\n";
  start += "const u32 gid = (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) * " + number(threads_) +
           "u + tid;\n(void)warp, (void)lane, (void)full;\n";
  const std::string bounds =
      chance(20) && feature("__launch_bounds__") ? "__launch_bounds__(" + number(threads_) + ")" : "";
  launches_.push_back(launch(name));
  if (chance(25)) feature("launch twice"), launches_.push_back(launch(name));
  return declaration(name, "KERNEL(" + name + ", " + bounds + ", (u64* out$0)) {\n" + start + "$1}\n",
                     {list(parameters_), list(std::move(parts))});
}

Tree Builder::launch(const std::string& name) {
  const auto dim = [](const unsigned* d) {
    return "dim3(" + number(d[0]) + ", " + number(d[1]) + ", " + number(d[2]) + ")";
  };
  return statement("LAUNCH(" + name + ", $2, " + dim(block_) + ", " + number(dynamic_bytes_) +
                       ", (out.device$0), (out.host.data()$1));\n",
                   {list(device_arguments_), list(host_arguments_), operand(dim(grid_), {}, "dim3(1)")});
}

}  // namespace coalesce::random_cuda
