// node package.mjs PACKAGE [PAGE...]: the npm package in a folder works and refuses what is wrong; contacts of pages that carom export has
// made natively are found again, with equal hashes.
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { readFileSync } from 'node:fs';
import { readPage, readTrack } from '../browser/page.mjs';
import { close, corners, load, randomNumbers, sides } from './support.mjs';

const [folder, ...pages] = process.argv.slice(2);
const { carom, refuses } = await load(folder);

const start = carom.memoryInUse;
const cube = carom.createMesh(corners, sides), report = cube.report;
assert.equal(report.closed, true);
close(report.volume, 8);
assert.deepEqual(report.lower, [-1, -1, -1]);
refuses(() => carom.createMesh(corners, [0, 1, 99]), /./, 'invalid mesh');
refuses(() => carom.createMesh(corners, sides, { sides: 'none' }), /"auto", "front", "both"/);

// Worlds: contacts, pairs, queries, misuse.
const world = carom.createWorld({ temporal: 'none' });
const ground = world.addBody({ kind: 'static', shape: { type: 'plane' } });
const crate = world.addBody({ shape: { type: 'mesh', mesh: cube }, pose: [0, 0, 0.9, 0, 0, 0, 1] });
const pair = world.addBody({ parts: [{ type: 'sphere', radius: 1, pose: [0, 0, 1, 0, 0, 0, 1] }, { type: 'box', halfExtents: [1, 1, 1], pose: [0, 3, 0, 0, 0, 0, 1] }], pose: [9, 0, 9, 0, 0, 0, 1] });
world.step();
assert.equal(world.pairs.length, 1);
assert.equal(world.contacts.length, 4);
for (const contact of world.contacts) {
	close(contact.depth, 0.1);
	close(Math.abs(contact.normal[2]), 1);
}
assert.match(world.contactHash, /^[0-9a-f]{16}$/);
const hit = world.castRay([0.3, 0.2, 9], [0, 0, -1]);
assert.deepEqual(hit.body, crate);
close(hit.point[2], 1.9);
assert.equal(world.castRay([0, 0, 9], [0, 0, 1]), null);
close(world.closestPoint([9, 0, 12]).distance, 1);
assert.deepEqual(world.overlapBox([8, -1, 8], [10, 1, 12]), [pair]);
assert.deepEqual(world.overlapShape({ type: 'sphere', radius: 0.5 }, [1.2, 0, 1, 0, 0, 0, 1]), [crate]);
world.setPose(crate, [0, 0, 5, 0, 0, 0, 1]);
assert.equal(world.getPose(crate)[2], 5);
world.step();
assert.equal(world.contacts.length, 0);
world.removeBody(crate);
refuses(() => world.removeBody(crate), /./, 'invalid body');
refuses(() => world.addBody({ shape: { type: 'sphere', radius: -1 } }), /radius/);
refuses(() => world.addBody({ shape: { type: 'ball' } }), /"sphere"/);
refuses(() => world.addBody({ shape: { type: 'mesh' } }), /needs a mesh/);
refuses(() => world.addBody({}), /missing/);
refuses(() => world.addBody({ shape: { type: 'sphere', radius: 1 }, pose: [NaN, 0, 0, 0, 0, 0, 1] }), /pose|position|finite/);
refuses(() => world.setPoses([ground], [1, 2]), /7 numbers, not 2/);
refuses(() => carom.createWorld({ gravity: 1 }), /no setting gravity/);
refuses(() => carom.createWorld({ temporal: 'always' }), /"predictive"/);
refuses(() => world.castRay([0, 0, 0], [0, 0, 0]), /direction/);

// Distances of meshes.
const gap = carom.meshDistance(cube, cube, { poseB: [5, 0, 0, 0, 0, 0, 1] });
close(gap.distance, 3);
assert.equal(carom.meshDistance(cube, cube, { poseB: [5, 0, 0, 0, 0, 0, 1], maxDistance: 1 }), null);

// Impacts: a triangle that falls through another one.
const sweep = carom.createSweep(), flat = [0, 1, 2];
sweep.addMesh([-1, -1, 0, 1, -1, 0, 0, 1, 0], flat);
const falling = sweep.addMesh([-0.1, -0.3, 1, 0.1, -0.3, 1, 0, 0, 0.5], flat);
sweep.moveMesh(falling, [-0.1, -0.3, 0, 0.1, -0.3, 0, 0, 0, -0.5].map((c, i) => i % 3 === 2 ? c - 0.01 : c));
const impacts = sweep.find().filter((impact) => impact.status === 'impact');
assert.ok(impacts.length > 0);
assert.ok(impacts.every((impact) => impact.time > 0 && impact.time <= 1));
refuses(() => sweep.moveMesh(falling, [0, 0, 0]), /9 coordinates, not 3/);

// Features near each other.
const near = carom.createProximity();
near.addMesh([-1, -1, 0, 1, -1, 0, 0, 1, 0], flat);
near.addMesh([0, 0, 0.25, 0.1, 0, 5, 0, 0.1, 5], flat);
const found = near.find(0.5).filter((each) => each.type === 'vertex-face');
assert.equal(found.length, 1);
close(found[0].distance, 0.25);

// Spheres, beside all pairs.
const n = 2000, centres = new Float64Array(3 * n), radii = new Float64Array(n);
const random = randomNumbers();
for (let i = 0; i < 3 * n; i++)
	centres[i] = random();
for (let i = 0; i < n; i++)
	radii[i] = 0.01 + 0.03 * random();
const spheres = carom.createSpheres(), pairs = spheres.findPairs(centres, radii), slow = [];
for (let a = 0; a < n; a++) {
	for (let b = a + 1; b < n; b++) {
		const d = [0, 1, 2].reduce((sum, k) => sum + (centres[3 * a + k] - centres[3 * b + k]) ** 2, 0);
		if (d <= (radii[a] + radii[b]) ** 2)
			slow.push(a, b);
	}
}
assert.deepEqual([...pairs], slow);
refuses(() => spheres.findPairs([1, 2], [1]), /1 radii, and 2 coordinates/);

for (const object of [world, cube, sweep, near, spheres])
	object.destroy();
world.destroy(); // a second time does nothing
refuses(() => world.step(), /was destroyed/);
assert.equal(carom.memoryInUse, start, 'memory is left over');

// Contacts of pages, found natively by the command.
for (const path of pages) {
	const read = readPage(path);
	const { frames, track } = await readTrack(read, 'poses');
	const worker = read.text.match(/<script id="carom-worker" type="text\/plain">\n(.*?)<\/script>/s)[1], detector = read.text.match(/(\/\*\* What the worker needs.*?)\nclass Detector/s)[1];
	const scripts = await import('data:text/javascript,' + encodeURIComponent(`${worker}
		const ABSENT = -2147483648; ${detector}
		export async function prepare(module, data) { carom = await loadCarom(module); meshes = data.meshes(carom); bodies = data.bodies; settings = data.settings; }
		export { find, exactPoses };`));
	const rows = await read.readNumbers(read.page, 'bodies', Float64Array), list = [], shapes = [];
	const types = ['sphere', 'box', 'capsule', 'plane', 'mesh', 'hull', 'cylinder', 'cone', 'ellipsoid'];
	for (let at = 0; at < rows.length; at += 18) {
		const r = rows.subarray(at, at + 18), type = types[r[1]];
		(list[r[17]] = list[r[17]] || { kind: ['static', 'kinematic', 'dynamic'][r[0]], isCompound: r[9] > 0, shapes: [] }).shapes.push({ type, mesh: type === 'mesh' || type === 'hull' ? r[2] : null,
			radius: r[3], halfLength: r[4], halfExtents: [r[5], r[6], r[7]], rounding: r[8], pose: [...r.slice(10, 17)] });
		if (type === 'mesh' || type === 'hull')
			shapes[r[2]] = type === 'hull' ? r[2] - read.head.meshes.length : r[2];
	}
	const blocks = await Promise.all(shapes.map((number) => number === undefined ? null : read.readBlock(read.page, `mesh-${number}`)));
	await scripts.prepare(await read.readBlock(read.page, 'carom-wasm'), { bodies: list, settings: read.head.detection, meshes: (c) => blocks.map((bytes, i) => {
		if (!bytes)
			return null;
		const [v, t] = new Uint32Array(bytes.buffer, 0, 2), vertices = new Float32Array(bytes.buffer.slice(8, 8 + 12 * v));
		return shapes[i] === i ? c.createMesh(vertices, new Int32Array(bytes.buffer.slice(8 + 12 * v, 8 + 12 * v + 12 * t))) : c.createHull(vertices);
	}) });
	const checks = await read.readNumbers(read.page, 'checks', Uint32Array);
	let contacts = 0;
	const times = [];
	for (let i = 0; i < checks.length; i += 3) {
		const begin = process.cpuUsage(), answer = scripts.find(scripts.exactPoses(frames[checks[i]], track.info));
		times.push(process.cpuUsage(begin).user / 1000);
		const wanted = checks[i + 2].toString(16).padStart(8, '0') + checks[i + 1].toString(16).padStart(8, '0');
		assert.equal(answer.hash, wanted, `frame ${checks[i]} has other contacts here`);
		contacts += answer.contacts.length;
	}
	assert.ok(contacts > 0, 'the frames have contacts');
	console.log(`${path}: ${checks.length / 3} frames, ${contacts} contacts, equal; processor time of a frame ${Math.min(...times).toFixed(1)} to ${Math.max(...times).toFixed(1)} ms`);
}
// The programs of the package's page run as they stand there.
for (const [, program] of readFileSync(`${folder}/README.md`, 'utf8').matchAll(/```js\n(.*?)```/gs))
	await import('data:text/javascript,' + encodeURIComponent(program.replace('"carom-collision"', `"${pathToFileURL(`${folder}/carom.js`)}"`)));

const bytes = readFileSync(`${folder}/carom.wasm`);
console.log(`carom ${carom.version}: all is well; ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} gzipped`);
