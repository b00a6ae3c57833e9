// The digits of a radix sort: eight bits of a key at a time, from the lowest up.
// KEY is the type of the keys.
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Keys { KEY at[]; };

const uint DIGITS = 256;
// Items of each invocation, at most: the host says how many (word 3), fewer where there are few
// items, so that enough workgroups have something to do. Loops have this bound so that compilers
// can unroll them.
const uint ROWS = 16;
const uint POOL = 3584; // items of a workgroup, at most

uint digit_of(KEY key, uint shift) { return uint(key >> shift) & (DIGITS - 1); }
