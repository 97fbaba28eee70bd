#include "tests/random/reference.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/random/reference_cost.h"
#include "tests/random/reference_program.h"

namespace coalesce::machine::test {

namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Operand;
using OK = Operand::Kind;
using namespace reference;

constexpr uint64_t kConstants = 0x7000000000;
constexpr uint64_t kMaxSteps = 20'000'000;
constexpr uint32_t kNowhere = ~0u;
uint64_t sx(int64_t v) { return static_cast<uint64_t>(v); }
uint32_t u(uint64_t v) { return static_cast<uint32_t>(v); }

struct Entry {
  uint32_t at = 0, mask = 0, until = kNowhere;
};

struct Frame {
  const Program* program = nullptr;
  std::vector<Lanes> registers;
  std::map<std::string, std::vector<Lanes>> params;  // .param variables, a byte per element
  std::vector<Entry> stack;
};

class Block {
 public:
  Block(const std::map<std::string, Program>& programs, const ReferenceLaunch& l, std::array<uint32_t, 3> ctaid,
        std::map<uint64_t, std::vector<uint8_t>>& memory, std::set<uint64_t>& touched, ReferenceResult& out,
        const std::map<std::string, uint64_t>& constants)
      : programs_(programs),
        launch_(l),
        ctaid_(ctaid),
        memory_(memory),
        touched_(touched),
        out_(out),
        symbols_(constants) {}

  void run(const std::string& kernel) {
    const Program& p = programs_.at(kernel);
    uint32_t offset = 0;
    const auto place = [&](const ptx::Variable& v, uint32_t& at) {
      const unsigned a = std::max(1u, v.alignment ? v.alignment : ptx::size_of(v.type));
      at = (at + a - 1) / a * a;
      symbols_[v.name] = at;
      at += static_cast<uint32_t>(v.size);
    };
    uint32_t local = 0, param = 0;
    for (const ptx::Variable& v : p.function->variables)
      if (v.space == ptx::Space::shared)
        place(v, offset);
      else if (v.space == ptx::Space::local)
        place(v, local);
    for (const ptx::Variable& v : p.function->params) place(v, param);
    shared_.assign(offset, 0);
    const uint32_t threads = launch_.block[0] * launch_.block[1] * launch_.block[2];
    struct Warp {
      Frame frame;
      uint32_t alive;
      std::vector<uint8_t> local;
    };
    std::vector<Warp> warps((threads + 31) / 32);
    for (uint32_t w = 0; w < warps.size(); ++w) {
      const uint32_t left = threads - 32 * w;
      warps[w].alive = left >= 32 ? ~0u : (1u << left) - 1;
      warps[w].frame.program = &p;
      warps[w].frame.registers.resize(p.function->registers.size());
      warps[w].frame.stack = {{0, warps[w].alive, kNowhere}};
      warps[w].local.assign(std::size_t{32} * local, 0);
    }
    local_bytes_ = local;
    for (bool any = true; any;) {
      any = false;
      for (uint32_t w = 0; w < warps.size(); ++w) {
        warp_ = w;
        local_ = &warps[w].local;
        alive_ = warps[w].alive;
        if (alive_ && advance(warps[w].frame, true)) any = true;
        warps[w].alive = alive_;
      }
    }
  }

 private:
  // Until a barrier (true) or the frame's end.
  bool advance(Frame& f, bool entry) {
    const auto end = static_cast<uint32_t>(f.program->code.size());
    while (!f.stack.empty()) {
      Entry& top = f.stack.back();
      top.mask &= alive_;
      if (top.mask == 0 || top.at == top.until || top.at == end) {
        if (entry && top.at == end) alive_ &= ~top.mask;
        f.stack.pop_back();
        continue;
      }
      if (++out_.steps > kMaxSteps) throw std::runtime_error("reference: too many steps");
      const uint32_t at = top.at;
      const Instruction& in = f.program->function->body[at];
      const Decoded& d = f.program->code[at];
      uint32_t on = top.mask;
      if (in.guard >= 0) {
        const Lanes& p = f.registers[static_cast<std::size_t>(in.guard)];
        for (uint32_t l = 0; l < 32; ++l)
          if ((p[l] & 1) == uint64_t{in.guard_negated}) on &= ~(1u << l);
      }
      const bool is_control = d.action == Action::bra || d.action == Action::ret || d.action == Action::brx;
      Counters& c = out_.counters;
      c.instructions += 1;
      c.thread_instructions += count(is_control ? top.mask : on);
      if (d.action == Action::bra || d.action == Action::brx) {
        c.branches += 1;
        std::map<uint32_t, uint32_t> ways;
        const Lanes index = d.action == Action::brx ? read(f, in.operands[0]) : Lanes{};
        for (uint32_t l = 0; l < 32; ++l)
          if (top.mask >> l & 1)
            ways[d.action == Action::brx ? table(f, in)[index[l]]
                 : on >> l & 1           ? in.operands[0].target
                                         : at + 1] |= 1u << l;
        if (ways.size() > 1) c.divergent_branches += 1;
        part(f, ways);
        continue;
      }
      if (d.action == Action::ret) {
        if (entry) {
          alive_ &= ~on;
          top.at = at + 1;
        } else {
          std::map<uint32_t, uint32_t> ways;
          if (on) ways[end] = on;
          if (top.mask & ~on) ways[at + 1] = top.mask & ~on;
          part(f, ways);
        }
        continue;
      }
      top.at = at + 1;
      if (d.action == Action::barrier) {
        if (top.mask != alive_) throw std::runtime_error("reference: divergent barrier");
        c.barriers += 1;
        return true;
      }
      execute(f, in, d, on, entry);
    }
    return false;
  }

  void part(Frame& f, const std::map<uint32_t, uint32_t>& ways) {
    Entry& top = f.stack.back();
    if (ways.size() == 1) {
      top.at = ways.begin()->first;
      return;
    }
    const uint32_t meet = f.program->meets[top.at];
    top.at = meet;
    for (const auto& [to, mask] : ways) f.stack.push_back({to, mask, meet});
  }

  static std::vector<uint32_t> table(const Frame& f, const Instruction& in) {
    for (const Function::Table& t : f.program->function->branch_tables)
      if (t.name == in.operands[1].name) return t.targets;
    throw std::runtime_error("reference: no table");
  }

  static uint32_t count(uint32_t mask) { return static_cast<uint32_t>(__builtin_popcount(mask)); }

  Lanes read(const Frame& f, const Operand& o) const {
    Lanes v{};
    switch (o.kind) {
      case OK::reg:
        v = f.registers[static_cast<std::size_t>(o.reg)];
        if (o.negated)
          for (uint64_t& x : v) x = !x;
        return v;
      case OK::integer:
        v.fill(o.bits);
        return v;
      case OK::real:
        v.fill(o.bits);
        return v;
      case OK::symbol:
        v.fill(symbols_.at(o.name) + sx(o.offset));
        return v;
      case OK::special:
        for (uint32_t l = 0; l < 32; ++l) v[l] = special(o.name, l);
        return v;
      default:
        throw std::runtime_error("reference: operand");
    }
  }

  uint64_t special(const std::string& name, uint32_t l) const {
    const uint32_t t = 32 * warp_ + l;
    const auto& b = launch_.block;
    const auto dimension = [&](const std::array<uint32_t, 3>& a) {
      return a[static_cast<std::size_t>(name.back() - 'x')];
    };
    if (name == "%laneid") return l;
    if (name == "%warpid") return warp_;
    if (name.starts_with("%tid.")) return dimension({t % b[0], t / b[0] % b[1], t / b[0] / b[1]});
    if (name.starts_with("%ntid.")) return dimension(b);
    if (name.starts_with("%ctaid.")) return dimension(ctaid_);
    if (name.starts_with("%nctaid.")) return dimension(launch_.grid);
    throw std::runtime_error("reference: " + name);
  }

  static void write(Frame& f, const Operand& o, const Lanes& v, uint32_t on) {
    if (o.kind == OK::sink || o.reg < 0) return;
    for (uint32_t l = 0; l < 32; ++l)
      if (on >> l & 1) f.registers[static_cast<std::size_t>(o.reg)][l] = v[l];
  }

  void execute(Frame& f, const Instruction& in, const Decoded& d, uint32_t on, bool entry) {
    Lanes out{};
    switch (d.action) {
      case Action::pure: {
        Lanes v[3]{};
        for (std::size_t k = 1; k < in.operands.size() && k < 4; ++k) v[k - 1] = read(f, in.operands[k]);
        for (uint32_t l = 0; l < 32; ++l)
          if (on >> l & 1) out[l] = d.pure(v[0][l], v[1][l], v[2][l]);
        write(f, in.operands[0], out, on);
        return;
      }
      case Action::shuffle: {
        out_.counters.shuffles += 1;
        const Lanes a = read(f, in.operands[1]), b = read(f, in.operands[2]), c = read(f, in.operands[3]);
        Lanes valid{};
        for (uint32_t l = 0; l < 32; ++l) {
          const uint32_t segment = u(c[l]) >> 8 & 31, clamp = u(c[l]) & 31, low = l & segment,
                         high = low | (clamp & ~segment);
          const int by = static_cast<int>(b[l] & 31);
          int j = static_cast<int>(l);
          bool inside = true;
          if (d.mode == "up")
            j -= by, inside = j >= static_cast<int>(high);
          else if (d.mode == "down")
            j += by, inside = j <= static_cast<int>(high);
          else if (d.mode == "bfly")
            j ^= by, inside = j <= static_cast<int>(high);
          else
            j = static_cast<int>(low | (static_cast<uint32_t>(by) & ~segment)), inside = j <= static_cast<int>(high);
          out[l] = a[inside ? static_cast<uint32_t>(j) : l];
          valid[l] = inside;
        }
        write(f, in.operands[0], out, on);
        if (in.operands[0].reg2 >= 0) {
          Operand second = in.operands[0];
          second.reg = second.reg2;
          write(f, second, valid, on);
        }
        return;
      }
      case Action::activemask:
        out_.counters.votes += 1;
        out.fill(on);
        return write(f, in.operands[0], out, on);
      case Action::vote: {
        out_.counters.votes += 1;
        const Lanes p = read(f, in.operands[1]);
        uint32_t yes = 0;
        for (uint32_t l = 0; l < 32; ++l) yes |= static_cast<uint32_t>(p[l] & 1) << l;
        yes &= on;
        out.fill(d.mode == "ballot" ? yes
                 : d.mode == "all"  ? yes == on
                 : d.mode == "any"  ? yes != 0
                                    : yes == 0 || yes == on);
        return write(f, in.operands[0], out, on);
      }
      case Action::redux: {
        const Lanes a = read(f, in.operands[1]);
        uint32_t sum = 0;
        for (uint32_t l = 0; l < 32; ++l)
          if (on >> l & 1) sum += u(a[l]);
        out.fill(sum);
        return write(f, in.operands[0], out, on);
      }
      case Action::load:
      case Action::store:
      case Action::reduce:
        return access(f, in, d, on, entry);
      case Action::call: {
        const auto& ops = in.operands;
        const Program& callee = programs_.at(ops[ops.size() - 2].name);
        Frame inner;
        inner.program = &callee;
        inner.registers.resize(callee.function->registers.size());
        inner.stack = {{0, on, kNowhere}};
        for (std::size_t k = 0; k < callee.function->params.size(); ++k)
          inner.params[callee.function->params[k].name] = f.params[ops.back().elements[k].name];
        advance(inner, false);
        const std::string& to = ops[0].elements[0].name;
        const auto& from = inner.params[callee.function->returns[0].name];
        auto& mine = f.params[to];
        mine.resize(from.size());
        for (std::size_t byte = 0; byte < from.size(); ++byte)
          for (uint32_t l = 0; l < 32; ++l)
            if (on >> l & 1) mine[byte][l] = from[byte][l];
        return;
      }
      default:
        throw std::runtime_error("reference: cannot execute " + in.mnemonic);
    }
  }

  uint8_t* global(uint64_t address, uint64_t bytes) {
    auto found = memory_.upper_bound(address);
    if (found == memory_.begin()) throw std::runtime_error("reference: address in no buffer");
    --found;
    if (address + bytes > found->first + found->second.size())
      throw std::runtime_error("reference: address out of bounds");
    return found->second.data() + (address - found->first);
  }

  void access(Frame& f, const Instruction& in, const Decoded& d, uint32_t on, bool entry) {
    const bool is_load = d.action == Action::load, is_atomic = d.action == Action::reduce;
    const Operand& where = in.operands[is_load || d.returns ? 1 : 0];
    const Operand& what = in.operands[is_load ? 0 : d.returns ? 2 : 1];
    const unsigned bytes = d.width * d.count;
    const auto element = [&](std::size_t k) -> const Operand& { return d.count > 1 ? what.elements[k] : what; };
    if (d.space == "param" && where.reg < 0) {
      if (entry && symbols_.contains(where.name) && is_load) {  // of the kernel
        Lanes v{};
        uint64_t x = 0;
        std::memcpy(&x, launch_.parameters.data() + symbols_.at(where.name) + where.offset, d.width);
        v.fill(x);
        return write(f, what, v, on);
      }
      auto& place = f.params[where.name];
      place.resize(std::max<std::size_t>(place.size(), static_cast<std::size_t>(where.offset) + bytes));
      Lanes v = is_load ? Lanes{} : read(f, what);
      for (unsigned b = 0; b < bytes; ++b)
        for (uint32_t l = 0; l < 32; ++l) {
          uint64_t& at = place[static_cast<std::size_t>(where.offset) + b][l];
          if (is_load)
            v[l] |= at << 8 * b;
          else if (on >> l & 1)
            at = v[l] >> 8 * b & 255;
        }
      if (is_load) write(f, what, v, on);
      return;
    }
    Lanes address{};
    if (where.reg >= 0)
      address = f.registers[static_cast<std::size_t>(where.reg)];
    else if (!where.name.empty())
      address.fill(symbols_.at(where.name));
    for (uint64_t& a : address) a += sx(where.offset);
    if (on == 0) return;
    std::array<uint8_t*, 32> host{};
    for (uint32_t l = 0; l < 32; ++l) {
      if (!(on >> l & 1)) continue;
      if (address[l] % bytes) throw std::runtime_error("reference: misaligned");
      if (d.space == "global" || d.space == "const") {
        host[l] = global(address[l], bytes);
      } else if (d.space == "shared") {
        if (address[l] + bytes > shared_.size()) throw std::runtime_error("reference: outside shared memory");
        host[l] = shared_.data() + address[l];
      } else {
        if (address[l] + bytes > local_bytes_) throw std::runtime_error("reference: outside local memory");
        host[l] = local_->data() + std::size_t{l} * local_bytes_ + address[l];
      }
    }
    if (d.space != "const")
      count_access(d, address, on,
                   is_atomic ? Access::atomic
                   : is_load ? Access::load
                             : Access::store,
                   out_.counters, touched_);
    Lanes old{};
    for (uint32_t l = 0; l < 32; ++l) {
      if (!(on >> l & 1)) continue;
      for (std::size_t k = 0; k < d.count; ++k) {
        uint8_t* p = host[l] + k * d.width;
        if (is_load) {
          uint64_t v = 0;
          std::memcpy(&v, p, d.width);
          if (d.sign && d.width < 8 && (v >> (8 * d.width - 1) & 1)) v |= ~uint64_t{0} << 8 * d.width;
          if (d.width <= 4) v = u(v);
          Lanes one{};
          one[l] = v;
          write(f, element(k), one, 1u << l);
        } else if (is_atomic) {
          uint32_t now;
          std::memcpy(&now, p, 4);
          old[l] = now;
          const uint32_t by = u(read(f, what)[l]);
          now = d.mode == "add" ? now + by : d.mode == "max" ? std::max(now, by) : d.mode == "or" ? now | by : now ^ by;
          std::memcpy(p, &now, 4);
        } else {
          const uint64_t v = read(f, element(k))[l];
          std::memcpy(p, &v, d.width);
        }
      }
    }
    if (d.returns) write(f, in.operands[0], old, on);
  }

  const std::map<std::string, Program>& programs_;
  const ReferenceLaunch& launch_;
  std::array<uint32_t, 3> ctaid_;
  std::map<uint64_t, std::vector<uint8_t>>& memory_;
  std::set<uint64_t>& touched_;
  ReferenceResult& out_;
  std::map<std::string, uint64_t> symbols_;
  std::vector<uint8_t> shared_;
  std::vector<uint8_t>* local_ = nullptr;
  uint64_t local_bytes_ = 0;
  uint32_t warp_ = 0, alive_ = 0;
};

}  // namespace

ReferenceResult reference_run(const ptx::Module& module, const std::string& kernel, const ReferenceLaunch& launch,
                              std::map<uint64_t, std::vector<uint8_t>>& memory) {
  ReferenceResult result;
  std::map<std::string, Program> programs;
  for (const Function& f : module.functions)
    if (!f.is_declaration) programs.emplace(f.name, Program(f, f.is_entry));
  std::set<uint64_t> touched;
  std::map<std::string, uint64_t> constants;
  for (const ptx::Variable& v : module.variables) {
    if (v.space != ptx::Space::constant) continue;
    constants[v.name] = kConstants + 65536 * constants.size();
    memory[constants[v.name]] = v.initial;
  }
  for (uint32_t z = 0; z < launch.grid[2]; ++z)
    for (uint32_t y = 0; y < launch.grid[1]; ++y)
      for (uint32_t x = 0; x < launch.grid[0]; ++x)
        Block(programs, launch, {x, y, z}, memory, touched, result, constants).run(kernel);
  result.counters.compulsory_bytes = 32 * touched.size();
  return result;
}

}  // namespace coalesce::machine::test
