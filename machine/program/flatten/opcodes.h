// The functions that flatten families of opcodes: each appends the instruction under way, `b.in`, to the program.
#pragma once

#include "machine/program/flatten/builder.h"

namespace coalesce::machine::flattening {

// Any instruction, by the function of its opcode.
void flatten_instruction(Builder& b, const ptx::Instruction& in);

void move(Builder& b);
void compute(Builder& b);  // by one row of the table
bool compose(Builder& b);  // by several rows. False: it is no such instruction.
bool video(Builder& b);    // the same
void nothing(Builder& b);
void grid_control(Builder& b);
void fence(Builder& b);
// X.commit_group; X.wait_group N.
void groups(Builder& b, Nothing commit, Nothing wait);

void branch(Builder& b);
void branch_table(Builder& b);
void trap(Builder& b);
void barrier(Builder& b);
void shuffle(Builder& b);
void vote(Builder& b);
void match(Builder& b);
void reduce_lanes(Builder& b);
void elect(Builder& b);

void load(Builder& b);
void store(Builder& b);
void atomic(Builder& b);
void reduction(Builder& b);
void parameter_load(Builder& b);
void parameter_store(Builder& b);
void address_conversion(Builder& b);
void is_space(Builder& b);
void texture(Builder& b);
void surface(Builder& b);

void mbarrier(Builder& b);
void copies_arrive(Builder& b);
void async_copy(Builder& b);
void bulk_copy(Builder& b);
void store_async(Builder& b);
void tensor_map(Builder& b);
Value cluster_register(Builder& b, std::string_view name);
void map_address(Builder& b);
void cluster_rank_of(Builder& b);
void cluster_barrier(Builder& b);

void warp_matrix(Builder& b);
void move_matrix(Builder& b);
void matrix_fragment(Builder& b);
void group_matrix(Builder& b);

void start_stack(Builder& b);   // before the kernel's first instruction
void finish_stack(Builder& b);  // when it is known where local memory ends
void allocate_stack(Builder& b);
void save_stack(Builder& b);
void restore_stack(Builder& b);

}  // namespace coalesce::machine::flattening
