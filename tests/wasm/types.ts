// Compiled by TypeScript, not run: what carom.d.ts must allow, and what it must refuse.
// Compiled with lib "dom" and without it, and with exactOptionalPropertyTypes (tests/cli/export_wasm.sh).
import { loadCarom, Carom, CaromError, Mesh, World, Contact, Separation, BodyId, WORDS } from "./carom";

declare const console: { log(...given: unknown[]): void };

async function use(bytes: Uint8Array): Promise<void> {
	const carom: Carom = await loadCarom(bytes);
	const mesh: Mesh = carom.createMesh(new Float32Array(9), [0, 1, 2], { build: "ploc", materials: [7], gridResolution: 0 });
	const loaded: Mesh = carom.loadMesh(mesh.save()), doubles: Float64Array | null = mesh.doubles;
	const contacts: Contact[] = carom.collide({ type: "mesh", mesh }, { type: "sphere", radius: 1 }, { poseB: [0, 0, 1, 0, 0, 0, 1], margin: 0.1 });
	const apart: Separation = carom.distance({ type: "mesh", mesh: loaded }, { type: "box", halfExtents: [1, 1, 1] });
	const depths: Float64Array = carom.manifolds({ type: "sphere", radius: 1 }, [], { type: "sphere", radius: 1 }, [], { margin: 1 }).points.depth;
	const near: number = mesh.closestPoint([0, 0, 1])?.distance ?? Infinity, triangles: Int32Array = mesh.castRays([], []).triangle;
	const words: readonly string[] = WORDS.TOI, world: World = carom.createWorld({ pairFilter: (a, b, one, two) => one !== two });
	const id = world.addBody({ shape: { type: "hull", mesh: carom.createHull([]) }, userData: 7n });
	world.addBody(world.getBody(id));
	const centred: Float64Array = carom.createMesh([], [], { centre: "auto" }).centre, spheres: BigUint64Array | null = world.getSphereIds(id);
	world.setSpheresById(id, [1n, 2], centred, null);
	world.setSpheresById(id, spheres ?? new BigUint64Array(2), [0, 0, 0, 1, 1, 1]);
	carom.createSpheres({ method: "grid", periodic: [true, false, false], period: [1, 1, 1] }).visitPairs([], [], (pairs: Uint32Array) => pairs.length < 9);
	carom.createProximity({ maxPairs: 9 }).addShape({ type: "sphere", radius: 1 }, { pose: [0, 0, 0, 0, 0, 0, 1], mask: 1 });
	carom.sweepTestPairs("edge-edge", [], [], { tolerance: 1e-6, vertices: [] }).time.fill(0);
	console.log(contacts[0].point[2], apart.normal, depths, near, triangles, words, doubles, id);
	const fixed = [1, 0] as const, limit: number | undefined = contacts[0]?.depth, list: readonly BodyId[] = world.bodyIds;
	world.isBody(fixed);
	world.setPoses(list, []);
	const rays = world.castRays([], [], { tMax: limit, filter: undefined });
	world.setPose(rays.body.subarray(0, 2), [0, 0, 0, 0, 0, 0, 1]);
	world.castRay([0, 0, 0], [0, 0, 1], { tMin: undefined, tMax: limit, filter: { ignore: fixed } });
	world.setTraits(id, { kind: undefined, sensor: true });
	carom.createWorld({ pairFilter: undefined, sweep: undefined });
	await loadCarom("carom.wasm");
	await loadCarom({ href: "https://example.org/carom.wasm" });
	const { point, impulse, materialA, bodyA, kind } = world.columns("contacts"), { userDataA } = world.columns("pairs"), { through, distance } = world.columns("surfaceContacts");
	const typed: [Float64Array, Float32Array, Uint32Array, Uint32Array, Int32Array, BigUint64Array, Uint8Array, Float64Array] = [point, impulse, materialA, bodyA, kind, userDataA, through, distance];
	console.log(typed, new CaromError("words", "invalid argument").code);
	const hits: Float64Array = carom.createSweep().find({ columns: true }).time, list2: number = carom.createSweep().find()[0].time, mass: number = carom.shapeMass({ type: "sphere" }).mass;
	const gaps: Float64Array = carom.createProximity().find(1, { columns: true }).distance, kinds: Int32Array = carom.createProximity().search(1, { columns: true }).pairs.kind;
	const corners: Int32Array = carom.createSweep().findWaysApart({ columns: true }).crossing.vertices, inertia: number[] = carom.partsMass([{ type: "box", userData: 1 }]).inertia;
	world[Symbol.dispose]();
	console.log(hits, list2, gaps, kinds, corners, mass, inertia);
	// @ts-expect-error: there is no such list
	world.columns("contact");
	// @ts-expect-error: createMesh makes one
	new Mesh();
	// @ts-expect-error: loadCarom makes one
	new Carom();
	// @ts-expect-error: no class of that name is exported
	type None = import("./carom").Handle;
	// @ts-expect-error: nor this one
	type Nothing = import("./carom").Surfaces;
	// @ts-expect-error: no such way to build trees
	carom.createMesh([], [], { build: "fast" });
	// @ts-expect-error: there may be no such point
	mesh.closestPoint([0, 0, 1]).distance;
	// @ts-expect-error: a shape has a type
	carom.distance({ radius: 1 }, { type: "sphere" });
	// @ts-expect-error: results are read only
	world.contacts = [];
	// @ts-expect-error: a manifold has no depth of its own
	carom.manifold({ type: "sphere" }, { type: "sphere" }).depth;
}

use(new Uint8Array(0));
