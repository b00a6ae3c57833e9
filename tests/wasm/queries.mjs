// node queries.mjs PACKAGE: queries with filters; those of a batch have the answers of single ones, number for number; misuse.
import assert from 'node:assert/strict';
import { close, corners, load, lumpyRing, randomNumbers, sides } from './support.mjs';

const { carom, refuses } = await load(process.argv[2]);
const start = carom.memoryInUse, random = randomNumbers(11), n = 120;
const cube = carom.createMesh(corners, sides), ring = carom.createMesh(...lumpyRing(20, 10));
const world = carom.createWorld();
const ground = world.addBody({ kind: 'static', shape: { type: 'plane' }, category: 2 });
const coin = world.addBody({ shape: { type: 'mesh', mesh: ring }, pose: [0, 0, 2, 0, 0, 0, 1] });
const crate = world.addBody({ shape: { type: 'mesh', mesh: cube }, pose: [3, 0, 1.5, 0, 0, 0, 1], category: 4 });
const eye = world.addBody({ shape: { type: 'sphere', radius: 1 }, pose: [0, 3, 2, 0, 0, 0, 1], sensor: true });
for (let i = 0; i < 40; i++)
	world.addBody({ shape: { type: 'sphere', radius: 0.3 }, pose: [4 * random(), 4 * random(), 4 + 3 * random(), 0, 0, 0, 1] });

// One by one: what filters leave out.
const down = [0, 0, -1], above = [3, 0, 3.9];
assert.deepEqual(world.castRay(above, down).body, crate);
assert.deepEqual(world.castRay(above, down, { filter: { ignore: crate } }).body, ground);
assert.deepEqual(world.castRay(above, down, { filter: { mask: 2 } }).body, ground);
assert.deepEqual(world.castRay(above, down, { filter: { mask: ~2n & (2n ** 64n - 1n) } }).body, crate);
assert.equal(world.castRay(above, down, { filter: { mask: 0 } }), null);
assert.equal(world.castRayAny(above, down), true);
assert.equal(world.castRayAny(above, down, { tMax: 1 }), false);
assert.equal(world.castRayAny(above, down, { filter: { mask: 0n } }), false);
const all = world.castRayAll(above, down, { filter: { mask: 4 } });
assert.deepEqual(all.map((hit) => hit.backFace), [false, false, true, true].slice(4 - all.length));
assert.ok(all.every((hit) => hit.body[0] === crate[0]));
assert.deepEqual(world.closestPoint([0, 3, 2.5]).body, eye);
assert.notDeepEqual(world.closestPoint([0, 3, 2.5], Infinity, { filter: { skipSensors: true } }).body, eye);
assert.deepEqual(world.overlapBox([-1, -1, -1], [9, 9, 3], { filter: { ignore: ground } }), [coin, crate, eye]);
const ball = { type: 'sphere', radius: 1 };
assert.deepEqual(world.overlapShape(ball, [3, 0, 0.5, 0, 0, 0, 1]), [ground, crate]);
assert.deepEqual(world.overlapShape(ball, [3, 0, 0.5, 0, 0, 0, 1], { filter: { ignore: ground } }), [crate]);
const met = world.collideShape(ball, [3, 0, 0.5, 0, 0, 0, 1], { filter: { mask: 2 } });
assert.deepEqual([met.length, met[0].bodyA, met[0].bodyB, met[0].kind], [1, [0, 0], ground, 'volumes']);
close(met[0].depth, 0.5);
const nearest = world.closestBody(ball, [9, 0, 1.5, 0, 0, 0, 1], { filter: { ignore: ground } });
assert.deepEqual(nearest.body, crate);
close(nearest.distance, 4);
assert.equal(world.closestBody(ball, [9, 0, 30, 0, 0, 0, 1], { maxDistance: 1 }), null);
// Of several that overlap the deepest, alone and in batches.
const heap = carom.createWorld(), [, lower] = [1.5, -0.8, 0.9].map((x) => heap.addBody({ kind: 'static', shape: ball, pose: [2 * x * ball.radius, 0, 0, 0, 0, 0, 1] }));
const origin = [0, 0, 0, 0, 0, 0, 1], deepest = heap.closestBody(ball, origin), few = heap.closestBodies(ball, [...origin, ...origin], { ignore: [0, 0, ...lower] });
assert.deepEqual([deepest.body, heap.overlapShape(ball, origin).length], [lower, 2]);
close(deepest.distance, -0.4 * ball.radius, 1e-9);
close(few.distance[1], -0.2 * ball.radius, 1e-9);
assert.deepEqual([[...few.body.slice(0, 2)], few.body[2] !== lower[0]], [lower, true]);
heap.destroy();
const two = world.closestPair({ filterA: { mask: 2 }, filterB: { mask: 4 } });
assert.deepEqual([two.bodyA, two.bodyB, two.a], [ground, crate, ground[0]]);
close(two.distance, 0.5);
const hit = world.castShape(ball, [9, 0, 2, 0, 0, 0, 1], [3, 0, 2, 0, 0, 0, 1], { tolerance: 1e-6 });
assert.deepEqual(hit.body, crate);
close(hit.time, 4 / 6, 1e-5);
assert.equal(world.castShape(ball, [9, 0, 2, 0, 0, 0, 1], [3, 0, 2, 0, 0, 0, 1], { filter: { ignore: crate } }), null);

// All that a shape meets, numbers of bodies, fronts alone.
world.setUserData(crate, 2n ** 60n);
const sweep = [[9, 0, 2, 0, 0, 0, 1], [-6, 0, 2, 0, 0, 0, 1]], sweepBits = { tolerance: 1e-6, filter: { mask: 4 | 1 } };
const metAll = world.castShapeAll(ball, ...sweep, sweepBits);
assert.ok(metAll.length >= 2);
assert.deepEqual(metAll[0], world.castShape(ball, ...sweep, sweepBits));
assert.deepEqual([metAll[0].body, metAll[0].userData, metAll[0].material], [crate, 2n ** 60n, 0]);
assert.ok(metAll.some((each) => each.body[0] === coin[0]));
const metRows = world.castShapesAll(ball, [...sweep[0], ...sweep[1], ...sweep[0], ...sweep[1]], sweepBits);
assert.deepEqual([...metRows.first], [0, metAll.length, 2 * metAll.length]);
assert.deepEqual([...metRows.time.slice(metAll.length)], metAll.map((each) => each.time));
const metParts = world.castPartsAll([{ ...ball, pose: [99, 99, 99, 0, 0, 0, 1] }, ball], ...sweep, sweepBits);
assert.deepEqual(metParts.map(({ body, time, ownPart }) => [body, time, ownPart]), metAll.map(({ body, time }) => [body, time, 1]));
assert.deepEqual(world.castParts([ball], ...sweep, sweepBits), metAll[0]);
assert.throws(() => world.castParts(ball, ...sweep), /castParts: parts is/);
assert.throws(() => world.castParts([], ...sweep), /part_count is 0/);
assert.deepEqual(world.castRay([0, 3, 2], [0, 1, 0], { filter: { mask: 1 } }).backFace, true);
assert.equal(world.castRay([0, 3, 2], [0, 1, 0], { tMax: 1.5, filter: { mask: 1, skipBackFaces: true, bodyFilter: (body) => body[0] === eye[0] } }), null);

// Functions of filters: what they are asked, what they hide, what they may do and what they throw.
const askedOf = [];
const hides = (hidden) => ({ bodyFilter: (body, part, userData) => { askedOf.push([body, part, userData]); return body[0] !== hidden[0]; } });
assert.deepEqual(world.castRay(above, down, { filter: hides(crate) }).body, ground);
assert.deepEqual(askedOf.find(([body]) => body[0] === crate[0]), [crate, 0, 2n ** 60n]);
assert.deepEqual(world.castRay(above, down, { filter: { bodyFilter: () => undefined } }).body, crate);
assert.equal(world.castRayAny(above, down, { filter: { bodyFilter: () => false } }), false);
assert.ok(world.castRayAll(above, down, { filter: hides(crate) }).every((each) => each.body[0] === ground[0]));
assert.deepEqual(world.overlapShape(ball, [3, 0, 0.5, 0, 0, 0, 1], { filter: hides(ground) }), [crate]);
assert.deepEqual([...world.castRays([...above, ...above], [...down, ...down], { filter: hides(crate) }).body], [...ground, ...ground]);
assert.deepEqual([...world.overlapShapes(ball, [3, 0, 0.5, 0, 0, 0, 1], { filter: hides(ground) }).body], crate);
const isOnly = (wanted) => ({ bodyFilter: (body) => body[0] === wanted[0] });
const pairOf = world.closestPair({ filterA: isOnly(coin), filterB: isOnly(crate) });
assert.deepEqual([pairOf.bodyA, pairOf.bodyB, pairOf.userDataB], [coin, crate, 2n ** 60n]);
assert.deepEqual(world.castRay(above, down, { filter: { bodyFilter: (body) => world.castRay(above, down, { filter: hides(crate) }).body[0] !== body[0] } }).body, crate);
assert.throws(() => world.castRay(above, down, { filter: { bodyFilter: () => { throw new RangeError('lost'); } } }), RangeError);
assert.throws(() => world.castRays(above, down, { filter: { bodyFilter: () => { throw new RangeError('lost'); } } }), RangeError);
for (const change of [() => world.step(), () => world.setPose(crate, [0, 0, 0, 0, 0, 0, 1]), () => world.destroy()])
	refuses(() => world.castRay(above, down, { filter: { bodyFilter: change } }), /called from inside the filter of a query/);
refuses(() => world.castRay(above, down, { filter: { bodyFilter: 3 } }), /castRay: filter.bodyFilter is 3; it must be a function/);
assert.deepEqual(world.castRay(above, down).body, crate);

/** Row i of an answer, as a single query has it. */
function row(answers, i, single) {
	return Object.fromEntries(Object.entries(single).map(([name, value]) => {
		const each = Array.isArray(value) ? value.length : 1, part = [...answers[name].slice(each * i, each * i + each)];
		return [name, Array.isArray(value) ? part : typeof value === 'boolean' ? part[0] === 1 : part[0]];
	}));
}

// Batches beside single queries.
const numbers = (count, low, high) => Float64Array.from({ length: count }, () => low + (high - low) * random());
const origins = numbers(3 * n, -1, 6), directions = numbers(3 * n, -1, 1), tMax = numbers(n, 1, 9), filter = { ignore: coin, skipSensors: true };
const vector = (array, i) => [...array.slice(3 * i, 3 * i + 3)];
const rays = world.castRays(origins, directions, { tMin: 0.25, tMax, filter }), any = world.castRaysAny(origins, directions, { tMin: 0.25, tMax, filter });
const every = world.castRaysAll(origins, directions, { tMin: 0.25, tMax, filter });
const closest = world.closestPoints(origins, { maxDistance: 2, filter });
const boxes = Float64Array.from({ length: 6 * n }, (none, k) => origins[3 * Math.floor(k / 6) + k % 3] + (k % 6 < 3 ? -1 : 1));
const inBoxes = world.overlapBoxes(boxes, { filter });
const poses = Float64Array.from({ length: 7 * n }, (none, k) => k % 7 < 3 ? origins[3 * Math.floor(k / 7) + k % 7] : k % 7 === 6 ? 1 : 0);
const motions = Float64Array.from({ length: 14 * n }, (none, k) => {
	const i = Math.floor(k / 14), j = k % 7;
	return j > 2 ? Number(j === 6) : origins[3 * i + j] + (k % 14 < 7 ? 0 : 5 * directions[3 * i + j]);
});
const shapes = Array.from({ length: n }, (none, i) => i % 2 ? { type: 'sphere', radius: 0.5 + 0.01 * i } : { type: 'mesh', mesh: cube });
const touched = world.overlapShapes(shapes, poses, { filter }), contacts = world.collideShapes(shapes, poses, { filter });
const bodies = world.closestBodies(shapes, poses, { maxDistance: 0.5, filter }), casts = world.castShapes(shapes, motions, { tolerance: 0.01, filter });
const counts = { hits: 0, misses: 0, contacts: 0, met: 0 };
for (let i = 0; i < n; i++) {
	const options = { tMin: 0.25, tMax: tMax[i], filter }, single = world.castRay(vector(origins, i), vector(directions, i), options), pose = [...poses.slice(7 * i, 7 * i + 7)];
	const one = (answers, wanted) => wanted ? assert.deepEqual(row(answers, i, wanted), wanted) : assert.deepEqual([...answers.body.slice(2 * i, 2 * i + 2)], [0, 0]);
	const ids = ({ first, body }) => Array.from({ length: first[i + 1] - first[i] }, (none, k) => [...body.slice(2 * (first[i] + k), 2 * (first[i] + k) + 2)]);
	one(rays, single);
	counts[single ? 'hits' : 'misses']++;
	assert.equal(any.found[i] === 1, single !== null);
	const list = world.castRayAll(vector(origins, i), vector(directions, i), options);
	assert.equal(every.first[i + 1] - every.first[i], list.length);
	list.forEach((each, k) => assert.deepEqual(row(every, every.first[i] + k, each), each));
	one(closest, world.closestPoint(vector(origins, i), 2, { filter }));
	assert.deepEqual(ids(inBoxes), world.overlapBox(vector(boxes, 2 * i), vector(boxes, 2 * i + 1), { filter }));
	assert.deepEqual(ids(touched), world.overlapShape(shapes[i], pose, { filter }));
	one(bodies, world.closestBody(shapes[i], pose, { maxDistance: 0.5, filter }));
	const way = world.castShape(shapes[i], motions.slice(14 * i, 14 * i + 7), motions.slice(14 * i + 7, 14 * i + 14), { tolerance: 0.01, filter });
	one(casts, way);
	counts.met += way ? 1 : 0;
	const some = world.collideShape(shapes[i], pose, { filter });
	assert.equal(contacts.first[i + 1] - contacts.first[i], some.length);
	some.forEach(({ a, b, kind, ...each }, k) => assert.deepEqual(row(contacts, contacts.first[i] + k, each), each));
	counts.contacts += some.length;
}
assert.ok(counts.hits > 20 && counts.misses > 20 && counts.contacts > 50 && counts.met > 20, JSON.stringify(counts));

// One shape for all; a body of its own that each query does not see; more answers than the first guess; none.
assert.deepEqual([...world.overlapShapes(ball, [3, 0, 0.5, 0, 0, 0, 1, 0, 3, 5.5, 0, 0, 0, 1]).body.slice(0, 4)], [...ground, ...crate]);
assert.deepEqual([...world.castRays([...above, ...above], [...down, ...down], { ignore: [...crate, 0, 0] }).body], [...ground, ...crate]);
assert.equal(world.overlapBoxes([-9, -9, -9, 9, 9, 9, -9, -9, -9, 9, 9, 9]).first[2], 88);
assert.equal(world.overlapBox([-9, -9, -9], [9, 9, 9]).length, 44);
assert.deepEqual([world.castRays([], []).t.length, world.collideShapes([], []).first.length], [0, 1]);

// Misuse. A wrong query fails its batch, or has a result of its own.
refuses(() => world.castRays([...above, ...above], [...down, 0, 0, 0]), /rays\[1\].*direction/);
const { results, body } = world.castRays([...above, ...above], [0, 0, 0, ...down], { results: true });
assert.deepEqual([...results].map((result) => carom.resultName(result)), ['invalid argument', carom.resultName(0)]);
assert.deepEqual([...body], [0, 0, ...crate]);
assert.equal(world.castRays(above, down).results, undefined);
assert.deepEqual([...world.overlapBoxes([1, 0, 0, 0, 1, 1, ...above, 4, 4, 4], { results: true }).results].map((result) => result !== 0), [true, false]);
refuses(() => world.castRays([1, 2], [1, 2]), /castRays: origins has 2 numbers, which is no multiple of 3/);
refuses(() => world.castRays(above, [1, 2]), /castRays: directions has 2 numbers; of 1 rays there are 3/);
refuses(() => world.castRays(above, down, { tMax: [1, 2] }), /tMax has 2 numbers; of 1 rays there are 1/);
refuses(() => world.castRays(above, down, { tMin: 'near' }), /tMin is "near"; it must be an array/);
refuses(() => world.castRays(above, down, { ignore: [1] }), /castRays: ignore has 1 numbers; 1 ids have 2/);
refuses(() => world.castRay(above, down, { filter: 3 }), /castRay: filter is 3; it must be an object/);
refuses(() => world.castRay(above, down, { filter: { ignore: 3 } }), /filter.ignore is 3; it must be \[index, generation\]/);
refuses(() => world.castRay(above, down, { filter: { colour: 3 } }), /castRay: there is no setting filter\.colour/);
refuses(() => world.closestPair({ filterB: 'all' }), /closestPair: filterB is "all"/);
refuses(() => world.overlapShapes([ball], poses), /overlapShapes: 1 shapes, and numbers of 120/);
refuses(() => world.overlapShapes([ball, { type: 'ball' }], poses.slice(0, 14)), /overlapShapes: shapes\[1\].type is "ball"/);
refuses(() => world.overlapShapes(ball, [1, 2]), /overlapShapes: poses has 2 numbers, which is no multiple of 7/);
refuses(() => world.castShapes(ball, [1, 2]), /castShapes: motions has 2 numbers, which is no multiple of 14/);
refuses(() => world.castShape(ball, [1, 2], poses.slice(0, 7)), /castShape: begin has 2 numbers; it must have 7/);
refuses(() => world.castShapes(ball, motions, { tolerance: 0 }), /tolerance/);
refuses(() => world.collideShape({ type: 'plane' }), /plane/i);
[world, cube, ring].forEach((object) => object.destroy());
assert.ok(carom.memoryInUse - start <= 2 ** 19, 'memory is left over'); // what collideShape keeps for its next call
console.log(`${n} queries of each kind: ${JSON.stringify(counts)}`);
