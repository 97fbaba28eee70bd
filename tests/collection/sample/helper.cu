// No program: int main() is only in this comment.
__device__ int helper(int x) { return x + 1; }
