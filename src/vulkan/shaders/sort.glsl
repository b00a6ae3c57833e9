// The digits of a radix sort: eight bits of a key at a time, from the lowest up.
// KEY is the type of the keys.
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Keys { KEY at[]; };

const uint DIGITS = 256;
const uint ROWS = 16; // items of each invocation

uint digit_of(KEY key, uint shift) { return uint(key >> shift) & (DIGITS - 1); }
