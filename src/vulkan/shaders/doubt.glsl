// Marks of a found pair, in its second number (cr_gpu_pair).
const uint DOUBT = 1u << 31; // single precision cannot tell whether both touch
const uint NO_PAIR = ~0u;    // rays have left the place over, or the processor has said no
