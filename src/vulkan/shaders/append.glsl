// Lists without an order, whose lengths are counters of two words each (counters.glsl).
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require

// The place of another item: one addition for all invocations that want one at this moment.
uint take_place(Words counter, uint word)
{
	const uvec4 ballot = subgroupBallot(true);
	const uint all = subgroupBallotBitCount(ballot), before = subgroupBallotExclusiveBitCount(ballot);
	uint first = 0;
	if (subgroupElect()) {
		first = atomicAdd(counter.at[word], all);
		if (first + all < first)
			atomicAdd(counter.at[word + 1], 1u);
	}
	return subgroupBroadcastFirst(first) + before;
}

uint take_place(uint word) { return take_place(Words(arguments.address[5]), word); }
