// node world.mjs PACKAGE OUTPUT [RECORDING...]: worlds of the npm package with cloth, solids and spheres, functions of the user's, snapshots and
// recordings. Writes recordings of its own into the folder OUTPUT, for the command to replay, with a file hashes.txt (name, hash); replays those that
// the command has made.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { close, corners, load, lumpyRing, randomNumbers, sheet, sides } from './support.mjs';

const [folder, output, ...recordings] = process.argv.slice(2);
const { carom, loadCarom, refuses } = await load(folder);
const start = carom.memoryInUse, made = [], make = carom.make.bind(carom);
carom.make = (...given) => { // every object is destroyed in the end
	made.push(make(...given));
	return made[made.length - 1];
};
const cube = carom.createMesh(corners, sides), hashes = [];
const at = (x, y, z) => [x, y, z, 0, 0, 0, 1];
const moved = (places, z) => Array.from(places, (c, i) => i % 3 === 2 ? c + z : c);

/** A ball, a sheet above it, a cube that deforms, spheres on both, a floor. */
function makeScene(settings) {
	const world = carom.createWorld(settings), { vertices, triangles } = sheet(9, 0), mesh = carom.createMesh(vertices, triangles);
	const floor = world.addBody({ kind: 'static', shape: { type: 'plane' } });
	const ball = world.addBody({ shape: { type: 'sphere', radius: 0.5 }, pose: at(0, 0, 0.5), kind: 'kinematic', userData: 2n ** 63n });
	const cloth = world.addBody({ kind: 'cloth', shape: { type: 'mesh', mesh }, pose: at(0, 0, 1.3), thickness: 0.05 });
	const solid = world.addBody({ kind: 'deformable', shape: { type: 'mesh', mesh: cube }, pose: at(3, 0, 1), thickness: 0.05, shapeImpacts: false });
	const grains = world.addBody({ kind: 'granular', centres: [3, 0, 2.05, 3.5, 0, 2.15, 0.3, 0.3, 0.05], radii: [0.1, 0.1, 0.1] });
	mesh.destroy();
	return { world, floor, ball, cloth, solid, grains };
}

// Cloth: impacts with the ball on the way, and surface contacts at the end.
const scene = makeScene(), { world, ball, cloth, solid, grains } = scene;
const first = world.getVertices(cloth);
assert.equal(first.length, 3 * 81);
close(first[2], 1.3);
world.step();
assert.equal(world.shapeImpacts.length, 0);
world.setVertices(cloth, moved(first, -0.4));
world.step();
assert.ok(world.shapeImpacts.length > 0);
for (const impact of world.shapeImpacts) {
	assert.deepEqual([impact.bodyA, impact.bodyB, impact.a, impact.b], [cloth, ball, cloth[0], ball[0]]);
	assert.equal(impact.userDataB, 2n ** 63n);
	assert.ok(impact.time >= 0 && impact.time <= 1);
}
close(Math.min(...world.shapeImpacts.map((impact) => impact.time)), 0.75, 0.01);
close(Math.max(...world.getVertices(cloth).filter((c, i) => i % 3 === 2)), 0.9);
const held = world.surfaceShapeContacts;
assert.ok(held.length > 0);
for (const contact of held) {
	assert.deepEqual(contact.bodyA, cloth);
	close(contact.thickness, 0.025);
	assert.ok(contact.distance < contact.thickness);
	close(contact.weights.reduce((sum, w) => sum + w, 0), 1);
}
const middle = held.find((contact) => contact.vertices[0] === 40 && contact.vertices[1] === -1);
close(middle.distance, -0.1);
close(middle.normal[2], 1);

// A sheet upon the cube that deforms: contacts of surfaces with surfaces, kept from step to step.
const { vertices: flat, triangles: flatCorners } = sheet(3, 0), small = carom.createMesh(flat, flatCorners);
const upper = world.addBody({ kind: 'cloth', shape: { type: 'mesh', mesh: small }, pose: at(3, 0, 2.3), thickness: 0.05 });
world.step();
world.setVertices(upper, moved(world.getVertices(upper), -0.28));
world.step();
world.step();
assert.ok(world.surfaceContacts.length > 0);
for (const contact of world.surfaceContacts) {
	assert.ok(['vertex-face', 'edge-edge'].includes(contact.kind) && !contact.through && contact.age === 1);
	close(contact.distance, 0.02);
	close(contact.thickness, 0.05);
}
// Through it: impacts, and contacts that remember the side.
world.setVertices(upper, moved(world.getVertices(upper), -0.05));
world.step();
assert.ok(world.impacts.length > 0 && world.impacts.every((impact) => ['vertex-face', 'edge-edge'].includes(impact.kind)));
assert.ok(world.surfaceContacts.some((contact) => contact.through && contact.distance < 0));

// Another mesh in place: its middle is new.
const { vertices: fine, triangles: fineCorners } = sheet(4, 0), finer = carom.createMesh(fine, fineCorners), from = new Int32Array(16).fill(-1);
from[0] = 0;
world.setMesh(upper, finer, { from, places: moved(fine, 2.5) });
assert.equal(world.getVertices(upper).length, 48);
close(world.getVertices(upper)[5], 2.5);
close(world.getVertices(upper)[2], 1.97);
world.step();

// Spheres: with the solid, the cloth, the floor and each other.
assert.deepEqual([...world.spherePairs], []);
world.setSpheres(grains, [3, 0, 2.05, 3.1, 0, 2.15, 0.3, 0.3, 0.95], [0.1, 0.1, 0.1]);
world.step();
assert.deepEqual([...world.spherePairs], [0, 1]);
assert.deepEqual(world.sphereGroups.map((group) => [group.bodyA, group.bodyB, group.firstPair, group.pairCount]), [[grains, grains, 0, 1]]);
assert.ok(world.sphereContacts.some((contact) => contact.b === cloth[0] && contact.sphere === 2 && contact.triangle >= 0));
const rests = world.sphereContacts.find((contact) => contact.b === solid[0] && contact.sphere === 0);
close(rests.depth, 0.05);
close(rests.normal[2], 1);
const held_by = world.pairs[rests.pair], of_pair = world.sphereContactsByPair;
assert.deepEqual([held_by.bodyA, held_by.bodyB].sort(), [solid, grains].sort());
assert.ok([...of_pair].slice(held_by.firstSphereContact).slice(0, held_by.sphereContactCount).every((i) => world.sphereContacts[i].pair === rests.pair));
assert.equal(world.pairs[world.sphereGroups[0].pair].sphereGroup, 0);
assert.ok(world.events.some((event) => event.pair === rests.pair && event.kind !== 'end'));
world.setSphereImpulse(world.sphereContacts.indexOf(rests) < 0 ? 0 : world.sphereContacts.indexOf(rests), [1, 2, 3]);
world.step();
assert.ok(world.sphereContacts.some((contact) => contact.age > 0 && contact.impulse[2] === 3));
refuses(() => world.setSurfaceImpulse(0, [1, 2]), /setSurfaceImpulse: impulse has 2 numbers; it must have 3/);
refuses(() => world.setSurfaceShapeImpulse(-1, [1, 2, 3]), /contact is -1/);
refuses(() => world.setSpheres(grains, [0, 0, 9, 0, 0, 0.05]), /count/);
world.setSpheres(grains, [0, 0, 9], [0.5]);
assert.deepEqual([...world.getSpheres(grains)], [0, 0, 9, 0.5]);

// Spheres by id: one that changes its number keeps its contact, and its id.
{
	const w = carom.createWorld(), floor = w.addBody({ kind: "static", shape: { type: "box", halfExtents: [9, 9, 1] }, pose: at(0, 0, -1) });
	const g = w.addBody({ kind: "granular", centres: [0, 0, 0.09, 3, 0, 0.09], radii: [0.1, 0.1] });
	assert.equal(w.getSphereIds(g), null);
	w.setSpheresById(g, [7, 2n ** 63n], [0, 0, 0.09, 3, 0, 0.09], [0.1, 0.1]);
	assert.deepEqual([...w.getSphereIds(g)], [7n, 2n ** 63n]);
	w.step();
	w.setSpheresById(g, BigUint64Array.of(5n, 2n ** 63n), [1, 0, 0.09, 3, 0, 0.09], [0.1, 0.1]);
	w.step();
	w.setSpheresById(g, [2n ** 63n, 9], [3, 0, 0.09, 5, 0, 0.09], [0.1, 0.1]);
	w.step();
	assert.deepEqual([...w.sphereContacts].map((c) => c.age).sort(), [0, 2]);
	refuses(() => w.setSpheresById(g, [1], [0, 0, 0, 1, 1, 1]), /setSpheresById: 1 ids, and 6 coordinates/);
	refuses(() => w.setSpheresById(g, [1, -1], [0, 0, 0, 1, 1, 1]), /setSpheresById: ids\[1\] is -1/);
	refuses(() => w.setSpheresById(g, 3, [0, 0, 0]), /setSpheresById: ids is 3/);
	refuses(() => w.setSpheresById(g, [4, 4], [0, 0, 0, 1, 1, 1], [1, 1]), /ids/);
	w.removeBody(floor);
	w.destroy();
}

// What is wrong is named.
refuses(() => world.setVertices(cloth, [0, 0, 0]), /end has 3 numbers; the body has 81 vertices, which are 243/);
refuses(() => world.setVertices(cloth, null, [0, 0, 0]), /begin has 3 numbers/);
refuses(() => world.setVertices(cloth, 3), /end is 3; it must be an array of numbers/);
refuses(() => world.setVertices(cloth, moved(first, NaN)), /end/);
refuses(() => world.setVertices(ball, [0, 0, 0]), /./);
refuses(() => world.getVertices([99, 1]), /./, 'invalid body');
refuses(() => world.getVertices(7), /getVertices: an id is 7; it must be \[index, generation\]/);
refuses(() => world.setMesh(cloth, null), /mesh is null; it must be a Mesh/);
refuses(() => world.setMesh(cloth, small, { from: [0] }), /from has 1 numbers; the mesh has 9 vertices/);
refuses(() => world.setMesh(cloth, small, { from: new Array(9).fill(99) }), /from/);
refuses(() => world.setSpheres(grains, [0, 0]), /setSpheres: 2 coordinates/);
refuses(() => world.setSphereBegins(grains, [0, 0, 9, 0, 0, 0]), /begins has 6 numbers; the body has 1 spheres, which are 3/);
refuses(() => world.setSphereBegins(grains, [0, 0, 9]), /not continuous/);
refuses(() => world.setSpheres(grains, [0, 0, 0], [1, 1]), /2 radii, and 3 coordinates/);
refuses(() => world.setSpheres(grains, [0, 0, 0], [-1]), /radii/);
refuses(() => world.setSpheres(cloth, [0, 0, 0], [1]), /./);
refuses(() => world.addBody({ kind: 'granular', centres: [0, 0, 0] }), /radii is undefined/);
refuses(() => world.addBody({ kind: 'granular', radii: [1] }), /centres is undefined/);
refuses(() => world.addBody({ kind: 'cloth', shape: { type: 'sphere', radius: 1 } }), /shape/);
refuses(() => world.addBody({ kind: 'cloth', shape: { type: 'mesh', mesh: small }, thickness: -1 }), /thickness/);
refuses(() => world.addBody({ kind: 'cloth', shape: { type: 'mesh', mesh: small }, thickness: 'thin' }), /addBody: thickness is "thin"; it must be a number/);
refuses(() => world.addBody({ kind: 'jelly', shape: { type: 'mesh', mesh: small } }), /kind is "jelly": it is one of "static"/);
refuses(() => world.addBody({ shape: { type: 'sphere', radius: 1 }, colour: 3 }), /addBody: there is no setting colour/);
refuses(() => world.addBody({ shape: { type: 'sphere', radius: 1, colour: 3 } }), /addBody: there is no setting shape\.colour/);
refuses(() => world.addBody({ shape: { type: 'sphere', radius: 1 }, sensor: 1 }), /sensor is 1; it must be true or false/);
refuses(() => world.addBody({ shape: { type: 'sphere', radius: 1 }, mask: -1 }), /mask is -1; it must be a bigint/);
refuses(() => world.addBody({ shape: { type: 'sphere', radius: 1 }, pose: [1, 2, 3] }), /pose has 3 numbers; it must have 7/);
refuses(() => world.addBody({ parts: [{ type: 'sphere', radius: 1 }, 3] }), /parts\[1\] is 3; it must be a shape/);
refuses(() => world.addBody({ shape: { type: 'sphere', radius: 1 }, parts: [] }), /addBody: parts is an empty array/);
refuses(() => carom.createWorld({ sweep: 3 }), /createWorld: sweep is 3/);
refuses(() => carom.createWorld({ sweep: { tolerance: -1 } }), /tolerance/);
refuses(() => carom.createWorld({ maxContactsPerPair: 1.5 }), /maxContactsPerPair is 1.5; it must be a whole number/);
refuses(() => carom.createWorld({ memoryBudget: 1 }), /./, 'over budget');

// Pairs of bodies: four legs on a plane are one, with its contacts, its number and its events.
const house = carom.createWorld(), yard = house.addBody({ kind: 'static', shape: { type: 'plane' } });
const legs = [[-1, -1], [-1, 1], [1, -1], [1, 1]].map(([x, y]) => ({ type: 'box', halfExtents: [0.1, 0.1, 0.5], pose: at(x, y, 0.499) }));
const stool = house.addBody({ parts: legs });
refuses(() => house.setBodyPairs(true, 257), /max_contacts is 257/);
house.setBodyPairs(true, 5);
house.step();
assert.deepEqual(house.bodyPairs.map(({ bodyA, bodyB, firstPair, pairCount, contactCount, foundCount }) => ({ bodyA, bodyB, firstPair, pairCount, contactCount, foundCount })),
	[{ bodyA: yard, bodyB: stool, firstPair: 0, pairCount: 4, contactCount: 5, foundCount: 16 }]);
assert.deepEqual([house.pairs.length, house.contacts.length, house.pairs[3].bodyPair, house.bodyEvents[0].kind], [4, 5, 0, 'begin']);
house.setBodyPairData(0, 77);
house.setPose(stool, at(0, 0, 3));
house.step();
assert.deepEqual(house.bodyEvents.map(({ kind, bodyPair, pairData }) => ({ kind, bodyPair, pairData })), [{ kind: 'end', bodyPair: -1, pairData: 77n }]);
refuses(() => house.setBodyPairData(0, 1), /pair is 0, but there are 0 pairs of bodies/);
house.destroy();

// Numbers of parts: a contact filter asks for them, and so does who reads results.
const shelf = carom.createWorld({ contactFilter: (contact) => shelf.getPartData(contact.bodyB, contact.partB) !== 2n ** 64n - 1n });
const slab = shelf.addBody({ kind: 'static', shape: { type: 'plane' } });
const balls = shelf.addBody({ parts: [2n ** 64n - 1n, 8, 0].map((userData, i) => ({ type: 'sphere', radius: 0.5, pose: at(2 * i, 0, 0.4), userData })) });
shelf.step();
assert.deepEqual(shelf.contacts.map(({ partB }) => partB), [1, 2]);
assert.deepEqual(shelf.getBody(balls).parts.map(({ userData }) => userData), [2n ** 64n - 1n, 8n, 0n]);
shelf.setPartData(balls, 2, 9n);
const onBall = shelf.castRay([4, 0, 5], [0, 0, -1]);
assert.deepEqual([shelf.getPartData(balls, onBall.part), shelf.getPartData(balls, 1), shelf.getPartData(slab, 0)], [9n, 8n, 0n]);
refuses(() => shelf.getPartData(balls, 3), /part is 3, but the body has 3 parts/);
refuses(() => shelf.setPartData(slab, 0, 1), /without parts/);
refuses(() => shelf.setPartData(balls, 0, -1), /data is -1/);
refuses(() => shelf.setParts(balls, [{ type: 'sphere', radius: 1, userData: 1.5 }]), /parts\[0\].userData is 1.5/);
refuses(() => shelf.setParts(balls, [null]), /parts\[0\] is null/);
const filtersParts = carom.createWorld({ contactFilter: () => filtersParts.setPartData(pole, 0, 1) });
filtersParts.addBody({ kind: 'static', shape: { type: 'plane' } });
const pole = filtersParts.addBody({ parts: [{ type: 'sphere', radius: 1 }] });
refuses(() => filtersParts.step(), /another call is using this World/);
filtersParts.destroy();
shelf.destroy();

// Events, data of pairs, impulses, filters, motions, shapes in place.
const plain = carom.createWorld(), ground = plain.addBody({ kind: 'static', shape: { type: 'plane' }, category: 2 });
const bullet = plain.addBody({ shape: { type: 'sphere', radius: 0.1 }, pose: at(0, 0, 0.05), continuous: true, userData: 7 });
plain.step();
assert.deepEqual(plain.events.map(({ kind, bodyA, bodyB, userDataB }) => ({ kind, bodyA, bodyB, userDataB })), [{ kind: 'begin', bodyA: ground, bodyB: bullet, userDataB: 7n }]);
plain.setPairData(0, 12345678901234567890n);
plain.setImpulse(0, [0, 0, 5]);
plain.step();
assert.equal(plain.pairs[0].userData, 12345678901234567890n);
assert.deepEqual(plain.contacts[0].impulse, [0, 0, 5]);
assert.equal(plain.contacts[0].kind, 'volumes');
assert.equal(plain.contactNumbers.length, 16);
plain.setMotions([bullet], [...at(0, 0, 3), ...at(0, 0, -1)]);
plain.step();
close(plain.bodyImpacts[0].time, 2.9 / 4, 0.001);
assert.equal(plain.events.length, 1);
assert.equal(plain.stats.step, 3);
plain.setFilter(bullet, { mask: 1 });
assert.deepEqual(plain.getFilter(bullet), { category: 1n, mask: 1n, group: 0 });
plain.step();
assert.equal(plain.contacts.length, 0);
plain.setFilter(bullet, { mask: 2n ** 64n - 1n });
plain.setShape(bullet, { type: 'box', halfExtents: [1, 1, 1] });
plain.setPose(bullet, at(0, 0, 0.9));
plain.step();
assert.equal(plain.contacts.length, 4);
const parts = plain.addBody({ parts: [{ type: 'sphere', radius: 0.1, pose: at(5, 0, 0) }, { type: 'sphere', radius: 0.1 }] });
plain.setParts(parts, [{ type: 'sphere', radius: 0.2, pose: at(5, 0, 0) }]);
plain.step();
close(plain.contacts.find((contact) => contact.b === parts[0]).depth, 0.2);
const hand = plain.addBody({ parts: [{ type: 'sphere', radius: 0.2, pose: at(9, 0, 0) }], partRoom: 2 });
assert.equal(plain.getBody(hand).partRoom, 2);
plain.setParts(hand, [9, 11].map((x) => ({ type: 'sphere', radius: 0.2, pose: at(x, 0, 0) })));
plain.step();
assert.deepEqual(plain.contacts.filter((contact) => contact.b === hand[0]).map((contact) => contact.partB), [0, 1]);
refuses(() => plain.setParts(hand, [{ type: 'sphere', radius: 1 }, { type: 'sphere', radius: 1 }, { type: 'sphere', radius: 1 }]), /room for 2 parts/);
plain.removeBody(hand);
plain.setTraits(parts, { kind: 'static', sensor: true });
assert.deepEqual([plain.getBody(parts).kind, plain.getBody(parts).sensor, plain.getBody(parts).contacts], ['static', true, true]);
refuses(() => plain.setTraits(parts, { mask: 1n }), /setTraits: there is no trait mask/);
refuses(() => plain.setTraits(parts, { kind: 'cloth', sensor: false }), /kind is CAROM_CLOTH/);
plain.setTraits(parts, { kind: 'dynamic', sensor: false });
plain.setAsleep([parts], true);
assert.deepEqual(plain.getAsleep([parts, bullet]), [true, false]);
plain.setAsleep([parts], false);
refuses(() => plain.setAsleep([ground], true), /ids\[0\] names a body whose kind is/);
plain.shiftOrigin([8, 0, 0]);
assert.equal(plain.getPoses([bullet])[0], 8);
plain.shiftOrigin([-8, 0, 0]);
refuses(() => plain.shiftOrigin([1, 2]), /offset has 3 numbers, not 2/);
const soft = plain.addBody({ kind: 'deformable', shape: { type: 'mesh', mesh: cube }, pose: at(30, 0, 0), shapeImpacts: false });
plain.addBody({ kind: 'static', shape: { type: 'box', halfExtents: [9, 9, 9] }, pose: at(30, 0, -9.4) });
plain.step();
const onSoft = plain.contacts.findIndex((contact) => contact.a === soft[0]), acts = plain.contactCorners(onSoft);
assert.equal(acts.b, null);
close(acts.a.weights.reduce((sum, w) => sum + w, 0), 1);
assert.equal(acts.a.vertices.length, acts.a.weights.length);
refuses(() => plain.contactCorners(10 ** 6), /first is 1000000/);
plain.removeBody(soft);
plain.removeBody(plain.bodyIds[plain.bodyIds.length - 1]);
assert.deepEqual(plain.bodyIds, [ground, bullet, parts]);
assert.deepEqual([plain.isBody(parts), plain.isBody([0, 0])], [true, false]);
assert.equal(plain.getPoses([ground, bullet])[9], 0.9);
refuses(() => plain.setMotions([bullet], at(0, 0, 0)), /1 bodies have 14 numbers, not 7/);
refuses(() => plain.setImpulse(99, [0, 0, 0]), /./);
plain.setImpulses(plain.contacts.flatMap((_, i) => [i, 0, 7]));
plain.step();
assert.deepEqual(plain.contacts.map(({ impulse }) => impulse), plain.contacts.map((_, i) => [i, 0, 7]));
const bulletGrains = plain.addBody({ kind: 'granular', continuous: true, centres: [7, 0, -3], radii: [0.5] });
plain.setSphereBegins(bulletGrains, [7, 0, 1.5]);
plain.step();
close(plain.bodyImpacts.find(({ bodyB, bodyA }) => [bodyA[0], bodyB[0]].includes(bulletGrains[0])).time, 1 / 4.5, 0.001);
plain.removeBody(bulletGrains);
plain.reserve(100, 200, 300);
const crowd = Array.from({ length: 40 }, (_, i) => plain.addBody({ shape: { type: 'sphere', radius: 0.5 }, pose: at(100 + i, 0, 0) }));
plain.step();
refuses(() => plain.removeBodies([crowd[0], crowd[0]]), /ids\[1\] names the body of ids\[0\] again/, 'invalid body');
refuses(() => plain.reserve(1, -1, 1), /pairs is -1/);
plain.removeBodies(crowd);
plain.trim();
assert.deepEqual(plain.bodyIds, [ground, bullet, parts]);
plain.step();
refuses(() => plain.setImpulses([1, 2]), /impulses has 2 numbers; it must have 3 for each contact/);
refuses(() => plain.setSurfaceImpulses([1, 2, 3]), /count is 1, but there are 0 contacts/);
refuses(() => plain.setSurfaceShapeImpulses([1, 2, 3]), /count is 1/);
refuses(() => plain.setSphereImpulses([1, 2, 3]), /count is 1/);
refuses(() => plain.setImpulse(0, [0, 0]), /impulse has 2 numbers; it must have 3/);
refuses(() => plain.setPairData(0, 1.5), /data is 1.5/);
refuses(() => plain.setFilter(bullet, { group: 'a' }), /setFilter: group is "a"/);
refuses(() => plain.setPoses([bullet, 3], [...at(0, 0, 0), ...at(0, 0, 0)]), /an id is 3/);
plain.destroy();

// Filters: what they are asked, what they leave out, what they throw, and what they may not do.
const asked = [];
let answer = true;
const filtered = carom.createWorld({ pairFilter: (...given) => { asked.push(given); return answer; }, contactFilter: (contact, a, b) => { asked.push([contact, a, b]); return contact.point[0] > 0; } });
const below = filtered.addBody({ kind: 'static', shape: { type: 'plane' } }), box = filtered.addBody({ shape: { type: 'box', halfExtents: [1, 1, 1] }, pose: at(0, 0, 0.9), userData: 9 });
filtered.step();
assert.deepEqual(asked[0], [below, box, 0n, 9n]);
assert.deepEqual([asked.length, asked[1][0].bodyB, asked[1][2]], [5, box, 9n]);
close(asked[1][0].depth, 0.1);
assert.equal(filtered.contacts.length, 2);
answer = false;
filtered.step();
assert.equal(filtered.contacts.length, 0);
filtered.destroy();
for (const call of [(w) => w.step(), (w) => w.contacts, (w) => w.destroy(), (w) => w.castRay([0, 0, 1], [0, 0, 1])]) {
	const own = carom.createWorld({ pairFilter: () => call(own) });
	own.addBody({ kind: 'static', shape: { type: 'plane' } });
	own.addBody({ shape: { type: 'sphere', radius: 1 } });
	refuses(() => own.step(), /another call is using this World/);
	own.destroy();
}
const thrower = carom.createWorld({ contactFilter: () => { throw new RangeError('lost'); } }), inner = carom.createWorld({ pairFilter: () => { throw new RangeError('inner'); } });
for (const each of [thrower, inner]) {
	each.addBody({ kind: 'static', shape: { type: 'plane' } });
	each.addBody({ shape: { type: 'sphere', radius: 1 } });
}
for (let i = 0; i < 3; i++)
	assert.throws(() => thrower.step(), (e) => e instanceof RangeError && e.message === 'lost');
const outer = carom.createWorld({ pairFilter: () => { assert.throws(() => inner.step(), /inner/); return false; } });
outer.addBody({ kind: 'static', shape: { type: 'plane' } });
outer.addBody({ shape: { type: 'sphere', radius: 1 } });
outer.step();
assert.equal(outer.contacts.length, 0);
for (const each of [thrower, inner, outer])
	each.destroy();
refuses(() => carom.createWorld({ pairFilter: 3 }), /createWorld: pairFilter is 3; it must be a function/);

// Forces of spheres.
const grainsAlone = carom.createSpheres(), line = [0, 0, 0, 1.5, 0, 0, 9, 0, 0], seen = [];
const { forces, torques } = grainsAlone.sumForces(line, [1, 1, 1], (a, b, direction, overlap) => {
	seen.push([a, b, ...direction, overlap]);
	return { force: direction.map((c) => 10 * overlap * c), torque: [0, 0, a] };
});
assert.deepEqual(seen, [[0, 1, -1, 0, 0, 0.5], [1, 0, 1, 0, 0, 0.5]]);
assert.deepEqual([[...forces], [...torques]], [[-5, 0, 0, 5, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0, 0]]);
assert.throws(() => grainsAlone.sumForces(line, [1, 1, 1], () => { throw new RangeError('force'); }), RangeError);
refuses(() => grainsAlone.sumForces(line, [1, 1, 1], () => grainsAlone.findPairs(line, [1, 1, 1])), /another call is using this Spheres/);
refuses(() => grainsAlone.sumForces(line, [1, 1, 1]), /force is missing/);
grainsAlone.destroy();

/** Move everything of a scene a little, as the random numbers say. */
function shake({ world: w, cloth: c, solid: s, grains: g, ball: b }, random) {
	w.setVertices(c, w.getVertices(c).map((x) => x + 0.04 * random() - 0.02 - 0.01 * Math.sign(x)));
	w.setVertices(s, w.getVertices(s).map((x) => x + 0.02 * random() - 0.01));
	const spheres = w.getSpheres(g), centres = [];
	spheres.forEach((x, i) => i % 4 === 3 || centres.push(x + 0.1 * random() - 0.05));
	w.setSpheres(g, centres);
	w.setPose(b, at(0.2 * random(), 0, 0.5 + 0.5 * random()));
	w.step();
}

// Snapshots: back, and on again; as bytes in another world of another module.
const back = makeScene(), random = randomNumbers(5);
for (let i = 0; i < 5; i++)
	shake(back, random);
const snapshot = back.world.snapshot(), then = back.world.hash, bytes = snapshot.save(), later = randomNumbers(6), trail = [];
for (let i = 0; i < 5; i++) {
	shake(back, later);
	trail.push(back.world.hash);
}
assert.ok(new Set([then, ...trail]).size === 6);
const added = back.world.addBody({ shape: { type: 'sphere', radius: 1 } });
assert.equal(snapshot.difference(back.world.snapshot()).list, 'bodies');
back.world.restore(snapshot);
assert.equal(back.world.isBody(added), false);
assert.equal(back.world.hash, then);
assert.equal(snapshot.difference(back.world.snapshot()), null);
assert.equal(back.world.snapshot().hash, snapshot.hash);
const again = randomNumbers(6);
assert.deepEqual(trail.map(() => { shake(back, again); return back.world.hash; }), trail);
const other = makeScene(), loaded = other.world.loadSnapshot(bytes), third = randomNumbers(6);
other.world.restore(loaded);
assert.equal(loaded.hash, snapshot.hash);
assert.deepEqual(trail.map(() => { shake(other, third); return other.world.hash; }), trail);
assert.ok(snapshot.memory > 1000);
other.world.save(loaded);
assert.notEqual(loaded.hash, snapshot.hash);
for (const wrong of [new Uint8Array(0), bytes.slice(0, -1), bytes.map((byte, i) => i === 100 ? byte ^ 1 : byte)])
	refuses(() => other.world.loadSnapshot(wrong), /./);
refuses(() => other.world.loadSnapshot('bytes'), /data is "bytes"; it must be bytes/);
refuses(() => carom.createWorld().loadSnapshot(bytes), /./);
refuses(() => carom.createWorld().restore(snapshot), /./);
refuses(() => world.restore(3), /restore: snapshot is 3; it must be a Snapshot/);
refuses(() => world.save(null), /save: snapshot is null/);

// Height fields.
const bumpy = Float32Array.from({ length: 12 }, (none, i) => i % 4 === 2 ? 0.25 : 0), holed = bumpy.slice(), land = carom.createWorld();
land.addBody({ shape: { type: 'mesh', mesh: carom.createHeightField(bumpy, 4, { spacing: [0.5, 1], thickness: 2 }) }, kind: 'static' });
const fieldHits = land.castRays([1, 1, 5, 0.25, 0.5, 5, 9, 9, 5], [0, 0, -1, 0, 0, -1, 0, 0, -1]);
close(fieldHits.t[0], 4.75);
close(fieldHits.t[1], 5);
assert.equal(fieldHits.body[4], 0); // beside the field
close(land.castRay([0.5, 0.5, -9], [0, 0, 1]).t, 7);
holed[0] = NaN;
assert.ok(carom.createHeightField(holed, 4).report.degenerateTriangles > 0);
refuses(() => carom.createHeightField(bumpy, 5), /createHeightField: heights has 12 numbers, which is no multiple of 5/);
refuses(() => carom.createHeightField(bumpy, 1.5), /createHeightField: columns is 1.5/);
refuses(() => carom.createHeightField(bumpy, 12), /carom_create_height_field/);
refuses(() => carom.createHeightField(bumpy, 0), /carom_create_height_field/);
refuses(() => carom.createHeightField(bumpy, 4, { spacing: [1] }), /spacing has 1 numbers; it must have 2/);
refuses(() => carom.createHeightField(bumpy, 4, { thickness: 0 }), /thickness/);

// Recordings: replayed here, and by the command.
function record(name, scene_, steps, seed) {
	const pieces = [], numbers = randomNumbers(seed);
	scene_.world.record((piece) => { pieces.push(piece); });
	for (let i = 0; i < steps; i++)
		shake(scene_, numbers);
	const hash = scene_.world.hash;
	scene_.world.record(null);
	shake(scene_, numbers); // is not heard
	const recording = Buffer.concat(pieces);
	assert.deepEqual(carom.replay(recording), { steps, firstDifference: -1, hash });
	writeFileSync(`${output}/${name}.rec`, recording);
	hashes.push(`${name} ${hash}`);
	return recording;
}
const recording = record('deforming', makeScene(), 12, 7);
record('filtered', makeScene({ pairFilter: (a, b) => a[0] + b[0] !== 7, contactFilter: (contact) => contact.depth > 0.01, speculativeDistance: 0.02, sweep: { minSeparation: 1e-3 } }), 8, 8);
// Meshes upon meshes, with and without memory of earlier steps.
for (const temporal of ['none', 'predictive']) {
	const heap = carom.createWorld({ temporal }), lumpy = carom.createMesh(...lumpyRing(30, 15)), numbers = randomNumbers(3), ids = [], pieces = [];
	for (let i = 0; i < 40; i++) {
		const turn = [numbers() - 0.5, numbers() - 0.5, numbers() - 0.5, numbers() - 0.5], length = Math.sqrt(turn.reduce((sum, c) => sum + c * c, 0));
		ids.push(heap.addBody({ shape: { type: 'mesh', mesh: lumpy }, pose: [2.7 * numbers(), 2.7 * numbers(), 2.7 * numbers(), ...turn.map((c) => c / length)] }));
	}
	heap.record((piece) => { pieces.push(piece); });
	for (let i = 0; i < 3; i++) {
		heap.step();
		heap.setPoses(ids, heap.getPoses(ids).map((c, k) => k % 7 < 3 ? c + 0.02 * numbers() : c));
	}
	heap.record(null);
	assert.ok(heap.contacts.length > 100 && heap.stats.pairsCompleted > 10);
	writeFileSync(`${output}/heap_${temporal}.rec`, Buffer.concat(pieces));
	hashes.push(`heap_${temporal} ${heap.hash}`);
}
refuses(() => back.world.record(3), /record: write is 3; it must be a function/);
for (const [wrong, steps] of [[recording.subarray(0, recording.length - 3), 12], [Buffer.from('nothing'), 0], [recording.map((byte, i) => i === recording.length - 100 ? byte ^ 1 : byte), 11]])
	assert.throws(() => carom.replay(wrong), (e) => e.code === 'invalid recording' && e.reached.steps === steps);
refuses(() => carom.replay('nothing'), /recording is "nothing"/);
assert.throws(() => back.world.record(() => { throw new RangeError('full'); }), /full/);
back.world.step();
refuses(() => back.world.record(() => false), /gave up/, 'invalid recording');
let hasRoom = true;
back.world.record(() => hasRoom);
back.world.step();
hasRoom = false;
back.world.step();
refuses(() => back.world.record(null), /./, 'invalid recording');
// One that another follows ends first; one that runs ends with its world.
const early = [], late = [];
back.world.record((piece) => { early.push(piece); });
back.world.step();
back.world.record((piece) => { late.push(piece); });
refuses(() => back.world.restore(snapshot), /record/);
back.world.step();
back.world.destroy();
assert.deepEqual([early, late].map((pieces) => carom.replay(Buffer.concat(pieces)).steps), [1, 1]);
const failing = makeScene();
failing.world.record(() => {});
failing.world.functions.write = () => { throw new RangeError('disk'); };
assert.throws(() => failing.world.step(), RangeError);
failing.world.step();

// Recordings of the command.
for (const path of recordings) {
	const { steps, firstDifference, hash } = carom.replay(readFileSync(path));
	assert.ok(steps > 0 && firstDifference === -1);
	hashes.push(`${path.replace(/.*\//, '').replace('.rec', '')} ${hash}`);
}

// Nothing is left over. Another module has other memory.
made.forEach((object) => object.destroy());
assert.equal(carom.memoryInUse, start, 'memory is left over');
assert.notEqual((await loadCarom()).exports.memory, carom.exports.memory);
console.log(hashes.join('\n'));
writeFileSync(`${output}/hashes.txt`, hashes.map((line) => `${line}\n`).join(''));
