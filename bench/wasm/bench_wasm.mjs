// node bench_wasm.mjs PACKAGE [MODULE...]: what modules of the npm package cost: processor time of Node, in turn, least and median of the rounds, and
// of the first module's. Equal hashes are asserted. PACKAGE is the folder of carom.js; without modules its own is measured.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { lumpyRing, randomNumbers } from '../../tests/wasm/support.mjs';

const ROUNDS = 7, [folder, ...given] = process.argv.slice(2), modules = given.length ? given : [`${folder}/carom.wasm`];
const { loadCarom } = await import(pathToFileURL(`${folder}/carom.js`));

/** Forty lumpy rings that interpenetrate. */
function makeHeap(carom) {
	const world = carom.createWorld({ temporal: 'none' }), random = randomNumbers(3), mesh = carom.createMesh(...lumpyRing(40, 24));
	for (let i = 0; i < 40; i++) {
		const turn = [random() - 0.5, random() - 0.5, random() - 0.5, random() - 0.5], length = Math.sqrt(turn.reduce((sum, c) => sum + c * c, 0));
		world.addBody({ shape: { type: 'mesh', mesh }, pose: [4 * random(), 4 * random(), 4 * random(), ...turn.map((c) => c / length)] });
	}
	return world;
}

const work = {
	'6 steps of 40 rings of 1,920 triangles': ({ world }) => {
		for (let i = 0; i < 6; i++)
			world.step();
		return world.hash;
	},
	'pairs of 20,000 spheres': ({ carom, centres, radii }) => {
		const spheres = carom.createSpheres(), count = spheres.findPairs(centres, radii).length;
		spheres.destroy();
		return count;
	},
	'20,000 rays in a batch': ({ world, origins, directions }) => world.castRays(origins, directions).t.reduce((sum, t) => sum + t, 0),
	'5,000 rays one by one': ({ world, origins, directions }) => {
		let sum = 0;
		for (let i = 0; i < 15000; i += 3)
			sum += world.castRayAny(origins.subarray(i, i + 3), directions.subarray(i, i + 3)) ? 1 : 0;
		return sum;
	},
	'5,000 nearest points in a batch': ({ world, origins }) => world.closestPoints(origins.subarray(0, 15000)).distance.reduce((sum, d) => sum + d, 0),
};

const random = randomNumbers(9), numbers = (count, low, high) => Float64Array.from({ length: count }, () => low + (high - low) * random());
const centres = numbers(60000, 0, 27), radii = numbers(20000, 0.3, 0.5), origins = numbers(60000, -1, 5), directions = numbers(60000, -1, 1);
const rooms = await Promise.all(modules.map(async (path) => {
	const carom = await loadCarom(readFileSync(path));
	return { carom, world: makeHeap(carom), centres, radii, origins, directions, times: {} };
}));
for (let round = 0; round <= ROUNDS; round++) {
	for (const [name, run] of Object.entries(work)) {
		const answers = rooms.map((room) => {
			const before = process.cpuUsage(), answer = run(room), spent = process.cpuUsage(before);
			if (round > 0) // the first one compiles
				(room.times[name] = room.times[name] || []).push((spent.user + spent.system) / 1000);
			return answer;
		});
		answers.forEach((answer) => assert.equal(answer, answers[0], name));
	}
}
for (const name of Object.keys(work)) {
	rooms.forEach(({ times }, i) => {
		const sorted = times[name].sort((a, b) => a - b), least = sorted[0], first = rooms[0].times[name].sort((a, b) => a - b)[0];
		console.log(`${name}: ${least.toFixed(1)} ms (median ${sorted[ROUNDS >> 1].toFixed(1)}), ${(least / first).toFixed(2)} times ${modules[i]}`);
	});
}
