// node misuse.mjs PACKAGE: what the package refuses before it comes to the library, in words that name the argument, the member and the element.
import assert from 'node:assert/strict';
import { corners, load, sides } from './support.mjs';

const { carom, loadCarom, refuses } = await load(process.argv[2]);
const start = carom.memoryInUse, cube = carom.createMesh(corners, sides), spheres = carom.createSpheres(), world = carom.createWorld(), ball = { type: 'sphere', radius: 1 }, mesh = { type: 'mesh', mesh: cube };
const id = world.addBody({ shape: ball }), other = await loadCarom(), stranger = other.createMesh(corners, sides);
// Objects of another library: their addresses mean something else here.
const strange = /a (Mesh|Snapshot) of another loadCarom\(\)/;
refuses(() => world.addBody({ shape: { type: 'mesh', mesh: stranger } }), /addBody: shape\.mesh is a Mesh of another loadCarom\(\)/);
refuses(() => world.addBody({ parts: [ball, { type: 'hull', mesh: stranger }] }), /addBody: parts\[1\]\.mesh is a Mesh of another/);
refuses(() => world.setShape(id, { type: 'mesh', mesh: stranger }), strange);
refuses(() => world.setMesh(id, stranger), /setMesh: mesh is a Mesh of another/);
refuses(() => carom.meshDistance(cube, stranger), /meshDistance: b is a Mesh of another/);
refuses(() => carom.meshIntersections(stranger, cube), /meshIntersections: a is/);
refuses(() => carom.distance(mesh, { type: 'mesh', mesh: stranger }), /distance: b\.mesh/);
const elsewhere = other.createWorld().snapshot(), here = world.snapshot();
refuses(() => world.save(elsewhere), /save: snapshot is a Snapshot of another/);
refuses(() => world.restore(elsewhere), /restore: snapshot is a Snapshot of another/);
refuses(() => here.difference(elsewhere), /difference: other is a Snapshot of another/);
refuses(() => world.restore(cube), /restore: snapshot is a Mesh; it must be a Snapshot/);
here.destroy();

// Corners: an array of whole numbers would make others of these.
const spoilt = (value) => sides.map((corner, i) => i === 7 ? value : corner), sweep = carom.createSweep(), near = carom.createProximity();
for (const value of [NaN, 2.7, 2 ** 32, -(2 ** 31) - 1, Infinity]) {
	for (const call of [() => carom.createMesh(corners, spoilt(value)), () => carom.checkMesh(corners, spoilt(value)), () => carom.createMesh(corners, new Float64Array(spoilt(value))),
		() => sweep.addMesh(corners, spoilt(value)), () => near.addMesh(corners, spoilt(value))])
		refuses(call, /triangles\[7\] is [-\w.]+; it must be a whole number of 32 bits/);
}
for (const value of [undefined, null, '1', 1n, [1], {}])
	refuses(() => carom.createMesh(corners, spoilt(value)), /createMesh: triangles\[7\] is .*; it must be a number/);
refuses(() => carom.createMesh(corners, new BigInt64Array(36)), /triangles is a BigInt64Array of 36; it must be an array of numbers/);
refuses(() => carom.createMesh(new BigInt64Array(24), sides), /vertices is a BigInt64Array of 24/);
refuses(() => carom.createMesh([0n, ...corners.slice(1)], sides), /vertices\[0\] is 0n; it must be a number/);
refuses(() => carom.createMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [0, 1, 2]), /vertices\[0\] is \[0,0,0\]; it must be a number/);
refuses(() => carom.createMesh(corners, new Uint32Array(spoilt(2 ** 32 - 1))), /triangles\[7\] is 4294967295/);
for (const Type of [Uint8Array, Uint16Array, Int16Array, Uint32Array, Float32Array])
	carom.createMesh(corners, new Type(sides)).destroy();
for (const value of [1.5, -1, 2 ** 32, NaN])
	refuses(() => carom.createMesh(corners, sides, { materials: sides.slice(0, 12).map((x, i) => i === 3 ? value : x) }), /materials\[3\] is [-\w.]+; it must be a whole number, 0 to 2\^32 - 1/);
refuses(() => carom.pointTriangleDistances(corners, { vertices: [0, 1, 2, 3.9] }), /vertices\[3\] is 3\.9/);
refuses(() => sweep.moveMesh('0', corners), /mesh "0" has not been added/);

// Settings that there are not, and values of another kind.
const zero = [0, 0, 0], down = [0, 0, -1], pose = [0, 0, 0, 0, 0, 0, 1], way = [...pose, ...pose];
for (const [call, name, method] of [
	[(o) => world.castRay(zero, down, o), 'maxDistance', 'castRay'], [(o) => world.castRay(zero, down, o), 'ignore', 'castRay'], [(o) => world.castRayAny(zero, down, o), 'tmax', 'castRayAny'],
	[(o) => world.castRayAll(zero, down, o), 'results', 'castRayAll'], [(o) => world.closestPoint(zero, 1, o), 'maxDistance', 'closestPoint'], [(o) => world.overlapBox(zero, zero, o), 'ignore', 'overlapBox'],
	[(o) => world.overlapShape(ball, pose, o), 'margin', 'overlapShape'], [(o) => world.collideShape(ball, pose, o), 'margin', 'collideShape'], [(o) => world.closestBody(ball, pose, o), 'tMax', 'closestBody'],
	[(o) => world.closestPair(o), 'filter', 'closestPair'], [(o) => world.castShape(ball, pose, pose, o), 'maxDistance', 'castShape'],
	[(o) => world.castRays(zero, down, o), 'tmax', 'castRays'], [(o) => world.castRaysAny(zero, down, o), 'maxDistance', 'castRaysAny'], [(o) => world.castRaysAll(zero, down, o), 'maxDistance', 'castRaysAll'],
	[(o) => world.closestPoints(zero, o), 'tMax', 'closestPoints'], [(o) => world.overlapBoxes([...zero, ...zero], o), 'maxDistance', 'overlapBoxes'], [(o) => world.overlapShapes(ball, pose, o), 'tolerance', 'overlapShapes'],
	[(o) => world.collideShapes(ball, pose, o), 'margin', 'collideShapes'], [(o) => world.closestBodies(ball, pose, o), 'filters', 'closestBodies'], [(o) => world.castShapes(ball, way, o), 'tolerances', 'castShapes'],
	[(o) => world.setFilter(id, o), 'categories', 'setFilter'], [(o) => sweep.setFilter(0, o), 'masks', 'setFilter'], [(o) => world.setMesh(id, cube, o), 'place', 'setMesh'],
	[(o) => carom.createHeightField([0, 0, 0, 0], 2, o), 'thicknes', 'createHeightField'], [(o) => carom.createMesh(corners, sides, o), 'side', 'createMesh'], [(o) => carom.createWorld(o), 'gravity', 'createWorld'],
	[(o) => carom.distance(ball, ball, o), 'posea', 'distance'], [(o) => carom.overlap(ball, ball, o), 'margin', 'overlap'], [(o) => carom.collide(ball, ball, o), 'tolerance', 'collide'],
	[(o) => carom.manifold(ball, ball, o), 'pose', 'manifold'], [(o) => carom.timeOfImpact(ball, ball, o), 'motion', 'timeOfImpact'], [(o) => carom.timeOfImpactWithin(ball, ball, 9, o), 'motion', 'timeOfImpactWithin'], [(o) => carom.distances(ball, pose, ball, pose, o), 'poseA', 'distances'],
	[(o) => carom.overlaps(ball, pose, ball, pose, o), 'result', 'overlaps'], [(o) => carom.manifolds(ball, pose, ball, pose, o), 'margins', 'manifolds'], [(o) => carom.collidePairs(ball, pose, ball, pose, o), 'tolerance', 'collidePairs'], [(o) => carom.timesOfImpact(ball, way, ball, way, o), 'tol', 'timesOfImpact'],
	[(o) => carom.meshDistance(cube, cube, o), 'max', 'meshDistance'], [(o) => carom.meshIntersections(cube, cube, o), 'maxDistance', 'meshIntersections'], [(o) => carom.shapeCastRay(ball, zero, down, o), 'filter', 'shapeCastRay'],
	[(o) => carom.shapeClosestPoint(ball, zero, o), 'filter', 'shapeClosestPoint'], [(o) => carom.shapeCastRays(ball, zero, down, o), 'ignore', 'shapeCastRays'], [(o) => carom.shapeClosestPoints(ball, zero, o), 'tMax', 'shapeClosestPoints'],
	[(o) => cube.castRays(zero, down, o), 'tMin', 'castRays'], [(o) => cube.treeInfo(o), 'cost', 'treeInfo'], [(o) => cube.edited([0], 1, o), 'column', 'edited'], [(o) => carom.orientations([], o), 'vertex', 'orientations'],
	[(o) => carom.sweepTestPairs('edge-edge', [], [], o), 'vertex', 'sweepTestPairs'], [(o) => carom.createSpheres(o), 'skins', 'createSpheres'], [(o) => world.addBody({ shape: ball, ...o }), 'position', 'addBody'],
]) {
	refuses(() => call({ [name]: 1 }), new RegExp(`^${method}: there is no setting ${name}\\b`));
	if (method !== 'addBody')
		refuses(() => call(null), new RegExp(`^${method}: options are null; they must be an object of settings`));
}
refuses(() => carom.createWorld({ sweep: { methode: 'bvh' } }), /createWorld: there is no setting sweep\.methode/);
for (const value of [null, '3', 3n, true]) {
	refuses(() => world.castRay(zero, down, { tMax: value }), /castRay: tMax is .*; it must be a number/);
	refuses(() => world.castRays(zero, down, { tMax: value }), /castRays: tMax is .*; it must be an array of numbers/);
	refuses(() => carom.collide(ball, ball, { margin: value }), /collide: margin is .*; it must be a number/);
	refuses(() => world.closestPoint(zero, value), /closestPoint: maxDistance is .*; it must be a number/);
}
refuses(() => world.addBody({ shape: { ...ball, pose } }), /addBody: shape\.pose: a part has a pose/);
refuses(() => world.addBody({ shape: ball, centres: zero, radii: [1] }), /addBody: centres: a body of kind "granular" has them; this one's kind is "dynamic"/);
refuses(() => world.addBody({ shape: ball, pose: [0, 0, undefined, 0, 0, 0, 1] }), /addBody: pose\[2\] is undefined; it must be a number/);
refuses(() => world.addBody(undefined), /a shape, or parts, are missing/);
refuses(() => world.setPairData(0, NaN), /data is NaN; it must be a bigint/);
refuses(() => world.isBody([2 ** 32 + 1, 1]), /must be \[index, generation\]/);
refuses(() => spheres.sumForces([0, 0, 0, 1, 0, 0], [1, 1], () => 5), /sumForces: force is 5/);

// What is undefined is left out.
world.setTraits(id, { kind: 'kinematic' });
world.setTraits(id, { kind: undefined, sensor: undefined });
assert.equal(world.getBody(id).kind, 'kinematic');
world.setFilter(id, { mask: 5, group: undefined });
world.setFilter(id, { mask: undefined, category: undefined });
assert.equal(world.getFilter(id).mask, 5n);
assert.deepEqual(world.castRay([0, 0, 5], down, { tMin: undefined, tMax: undefined, filter: undefined }).body, id);

// Ids as batches answer them.
const { body } = world.castRays([0, 0, 5], down);
world.setPose(body.subarray(0, 2), [0, 0, 2, 0, 0, 0, 1]);
assert.equal(world.getPoses([body.subarray(0, 2), id])[9], 2);
assert.equal(world.castRay([0, 0, 5], down, { filter: { ignore: body.subarray(0, 2) } }), null);

// The library goes on, and nothing is left over.
world.step();
for (const object of [cube, spheres, world, sweep, near])
	object.destroy();
assert.equal(carom.memoryInUse, start, 'memory is left over');
console.log('what is wrong is refused by name');
