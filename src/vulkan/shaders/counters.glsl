// Counters of a search: two words make one number.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

// Add the values of a subgroup. The addition that passes 2^32 carries over.
void add_to(uint word, uint value)
{
	const uint all = subgroupAdd(value);
	if (!subgroupElect() || all == 0)
		return;
	Words counter = Words(arguments.address[5]);
	const uint before = atomicAdd(counter.at[word], all);
	if (before + all < before)
		atomicAdd(counter.at[word + 1], 1u);
}
