// What rays of one kind have in common (cr_gpu_cast_job of gpu_casts.h), by the number of a job.
// address: 1 jobs.
const uint JOB_LONGS = 6;

uint64_t job_address(uint job, uint k) { return Longs(arguments.address[1]).at[JOB_LONGS * job + k]; }
uint64_t nodes_of(uint job) { return job_address(job, 0); }
uint64_t blocks_of(uint job) { return job_address(job, 1); }
uint64_t across_of(uint job) { return job_address(job, 2); }
uint64_t structure_of(uint job) { return job_address(job, 3); }
uint64_t boxes_of(uint job) { return job_address(job, 4); }
float reach_of(uint job) { return Floats(arguments.address[1]).at[2 * JOB_LONGS * job + 10]; }
float size_of(uint job) { return Floats(arguments.address[1]).at[2 * JOB_LONGS * job + 11]; }
