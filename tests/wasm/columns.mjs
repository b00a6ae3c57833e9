// node columns.mjs PACKAGE: World.columns has, member by member, what the lists of objects have; and addresses above 2 GiB are read as they are.
import assert from 'node:assert/strict';
import { corners, load, sheet, sides } from './support.mjs';

const { carom, loadCarom, refuses } = await load(process.argv[2]);
const { WORDS } = await import(new URL(`file://${process.argv[2]}/carom.js`));
const lists = ['contacts', 'pairs', 'events', 'bodyPairs', 'bodyEvents', 'impacts', 'shapeImpacts', 'bodyImpacts', 'surfaceContacts', 'surfaceShapeContacts', 'sphereContacts', 'sphereGroups'];
const words = Object.values(WORDS).flat();

/** A list as columns beside the list as objects. */
function compare(world, name, seen) { compareLists(name, world[name], world.columns(name), seen); }

function compareLists(name, objects, columns, seen) {
	seen[name] = Math.max(seen[name] || 0, objects.length);
	objects.forEach((object, i) => {
		assert.deepEqual(Object.keys(object).filter((key) => key !== 'a' && key !== 'b'), Object.keys(columns));
		for (const [member, column] of Object.entries(columns)) {
			const isNested = !ArrayBuffer.isView(column), each = column.length / objects.length, value = object[member], row = isNested ? [] : [...column.subarray(each * i, each * i + each)];
			assert.ok(isNested || (Number.isInteger(each) && each > 0), `${name}.${member}`);
			if (typeof value === 'string')
				assert.ok(Object.values(WORDS).some((list) => list[row[0]] === value) && words.includes(value), `${name}.${member} is ${row[0]}, not ${value}`);
			else if (value && typeof value === 'object' && !Array.isArray(value))
				compareLists(member, objects.map((each) => each[member]), column, seen);
			else
				assert.deepEqual(row.map((x) => typeof value === 'number' ? Number(x) : x), Array.isArray(value) ? value : [typeof value === 'boolean' ? Number(value) : value], `${name}[${i}].${member}`);
		}
	});
	for (const column of Object.values(columns).filter(ArrayBuffer.isView))
		assert.ok(objects.length > 0 || column.length === 0);
}

/** Bodies of every kind that meet, twice. */
function makeWorld(library) {
	const world = library.createWorld(), pose = (z) => [0, 0, z, 0, 0, 0, 1], cube = library.createMesh(corners, sides, { materials: sides.slice(0, 12).map((x, i) => i + 4e9) });
	const flat = sheet(6, 0), cloth = library.createMesh(flat.vertices, flat.triangles), shape = { type: 'mesh', mesh: cloth };
	world.setBodyPairs(true);
	const crate = world.addBody({ shape: { type: 'mesh', mesh: cube }, pose: pose(0.9), userData: 2n ** 64n - 1n, continuous: true });
	world.addBody({ kind: 'static', shape: { type: 'plane' }, userData: 7n });
	const upper = world.addBody({ kind: 'cloth', shape, pose: pose(2.05), thickness: 0.2, shapeImpacts: true }), lower = world.addBody({ kind: 'cloth', shape, pose: pose(2.0), thickness: 0.2 });
	world.addBody({ kind: 'static', shape: { type: 'sphere', radius: 1 }, pose: pose(3) });
	world.addBody({ kind: 'granular', centres: [3, 0, 0.05, 3.1, 0, 0.05], radii: [0.1, 0.1] });
	world.addBody({ kind: 'static', shape: { type: 'box', halfExtents: [1, 1, 1] }, pose: [8, 0, 1, 0, 0, 0, 1] });
	return { world, move: () => {
		world.setImpulses(new Float64Array(3 * world.contacts.length).fill(0.5));
		world.setMotions([crate], [...pose(0.9), 16, 0, 0.9, 0, 0, 0, 1]);
		world.setVertices(upper, world.getVertices(upper).map((x, i) => i % 3 === 2 ? x - 0.3 : x + 1e-3));
		world.setVertices(lower, world.getVertices(lower).map((x, i) => i % 3 === 2 ? x + 1.5 : x));
	} };
}

const { world, move } = makeWorld(carom), seen = {};
for (const name of lists)
	compare(world, name, seen); // before the first step: empty
world.step();
for (const name of lists)
	compare(world, name, seen);
move();
world.step();
for (const name of lists)
	compare(world, name, seen);
for (const name of lists)
	assert.ok(seen[name] > 0, `no ${name} to compare: ${JSON.stringify(seen)}`);
refuses(() => world.columns('contact'), /columns: list is "contact": it is one of "contacts", "pairs"/);
refuses(() => world.columns(), /list is undefined/);

// Detectors: two sheets, of which one falls onto the other and then stands across it.
const detected = {}, sweep = carom.createSweep(), proximity = carom.createProximity(), flat = sheet(6, 0), high = sheet(6, 0.3);
const across = high.vertices.map((x, i) => i % 3 === 2 ? high.vertices[i - 1] + 0.03 : x + 0.013 * (i % 3 + 1));
for (const detector of [sweep, proximity]) {
	detector.addMesh(flat.vertices, flat.triangles);
	detector.addMesh(high.vertices, high.triangles);
}
proximity.addShape({ type: 'sphere', radius: 0.5 }, { pose: [0, 0, -0.6, 0, 0, 0, 1] });
const looks = { find: (options) => sweep.find(options), findCandidates: (options) => sweep.findCandidates(0.5, options), findCrossings: (options) => sweep.findCrossings(options),
	findWaysApart: (options) => sweep.findWaysApart(options), pairs: (options) => proximity.find(0.4, options), shapePairs: (options) => proximity.search(0.4, options).shapePairs };
const compareLooks = () => Object.entries(looks).forEach(([name, look]) => compareLists(name, look(), look({ columns: true }), detected));
compareLooks();
sweep.moveMesh(1, across);
compareLooks();
for (const name of Object.keys(looks)) {
	assert.ok(detected[name] > 0, `no ${name} to compare: ${JSON.stringify(detected)}`);
	refuses(() => looks[name]({ column: true }), name === 'shapePairs' ? /^search: there is no setting column; there is columns/ : /^find\w*: there is no setting column; there is columns/);
	refuses(() => looks[name]({ columns: 1 }), /columns is 1; it must be true or false/);
}
const { crossing, along, edgeWay, triangleWay } = sweep.findWaysApart({ columns: true });
assert.ok(crossing.vertices.length === 2 * along.length && edgeWay.length === 3 * along.length && triangleWay.some((c) => c !== 0));

// Memory from 2 GiB on: what is taken after the first 2 GiB lies there. Nothing there is touched, so it costs nothing.
const large = await loadCarom();
large.exports.memory.grow(32768);
const far = large.allocate(64 << 20);
assert.ok(far > 2 ** 31, 'the memory lies above 2 GiB');
large.exports.cw_free(far);
const heights = new Float32Array(40000).map((x, i) => Math.sin(i)), [field, near] = [large, carom].map((library) => library.createHeightField(heights, 200));
assert.deepEqual(field.vertices, near.vertices);
assert.deepEqual(field.report, near.report);
const beyond = makeWorld(large), before = makeWorld(carom);
for (const each of [beyond, before]) {
	each.world.step();
	each.move();
	each.world.step();
}
assert.equal(beyond.world.hash, before.world.hash);
for (const name of lists)
	compare(beyond.world, name, {});
assert.throws(() => large.createMesh(corners, [0, 1, 99]), /triangle 0: corner 2 has index 99/);
assert.ok(large.loadMesh(field.save()).report.triangleCount > 0);
console.log(`columns of ${lists.length} lists are those of the objects: ${JSON.stringify(seen)}, of detectors ${JSON.stringify(detected)}`);
