// node bench_wasm.mjs PACKAGE [MODULE...] [--native PROGRAM SETS]: what modules of the npm package cost: processor time of Node, in turn, least
// and median of the rounds, and of the first one's. PACKAGE is the folder of carom.js; without modules its own is measured. With the program
// bench_native the native library takes its turns, too, with each of the instruction sets (scalar,sse2). Each work is done twice in a round, the
// second time counts. Equal answers are asserted.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { lumpyRing, randomNumbers } from '../../tests/wasm/support.mjs';

const ROUNDS = 7, words = process.argv.slice(2), at = words.indexOf('--native'), [program, sets] = at < 0 ? [] : words.splice(at, 3).slice(1);
const [folder, ...given] = words, modules = given.length ? given : [`${folder}/carom.wasm`];
const { loadCarom } = await import(pathToFileURL(`${folder}/carom.js`));

/** Forty lumpy rings that interpenetrate. */
const ring = lumpyRing(40, 24), poses = [], turns = randomNumbers(3);
for (let i = 0; i < 40; i++) {
	const turn = [turns() - 0.5, turns() - 0.5, turns() - 0.5, turns() - 0.5], length = Math.sqrt(turn.reduce((sum, c) => sum + c * c, 0));
	poses.push([4 * turns(), 4 * turns(), 4 * turns(), ...turn.map((c) => c / length)]);
}

function makeHeap(carom) {
	const world = carom.createWorld({ temporal: 'none' }), mesh = carom.createMesh(...ring);
	for (const pose of poses)
		world.addBody({ shape: { type: 'mesh', mesh }, pose });
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
	return { carom, world: makeHeap(carom), centres, radii, origins, directions };
}));
// What bench_native reads.
const native = (sets || '').split(',').filter(Boolean), room = mkdtempSync(join(tmpdir(), 'carom-bench-')), names = Object.keys(work);
writeFileSync(join(room, 'work'), Buffer.concat([new Int32Array([ring[0].length / 3, ring[1].length / 3, poses.length, radii.length, origins.length / 3]),
	...[ring[0], poses.flat(), centres, radii, origins, directions].map((list) => Float64Array.from(list)), Int32Array.from(ring[1])].map((list) => Buffer.from(list.buffer))));

const times = names.map(() => ({})), told = []; // of each work, by who did it: milliseconds of each round; and the answer
function note(who, i, round, ms, answer) {
	if (round > 0) // the first one compiles
		(times[i][who] = times[i][who] || []).push(ms);
	told[i] = told[i] ?? String(answer);
	assert.ok(told[i] === String(answer) || Number(told[i]) === Number(answer), `${names[i]}: ${who} answers ${answer}, not ${told[i]}`);
}
try {
	for (let round = 0; round <= ROUNDS; round++) {
		names.forEach((name, i) => rooms.forEach((each, m) => {
			work[name](each); // as bench_native does: between rounds others have used the caches, and memory may have been taken away
			const before = process.cpuUsage(), answer = work[name](each), spent = process.cpuUsage(before);
			note(modules[m], i, round, (spent.user + spent.system) / 1000, answer);
		}));
		for (const set of native) {
			for (const line of execFileSync(program, [join(room, 'work'), set], { encoding: 'utf8' }).trim().split('\n')) {
				const [i, ms, answer] = line.split(' ');
				note(`native ${set}`, i, round, Number(ms), answer);
			}
		}
	}
} finally {
	rmSync(room, { recursive: true, force: true });
}
names.forEach((name, i) => {
	const first = Math.min(...times[i][modules[0]]);
	for (const [who, list] of Object.entries(times[i])) {
		list.sort((a, b) => a - b);
		console.log(`${name}: ${list[0].toFixed(1)} ms (median ${list[ROUNDS >> 1].toFixed(1)}), ${(list[0] / first).toFixed(2)} times ${modules[0]}: ${who}`);
	}
});
