// node shapes.mjs PACKAGE OUTPUT: meshes and shapes without a world, elementary tests, and what detectors have beside their search. Writes questions
// about pairs of shapes into the folder OUTPUT, with the hash of the answers, for native_queries.py, and a mesh, for carom bake.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { close, corners, load, lumpyRing, randomNumbers, sides } from './support.mjs';

const [folder, output] = process.argv.slice(2);
const { carom, refuses } = await load(folder);
const start = carom.memoryInUse, made = [], make = carom.make.bind(carom);
carom.make = (...given) => { // every object is destroyed in the end
	made.push(make(...given));
	return made[made.length - 1];
};
const random = randomNumbers(11), at = (x, y, z) => [x, y, z, 0, 0, 0, 1];
const numbers = (count, low, high) => Float64Array.from({ length: count }, () => low + (high - low) * random());
const vector = (array, i) => [...array.slice(3 * i, 3 * i + 3)];
function turned(x, y, z) {
	const turn = [random() - 0.5, random() - 0.5, random() - 0.5, random() - 0.5], length = Math.sqrt(turn.reduce((sum, c) => sum + c * c, 0));
	return [x, y, z, ...turn.map((c) => c / length)];
}
/** Row i of an answer of a batch beside that of a single question. */
function sameRow(answers, i, single, words = {}) {
	for (const [name, value] of Object.entries(single)) {
		if (value && typeof value === 'object' && !Array.isArray(value)) {
			sameRow(answers[name], i, value, words);
		} else {
			const each = Array.isArray(value) ? value.length : 1, part = [...answers[name].slice(each * i, each * i + each)];
			assert.deepEqual(Array.isArray(value) ? part : part[0], words[name] ? words[name].indexOf(value) : typeof value === 'boolean' ? Number(value) : value, `${name} of row ${i}`);
		}
	}
}
const { WORDS } = await import(`${new URL(`file://${folder.startsWith('/') ? '' : `${process.cwd()}/`}${folder}/carom.js`)}`);

// What a mesh is.
const marked = carom.createMesh(corners, sides, { materials: sides.filter((corner, i) => i % 3 === 0), build: 'ploc', gridResolution: 0 }), cube = carom.createMesh(corners, sides), ring = carom.createMesh(...lumpyRing(24, 12));
assert.deepEqual([[...cube.vertices], [...cube.triangles], cube.doubles, cube.sides], [corners, sides, null, 'auto']);
assert.deepEqual([...ring.doubles], lumpyRing(24, 12)[0]);
close(ring.vertices[0], ring.doubles[0], 1e-6);
assert.deepEqual([0, 5, 11].map((i) => marked.materialOf(i)), [sides[0], sides[15], sides[33]]);
close(cube.mass.mass, 8);
assert.deepEqual(cube.mass.inertia.map((c) => Math.round(1e6 * c) / 1e6 + 0), [16 / 3, 16 / 3, 16 / 3, 0, 0, 0].map((c) => Math.round(1e6 * c) / 1e6));
// Masses of shapes and parts; of a mesh that of the mesh.
const rounded = (list, by = 1e9) => list.map((c) => Math.round(by * c) / by + 0);
const block = carom.shapeMass({ type: 'box', halfExtents: [1, 2, 3] }), round = carom.shapeMass({ type: 'sphere', radius: 2 });
assert.deepEqual([block.mass, rounded(block.inertia)], [48, [208, 160, 80, 0, 0, 0]]);
close(round.mass, 32 * Math.PI / 3, 1e-9);
close(round.inertia[0], 1.6 * round.mass, 1e-9);
assert.deepEqual(carom.shapeMass({ type: 'mesh', mesh: cube }), cube.mass);
const two = carom.partsMass([{ type: 'box', halfExtents: [1, 2, 3], pose: at(2, 0, 0) }, { type: 'box', halfExtents: [1, 2, 3], pose: at(-4, 0, 0) }]);
assert.deepEqual([two.mass, rounded(two.centre), rounded(two.inertia)], [96, [-1, 0, 0], [416, 320 + 96 * 9, 160 + 96 * 9, 0, 0, 0]]);
refuses(() => carom.shapeMass({ type: 'plane' }), /carom_shape_get_mass: .*CAROM_PLANE/);
refuses(() => carom.shapeMass({ type: 'sphere', radius: -1 }), /radius/);
refuses(() => carom.shapeMass(), /shapeMass: shape is undefined; it must be a shape/);
const uneven = carom.partsMass([{ type: 'box', halfExtents: [1, 1, 1], pose: at(1, 0, 0) }, { type: 'box', halfExtents: [1, 1, 1], pose: at(-1, 0, 0) }], [3, 1]);
close(uneven.mass, 32, 1e-12);
close(uneven.centre[0], 0.5, 1e-12);
refuses(() => carom.partsMass([{ type: 'sphere', radius: 1 }], [1, 2]), /densities has 2/);
refuses(() => carom.partsMass([{ type: 'sphere', radius: 1 }], [0]), /densities\[0\]/);
refuses(() => carom.partsMass([]), /part_count/);
refuses(() => carom.partsMass([{ type: 'sphere', radius: 1 }, { type: 'plane' }]), /parts\[1\]/);
refuses(() => carom.partsMass({ type: 'sphere' }), /partsMass: parts is .*; it must be an array of shapes/);
assert.throws(() => carom.shapeMass({ type: 'mesh', mesh: carom.createMesh(corners, sides.slice(3)) }), /shape.mesh is open/);

// using: what a block ends with.
const dispose = Symbol.dispose || Symbol.for('Symbol.dispose'), spare = carom.createWorld(), state = spare.snapshot();
for (const each of [state, spare, carom.createSweep(), carom.createProximity(), carom.createSpheres(), carom.createMesh(corners, sides)]) {
	each[dispose]();
	each[dispose](); // a second time does nothing
	assert.equal(each.pointer, 0);
}
refuses(() => spare.step(), /this World was destroyed/);

const info = ring.treeInfo(), better = ring.treeInfo({ epo: true });
assert.ok(info.bytes > 10000 && info.depth > 1 && info.gridCells > 0 && marked.treeInfo().gridCells === 0 && info.epo === 0 && better.epo > 0);
const wide = cube.scaled([2, 1, -1]), twice = cube.scaled(2);
assert.deepEqual([wide.report.volume, twice.report.volume, wide.report.upper], [16, 64, [2, 1, 1]]);
const field = carom.createHeightField(new Float32Array(20), 5, { thickness: 2 }), dug = field.edited([-1, -1, -1, -1], 2, { firstColumn: 1, firstRow: 1 });
assert.deepEqual([1, 1.5, 3.5].map((x) => dug.castRays([x, 1.25, 5], [0, 0, -1]).t[0]), [6, 6, 5]);
assert.equal(field.castRays([1, 1.25, 5], [0, 0, -1]).t[0], 5);
// A field that a world has, in place: rays and contacts are those of the mesh that is made anew.
const digs = [0, 1].map(() => {
	const scene = carom.createWorld(), ground = scene.addBody({ kind: 'static', shape: { type: 'mesh', mesh: field } });
	const ball = scene.addBody({ shape: { type: 'sphere', radius: 0.5 }, pose: at(1.4, 1.5, -0.6) });
	scene.step();
	return { scene, ground, ball };
});
digs[0].scene.editField(digs[0].ground, [-1, -1, -1, -1], 2, { firstColumn: 1, firstRow: 1 });
digs[1].scene.setShape(digs[1].ground, { type: 'mesh', mesh: dug });
for (const { scene, ball } of digs) {
	scene.step();
	assert.equal(scene.castRay([1.5, 1.25, 5], [0, 0, -1], { filter: { ignore: ball } }).t, 6);
}
assert.deepEqual(digs[0].scene.contacts.map(({ point, normal, depth }) => [point, normal, depth]), digs[1].scene.contacts.map(({ point, normal, depth }) => [point, normal, depth]));
assert.ok(digs[0].scene.contacts.length > 0);
assert.equal(field.castRays([1, 1.25, 5], [0, 0, -1]).t[0], 5); // the mesh stays
const dig = (...given) => digs[0].scene.editField(digs[0].ground, ...given);
refuses(() => dig([1, 2, 3], 2), /editField: heights has 3 numbers, which is no multiple of 2/);
refuses(() => dig([1, 2], 2, { firstColumn: 4 }), /carom_world_edit_field: .*column/);
refuses(() => dig([1, 2], 2, { column: 1 }), /editField: there is no setting column/);

// Materials of a field, in place too, and of a hull.
const meadow = field.painted(5);
digs[0].scene.setShape(digs[0].ground, { type: 'mesh', mesh: meadow });
digs[0].scene.paintField(digs[0].ground, [7, 8], 1, { firstColumn: 1, firstRow: 1 });
const under = (x, y) => digs[0].scene.castRay([x, y, 5], [0, 0, -1], { filter: { ignore: digs[0].ball } }).material;
assert.deepEqual([under(1.7, 1.2), under(1.2, 1.7), under(2.7, 1.2), meadow.materialOf(0), meadow.painted(null).materialOf(0)], [7, 8, 5, 5, 0]);
refuses(() => meadow.painted([1, 2]), /count is 2; it must be 1, or 24, two for each cell/);
refuses(() => digs[0].scene.paintField(digs[0].ground, [7], 1), /paintField: materials has 1 numbers, which is no multiple of 2/);

const report = carom.checkMesh(corners, [...sides, 0, 0, 1]);
assert.deepEqual([report.degenerateTriangles, report.closed, report.firstElement], [1, true, 12]);
assert.deepEqual([carom.checkMesh(corners, [0, 1, 99]).usable, carom.checkMesh(corners, [0, 1, 99]).outOfRangeTriangles], [false, 1]);

// Baked: the bytes of one module are a mesh in another, and anything else is refused.
const baked = ring.save(), again = carom.loadMesh(baked), elsewhere = await load(folder), far = elsewhere.carom.loadMesh(baked);
assert.equal(baked.length % 64, 0);
assert.deepEqual([again.save(), far.save()], [baked, baked]);
assert.deepEqual(far.report, ring.report);
far.destroy();
for (const wrong of [new Uint8Array(0), baked.slice(0, -64), baked.map((byte, i) => i === 5000 ? byte ^ 1 : byte)])
	refuses(() => carom.loadMesh(wrong), /carom_mesh_load/, 'invalid mesh');
refuses(() => carom.loadMesh('bytes'), /loadMesh: data is "bytes"; it must be bytes/);

// That of the command: tests/cli/common.bash writes the cube.
const bakedCube = carom.createMesh(new Float32Array([-1, -1, -1, 1, -1, -1, 1, 1, -1, -1, 1, -1, -1, -1, 1, 1, -1, 1, 1, 1, 1, -1, 1, 1]),
	[[1, 4, 3, 2], [5, 6, 7, 8], [1, 2, 6, 5], [2, 3, 7, 6], [3, 4, 8, 7], [4, 1, 5, 8]].flatMap(([a, b, c, d]) => [a, b, c, a, c, d].map((i) => i - 1))).save();

// Queries of meshes beside worlds of one body, and all pairs.
const points = numbers(3 * 60, -2, 2), ways = numbers(3 * 60, -1, 1), rays = ring.castRays(points, ways, { tMax: 3 }), alone = carom.createWorld();
alone.addBody({ kind: 'static', shape: { type: 'mesh', mesh: again } });
let hits = 0, inside = 0;
for (let i = 0; i < 60; i++) {
	const hit = alone.castRay(vector(points, i), vector(ways, i), { tMax: 3 }), nearest = alone.closestPoint(vector(points, i)), found = ring.closestPoint(vector(points, i));
	assert.equal(rays.triangle[i] >= 0, hit !== null);
	if (hit) {
		close(rays.t[i], hit.t, 1e-5);
		assert.equal(rays.backFace[i] === 1, hit.backFace);
		hits++;
	}
	assert.deepEqual([found.point, found.distance, found.triangle], [nearest.point, nearest.distance, nearest.triangle]);
	assert.ok(WORDS.FEATURE.includes(found.feature));
	assert.equal(ring.contains(vector(points, i)), nearest.distance < 0);
	inside += nearest.distance < 0 ? 1 : 0;
}
assert.ok(hits > 5 && hits < 55 && inside > 2, `${hits} hits, ${inside} inside`);
assert.equal(ring.closestPoint([9, 0, 0], 1), null);
const through = carom.meshIntersections(cube, ring, { poseB: at(0.5, 0, 0) }), listed = new Set();
for (let i = 0; i < through.length; i += 2)
	listed.add(`${through[i]} ${through[i + 1]}`);
const shifted = (mesh, x) => Array.from(mesh.triangles, (v) => [0, 1, 2].map((c) => (mesh.doubles || mesh.vertices)[3 * v + c] + (c === 0 ? x : 0))).flat();
const a = shifted(cube, 0), b = shifted(ring, 0.5), records = [];
for (let i = 0; i < 12; i++) {
	for (let j = 0; j < 576; j++)
		records.push(...a.slice(9 * i, 9 * i + 9), ...b.slice(9 * j, 9 * j + 9));
}
const meet = carom.trianglePairsIntersect(records);
meet.forEach((yes, k) => assert.equal(yes === 1, listed.has(`${Math.floor(k / 576)} ${k % 576}`)));
assert.ok(listed.size > 64, 'more than the first guess');
assert.equal(ring.selfIntersections().length, 0);
const crossed = carom.createMesh([...corners, ...corners.map((c) => 0.5 + c)], [...sides, ...sides.map((c) => 8 + c)]), own = crossed.selfIntersections();
assert.deepEqual(own, carom.meshIntersections(cube, cube, { poseB: at(0.5, 0.5, 0.5) }).map((t, i) => i % 2 ? t + 12 : t));
assert.ok(own.length > 10);

// Shapes: one by one and in batches.
const shapes = [{ type: 'sphere', radius: 0.7 }, { type: 'mesh', mesh: ring }, { type: 'box', halfExtents: [0.5, 0.4, 0.3], rounding: 0.1 }, { type: 'mesh', mesh: cube }, { type: 'cone', radius: 0.5, halfLength: 0.6 }];
const convex = shapes.filter(({ type }) => type !== 'mesh'), n = 40, pick = (list) => Array.from({ length: n }, () => list[Math.floor(random() * list.length)]);
const poses = () => Float64Array.from(Array.from({ length: n }, () => turned(1.5 * random(), 1.5 * random(), 1.5 * random())).flat());
const shapesA = pick(shapes), shapesB = pick(shapes), posesA = poses(), posesB = poses(), poseOf = (list, i, each = 7) => [...list.slice(each * i, each * i + each)];
const distances = carom.distances(shapesA, posesA, shapesB, posesB), overlaps = carom.overlaps(shapesA, posesA, shapesB, posesB), touching = carom.collidePairs(shapesA, posesA, shapesB, posesB), counts = { overlaps: 0, contacts: 0, points: 0, meetings: 0 };
const roundA = pick(convex), roundB = pick(convex), manifolds = carom.manifolds(roundA, posesA, roundB, posesB, { margin: 0.05 });
const motionsA = Float64Array.from({ length: 14 * n }, (none, k) => posesA[7 * Math.floor(k / 14) + k % 7] + (k % 14 === 0 ? 4 : 0)), motionsB = Float64Array.from({ length: 14 * n }, (none, k) => posesB[7 * Math.floor(k / 14) + k % 7]);
const meetings = carom.timesOfImpact(shapesA, motionsA, shapesB, motionsB, { tolerance: 0.01 });
const digest = [];
for (let i = 0; i < n; i++) {
	const options = { poseA: poseOf(posesA, i), poseB: poseOf(posesB, i) }, distance = carom.distance(shapesA[i], shapesB[i], options);
	sameRow(distances, i, distance);
	assert.equal(carom.overlap(shapesA[i], shapesB[i], options), overlaps.found[i] === 1);
	const manifold = carom.manifold(roundA[i], roundB[i], { ...options, margin: 0.05 });
	sameRow(manifolds, i, { normal: manifold.normal, count: manifold.points.length });
	manifold.points.forEach(({ point, depth }, k) => assert.deepEqual([[...manifolds.points.point.slice(24 * i + 3 * k, 24 * i + 3 * k + 3)], manifolds.points.depth[8 * i + k]], [point, depth]));
	const meeting = carom.timeOfImpact(shapesA[i], shapesB[i], { motionA: poseOf(motionsA, i, 14), motionB: poseOf(motionsB, i, 14), tolerance: 0.01 });
	sameRow(meetings, i, meeting, { status: WORDS.TOI });
	const within = carom.timeOfImpactWithin(shapesA[i], shapesB[i], 1e6, { motionA: poseOf(motionsA, i, 14), motionB: poseOf(motionsB, i, 14), tolerance: 0.01 });
	assert.deepEqual(within.impact, meeting);
	assert(within.work >= 0 && within.work <= 1e6);
	const world = carom.createWorld(), [first] = world.addBody({ shape: shapesA[i], pose: options.poseA });
	world.addBody({ kind: 'static', shape: shapesB[i], pose: options.poseB });
	world.step();
	const contacts = carom.collide(shapesA[i], shapesB[i], options), bare = ({ point, depth, kind, featureA, featureB }) => ({ point, depth, kind, featureA, featureB });
	assert.equal(first, 1);
	assert.deepEqual(contacts.map(bare), world.contacts.map(bare));
	assert.equal(touching.first[i + 1] - touching.first[i], contacts.length);
	// Columns tell no handles of bodies.
	contacts.forEach(({ a: handleA, b: handleB, ...contact }, k) => sameRow(touching, touching.first[i] + k, contact, { kind: WORDS.CONTACT }));
	world.destroy();
	counts.overlaps += overlaps.found[i];
	counts.contacts += contacts.length;
	counts.points += manifold.points.length;
	counts.meetings += meeting.status === 'impact' ? 1 : 0;
	digest.push(distance.distance, ...distance.normal, ...distance.pointA, meeting.time, contacts.length, ...contacts.flatMap(({ point, depth }) => [...point, depth]), manifold.points.length);
}
assert.ok(counts.overlaps > 3 && counts.contacts > 10 && counts.points > 5 && counts.meetings > 1, JSON.stringify(counts));
close(carom.distance(shapes[0], shapes[0], { poseB: at(3, 0, 0) }).distance, 1.6);
assert.deepEqual(carom.motionPose([...at(0, 0, 0), ...at(2, 0, 0)], 0.25), at(0.5, 0, 0));
const cast = carom.shapeCastRays(shapes[1], points, ways, { pose: at(0.2, 0, 0) }), touch = carom.shapeClosestPoints(shapes[1], points, { pose: at(0.2, 0, 0), maxDistance: 1 });
for (let i = 0; i < 60; i++) {
	const hit = carom.shapeCastRay(shapes[1], vector(points, i), vector(ways, i), { pose: at(0.2, 0, 0) }), nearest = carom.shapeClosestPoint(shapes[1], vector(points, i), { pose: at(0.2, 0, 0), maxDistance: 1 });
	assert.equal(cast.t[i], hit ? hit.t : Infinity);
	if (hit)
		sameRow(cast, i, hit);
	assert.equal(touch.distance[i], nearest ? nearest.distance : Infinity);
	if (nearest)
		sameRow(touch, i, nearest);
}

// Elementary tests.
const four = [0, 0, 1, -1, -1, 0, 1, -1, 0, 0, 1, 0], near = carom.pointTriangleDistances([...four, ...four], { vertices: [0, 1, 2, 3, 4, 5, 6, 7] });
assert.deepEqual([[...near.distance], vector(near.point, 1), near.feature[0]], [[1, 1], [0, 0, 0], 0]);
const edges = carom.edgeEdgeDistances([0, 0, 1, 2, 0, 1, 1, -1, 0, 1, 1, 0]);
assert.deepEqual([edges.distance[0], edges.onA.t[0], [...edges.onB.point]], [1, 0.5, [1, 0, 0]]);
assert.equal(carom.triangleTriangleDistances([...four.slice(3), ...four.slice(3).map((c, i) => i % 3 === 2 ? c + 2 : c)]).distance[0], 2);
assert.deepEqual([...carom.orientations([...four.slice(3), 0, 0, -1, ...four.slice(3), 0, 0, 0, ...four.slice(3), 0, 0, 1])].map(Math.abs), [1, 0, 1]);
const swept = carom.sweepTestPairs('vertex-face', [...four, ...four], [...four.map((c, i) => i === 2 ? -1 : c), ...four], { tolerance: 1e-6 });
close(swept.time[0], 0.5, 1e-3);
assert.deepEqual([swept.time[1], swept.triangle[0], [...swept.vertices.slice(0, 4)]], [Infinity, 0, [0, 1, 2, 3]]);
const pair = carom.proximityOfPair('vertex-face', four);
assert.deepEqual([pair.type, pair.distance, pair.pointB], ['vertex-face', 1, [0, 0, 0]]);

// Detectors.
const flat = [0, 1, 2], floor = four.slice(3), sweep = carom.createSweep(), scene = carom.createProximity({ maxPairs: 3 });
sweep.addMesh(floor, flat, { category: 2n });
const falling = sweep.addMesh([0, 0, 1, 0.1, 0, 3, 0, 0.1, 3], flat, { self: false, isRigid: true }), down = [0, 0, -1, 0.1, 0, 1, 0, 0.1, 1];
sweep.moveMesh(falling, down);
close(sweep.findEarliest().time, 0.5, 1e-3);
assert.ok(sweep.find().length > 0 && sweep.stats.triangles === 2 && sweep.stats.hitsVf > 0);
sweep.placeMesh(falling, [0, 0, 1, 0.1, 0, 3, 0, 0.1, 3]);
sweep.setFilter(falling, { mask: 1n });
sweep.moveMesh(falling, down);
assert.deepEqual([sweep.findEarliest(), sweep.find()], [null, []]);
const sheetNumber = scene.addMesh(floor, flat), ball = scene.addShape({ type: 'sphere', radius: 0.5 }, { pose: at(0, 0, 0.75) });
let search = scene.search(0.5);
assert.deepEqual([search.pairs.length, search.shapePairs.length, search.shapePairs[0].shape, search.shapePairs[0].normal], [0, 1, ball, [0, 0, -1]]);
close(search.shapePairs[0].gap, 0.25);
assert.ok([...scene.safeDisplacements(sheetNumber)].every((d) => d > 0.2 && d <= 0.25));
scene.placeShape(ball, at(0, 0, 9));
search = scene.search(0.5);
assert.deepEqual([search.shapePairs, scene.stats.triangles], [[], 1]);
for (let i = 0; i < 3; i++)
	scene.addMesh([0, 0, 0.1 + 0.01 * i, 0.1, 0, 5, 0, 0.1, 5], flat);
refuses(() => scene.find(0.5), /pairs/, 'over budget');
scene.setFilter(sheetNumber, { mask: 0n });
refuses(() => scene.safeDisplacements(9), /mesh 9 has not been added/);
const centres = numbers(900, 0, 6), radii = numbers(300, 0.2, 0.4), kept = carom.createSpheres({ method: 'grid', skin: 0.1, memoryBudget: 2 ** 24 }), tree = carom.createSpheres({ method: 'tree', periodic: [true, false, false], period: [6, 0, 0] });
const pairs = kept.findPairs(centres, radii), visited = [], { first, other } = kept.neighbours(centres, radii), order = kept.order(centres, radii);
kept.visitPairs(centres, radii, (some) => { visited.push(...some); });
const sorted = (list) => Array.from({ length: list.length / 2 }, (none, i) => list[2 * i] * 1000 + list[2 * i + 1]).sort((x, y) => x - y);
assert.deepEqual(sorted(visited), sorted(pairs));
assert.ok(first.length === 301 && other.length === first[300] && other.length > pairs.length, 'those within the skin, too');
assert.deepEqual([...order].sort((x, y) => x - y), Array.from({ length: 300 }, (none, i) => i));
assert.ok(kept.stats.method === 'grid' && kept.stats.skin === 0.1 && kept.stats.updates === 4 && tree.findPairs(centres, radii).length > pairs.length);
let calls = 0;
tree.visitPairs(centres, radii, () => { calls++; return false; });
assert.ok(calls >= 1);
assert.throws(() => tree.visitPairs(centres, radii, () => { throw new RangeError('seen'); }), RangeError);
assert.deepEqual([carom.createSpheres().neighbours([], []).first.length, carom.createSpheres().order([], []).length], [1, 0]);

// Bodies as they are, and what is earliest.
const world = carom.createWorld(), id = world.addBody({ shape: { type: 'mesh', mesh: cube }, pose: at(1, 2, 3), userData: 7, continuous: true }), compound = world.addBody({ parts: [{ type: 'sphere', radius: 1, pose: at(0, 0, 1) }, { type: 'hull', mesh: carom.createHull(corners) }] });
const grains = world.addBody({ kind: 'granular', centres: [0, 0, 20, 1, 0, 20], radii: [0.1, 0.2] });
world.setUserData(id, 9n);
const box = world.getBox(id);
assert.equal(world.getUserData(id), 9n);
[0, 1, 2].forEach((c) => [close(box.lower[c], c, 1e-5), close(box.upper[c], c + 2, 1e-5)]); // a little larger

const copy = world.getBody(id), parts = world.getBody(compound), heap = world.getBody(grains);
assert.deepEqual([copy.kind, copy.userData, copy.shape.type, copy.pose, [...copy.shape.mesh.vertices]], ['dynamic', 9n, 'mesh', at(1, 2, 3), corners]);
assert.deepEqual(parts.parts.map(({ type, pose }) => [type, pose]), [['sphere', at(0, 0, 1)], ['hull', at(0, 0, 0)]]);
assert.deepEqual([[...heap.centres], [...heap.radii]], [[0, 0, 20, 1, 0, 20], [0.1, 0.2]]);
for (const body of [copy, parts, heap])
	world.removeBody(world.addBody(body));
assert.equal(world.earliestBodyImpact(), null);
world.setMotions([id], [...at(9, 0, 0), ...at(0, 0, 0)]);
world.step();
assert.deepEqual([world.earliestBodyImpact().time, world.earliestBodyImpact(id).a, world.earliestImpact, world.earliestShapeImpact, world.sweepStats.triangles], [world.bodyImpacts[0].time, id[0], null, null, 0]);
assert.ok(carom.memoryPeak > carom.memoryInUse);
copy.shape.mesh.destroy();
parts.parts[1].mesh.destroy();

// Numbers in texts of the library, which carom.js writes.
const sphere = (radius) => () => carom.distance({ type: 'sphere', radius }, shapes[0]);
for (const [radius, text] of [[-1, '-1'], [-1.5e-7, '-1.5e-07'], [-1234567.9, '-1.23457e+06'], [-0.0001, '-0.0001'], [NaN, 'nan'], [-Infinity, '-inf'], [2.5e300, '2.5e+300'], [-1 / 3, '-0.333333'], [-100000, '-100000']])
	refuses(sphere(radius), new RegExp(`radius is ${text.replace(/[.+]/g, '\\$&')};`));
refuses(() => carom.createWorld({ internalEdgeAngle: 9 }), /9; it must be 0 to 3\.14159265/);

// What is wrong is named.
refuses(() => cube.materialOf(12), /triangle/);
refuses(() => cube.materialOf(1.5), /materialOf: triangle is 1.5/);
{ // Far from the origin floats are a 128th apart; a centre keeps the digits, and a part of a body at it is where the coordinates are.
	const site = [92160, -51200, 0], far = corners.map((c, i) => site[i % 3] + 1.001 * c), blurred = carom.createMesh(far, sides), sharp = carom.createMesh(far, sides, { centre: 'auto' });
	assert.ok(blurred.report.rounding > 5e-4 && sharp.report.rounding < 1e-7);
	assert.deepEqual([[...blurred.centre], [...sharp.centre]], [[0, 0, 0], site]);
	assert.deepEqual([...carom.loadMesh(sharp.save()).centre], site);
	assert.deepEqual([...carom.createMesh(far, sides, { centre: [1, 2, 3] }).centre], [1, 2, 3]);
	assert.ok(carom.checkMesh(far, sides, { centre: 'auto' }).rounding < 1e-7);
	const w = carom.createWorld();
	w.addBody({ kind: 'static', parts: [{ type: 'mesh', mesh: sharp, pose: at(...site) }] });
	close(w.castRay([site[0] + 0.3, site[1] + 0.2, 3], [0, 0, -1]).t, 3 - 1.001, 1e-7);
	refuses(() => carom.createMesh(far, sides, { centre: [0, NaN, 0] }), /centre: y is/);
	refuses(() => carom.createMesh(far, sides, { centre: 'middle' }), /centre/);
}
refuses(() => carom.createMesh(corners, sides, { materials: [1] }), /createMesh: materials has 1 numbers; there are 12 triangles/);
refuses(() => carom.createMesh(corners, sides, { colour: 1 }), /createMesh: there is no setting colour/);
refuses(() => carom.createMesh(corners, sides, { build: 'fast' }), /createMesh: build is "fast": it is one of "sah"/);
refuses(() => carom.createMesh(corners, sides, { gridResolution: 9999 }), /grid_resolution/);
refuses(() => carom.createMesh(corners.slice(0, 9), [0, 1, 2]).mass, /the mesh is open/, 'invalid mesh');
refuses(() => cube.scaled([1, 2]), /scaled: scale has 2 numbers; it must have 3/);
refuses(() => cube.scaled(0), /scale/);
refuses(() => cube.edited([1], 1), /height field/);
refuses(() => field.edited([1, 2, 3], 2), /edited: heights has 3 numbers, which is no multiple of 2/);
refuses(() => field.edited([1, 2], 2, { firstColumn: 4 }), /region/);
refuses(() => cube.castRays([1, 2, 3], [1, 2]), /castRays: directions has 2 numbers; of 1 rays there are 3/);
refuses(() => cube.castRays([1, 2, 3], [1, 2, 3], { tMax: [1, 2] }), /castRays: tMax has 2 numbers; of 1 rays there are 1/);
refuses(() => cube.closestPoint([1, NaN, 2]), /point/);
refuses(() => cube.closestPoint([1, 2]), /closestPoint: point has 2 numbers; it must have 3/);
refuses(() => cube.contains(7), /contains: point is 7; it must be an array/);
refuses(() => carom.meshIntersections(cube, 3), /meshIntersections: b is 3; it must be a Mesh/);
refuses(() => carom.meshDistance(null, cube), /meshDistance: a is null/);
refuses(() => carom.distance(shapes[0], shapes[1], { poseA: [1] }), /distance: poseA has 1 numbers; it must have 7/);
refuses(() => carom.distance(shapes[0], { type: 'ball' }), /distance: b.type is "ball"/);
refuses(() => carom.distance([shapes[0]], shapes[0]), /distance: a is .*; it must be a shape/);
refuses(() => carom.distances(shapes[0], at(0, 0, 0), shapes[0], []), /distances: posesA has 7 numbers, and posesB has 0/);
refuses(() => carom.distances([shapes[0]], [...at(0, 0, 0), ...at(0, 0, 0)], shapes[0], [...at(0, 0, 0), ...at(0, 0, 0)]), /distances: 1 shapes a, and numbers of 2/);
refuses(() => carom.distances(shapes[0], at(0, 0, 0), [{ ...shapes[0], radius: -1 }], at(0, 0, 0)), /pairs\[0\].*radius/);
assert.deepEqual([...carom.distances(shapes[0], [...at(0, 0, 0), ...at(NaN, 0, 0)], shapes[0], [...at(3, 0, 0), ...at(0, 0, 0)], { results: true }).results].map((result) => carom.resultName(result)), ['success', 'invalid argument']);
refuses(() => carom.manifold(shapes[1], shapes[0]), /mesh/i, 'unsupported');
refuses(() => carom.overlap({ type: 'plane' }, { type: 'plane' }), /plane/i, 'unsupported');
refuses(() => carom.collide(shapes[0], shapes[0], { margin: -1 }), /margin/);
refuses(() => carom.timeOfImpact(shapes[0], shapes[0], { tolerance: 0 }), /tolerance/);
assert.deepEqual([carom.timeOfImpactWithin(shapes[0], shapes[0], 0)].map(({ impact, work }) => [impact.status, impact.time, work]), [['undecided', 0, 0]]);
refuses(() => carom.timeOfImpactWithin(shapes[0], shapes[0], -1), /timeOfImpactWithin: work is -1/);
refuses(() => carom.timeOfImpact(shapes[0], shapes[0], { motionA: at(0, 0, 0) }), /timeOfImpact: motionA has 7 numbers; it must have 14/);
refuses(() => carom.motionPose(at(0, 0, 0), 0), /motionPose: motion has 7 numbers/);
refuses(() => carom.shapeCastRay(shapes[0], [0, 0, 9], [0, 0, 0]), /direction/);
refuses(() => carom.shapeCastRay(shapes[0], [0, 0], [0, 0, 1]), /shapeCastRay: origin has 2 numbers; it must have 3/);
refuses(() => carom.pointTriangleDistances([1, 2, 3]), /pointTriangleDistances: positions has 3 numbers, which is no multiple of 12/);
refuses(() => carom.orientations(four, { vertices: [0, 1, 2, 9] }), /vertices/);
refuses(() => carom.orientations(four, { corners: [] }), /orientations: there is no setting corners/);
refuses(() => carom.sweepTestPairs('corner', four, four), /sweepTestPairs: kind is "corner": it is one of "vertex-face", "edge-edge"/);
refuses(() => carom.sweepTestPairs('edge-edge', four, [1]), /begin has 12 numbers, and end has 1/);
refuses(() => carom.proximityOfPair('edge-edge', [1, 2, 3]), /proximityOfPair: vertices has 3 numbers; it must have 12/);
refuses(() => sweep.addMesh(floor, flat, { rigid: true }), /addMesh: there is no setting rigid/);
refuses(() => sweep.setFilter(0, { group: 0.5 }), /setFilter: group is 0.5/);
refuses(() => carom.createProximity({ maxPairs: 0.5 }), /createProximity: maxPairs is 0.5; it must be a whole number/);
refuses(() => scene.addShape({ type: 'mesh', mesh: cube }), /shape.type is CAROM_MESH/);
refuses(() => scene.placeShape(7, at(0, 0, 0)), /shape/);
refuses(() => scene.search('near'), /distance is "near"; it must be a number/);
refuses(() => carom.createSpheres({ method: 'fast' }), /createSpheres: method is "fast"/);
refuses(() => carom.createSpheres({ periodic: [true, false, false] }), /period/);
refuses(() => carom.createSpheres({ periodic: [true] }), /createSpheres: periodic has 1 numbers; it must have 3/);
refuses(() => kept.visitPairs(centres, radii), /visitPairs: visit is missing/);
refuses(() => kept.visitPairs(centres, radii, () => kept.findPairs(centres, radii)), /another call is using this Spheres/);
refuses(() => world.getBody([99, 1]), /./, 'invalid body');
refuses(() => world.setUserData(id, -1), /setUserData: data is -1/);
refuses(() => world.castRay([0, 0], [0, 0, 1]), /castRay: origin has 2 numbers; it must have 3/);
again.destroy();
refuses(() => again.vertices, /this Mesh was destroyed/);
made.forEach((object) => object.destroy());
assert.ok(carom.memoryInUse - start <= 2 ** 19, 'memory is left over'); // what collide keeps for its next call

// Numbers of the queries as their bits, in one hash (FNV-1a), beside that of the native library.
let hash = 0xcbf29ce484222325n;
for (const byte of new Uint8Array(Float64Array.from(digest).buffer))
	hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
const text = hash.toString(16).padStart(16, '0'), numberOf = (list, all) => list.map((shape) => all.indexOf(shape));
writeFileSync(`${output}/queries.json`, JSON.stringify({ hash: text, ring: lumpyRing(24, 12), cube: [corners, sides], shapes: shapes.map(({ mesh, ...shape }) => ({ ...shape, mesh: mesh === ring ? 'ring' : mesh ? 'cube' : null })),
	shapesA: numberOf(shapesA, shapes), shapesB: numberOf(shapesB, shapes), roundA: numberOf(roundA, shapes), roundB: numberOf(roundB, shapes), posesA: [...posesA], posesB: [...posesB], motionsA: [...motionsA], motionsB: [...motionsB] }));
writeFileSync(`${output}/cube_here.cmesh`, bakedCube);
console.log(`${n} pairs of shapes: ${JSON.stringify(counts)}, hash ${text}`);
