// Carom in JavaScript: meshes, worlds, queries, impacts, features near each other, spheres. Numbers go in and out as arrays; every array
// that is returned is a copy. One thread: use it in a worker where steps take long. README.md has examples, carom.d.ts the types.

const SHAPES = ["sphere", "box", "capsule", "plane", "mesh", "hull", "cylinder", "cone", "ellipsoid"];
const KINDS = ["static", "kinematic", "dynamic"];
const SETTINGS = ["broadPhase", "maxContactsPerPair", "speculativeDistance", "matchDistance", "temporal", "contactNormal", "internalEdgeAngle",
	"toiTolerance"];
const SETTING_WORDS = { broadPhase: ["tree", "sweep"], temporal: ["none", "iterative", "predictive"], contactNormal: ["ray", "triangle", "patch"] };
const SHAPE_NUMBERS = 15, CONTACT_NUMBERS = 16, HIT_NUMBERS = 16, NEAR_NUMBERS = 20;

/** A call that failed: the message names the argument, `code` is the name of the result ("invalid argument"). */
export class CaromError extends Error {
	constructor(message, code) {
		super(message);
		this.name = "CaromError";
		this.code = code;
	}
}

/** What the module asks of WASI: the clock, and output that the library never makes. */
function wasiShim(memory) {
	const calls = {
		clock_time_get: (id, precision, to) => {
			new DataView(memory().buffer).setBigUint64(to, BigInt(Math.round((globalThis.performance ? performance.now() : Date.now()) * 1e6)), true);
			return 0;
		},
		proc_exit: (code) => { throw new CaromError(`the module ended with ${code}`, "aborted"); },
		sched_yield: () => 0,
	};
	return new Proxy({}, { get: (target, name) => calls[name] || (() => 52) }); // 52: not supported
}

/** The bytes of the module beside this file, in Node and in browsers. */
async function ownBytes() {
	const url = new URL("carom.wasm", import.meta.url);
	if (url.protocol === "file:" && typeof process !== "undefined" && process.versions && process.versions.node)
		return (await import("node:fs/promises")).readFile(url);
	const answer = await fetch(url);
	if (!answer.ok)
		throw new CaromError(`carom.wasm: ${answer.status} ${answer.statusText}`, "not found");
	return answer.arrayBuffer();
}

/** Load the library. module: bytes, or a WebAssembly.Module; left out: carom.wasm beside this file. */
export async function loadCarom(module) {
	const source = module === undefined ? await ownBytes() : module;
	const compiled = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source);
	let instance = null;
	instance = await WebAssembly.instantiate(compiled, { wasi_snapshot_preview1: wasiShim(() => instance.exports.memory) });
	return new Carom(instance.exports);
}

/** Objects of the module are freed by destroy(); those that are forgotten are freed with their last reference. */
const forgotten = typeof FinalizationRegistry === "undefined" ? null : new FinalizationRegistry((free) => free());

class Handle {
	constructor(carom, pointer, free) {
		this.carom = carom;
		this.pointer = pointer;
		this.free = () => free(pointer);
		if (forgotten)
			forgotten.register(this, this.free, this);
	}

	/** Free it. It cannot be used afterwards; a second call does nothing. */
	destroy() {
		if (this.pointer) {
			if (forgotten)
				forgotten.unregister(this);
			this.free();
		}
		this.pointer = 0;
	}

	get address() {
		if (!this.pointer)
			throw new CaromError(`this ${this.constructor.name} was destroyed`, "invalid argument");
		return this.pointer;
	}
}

export class Carom {
	constructor(exports) {
		this.exports = exports;
		if (exports._initialize)
			exports._initialize();
		this.check(exports.cw_start());
	}

	get version() {
		const number = this.exports.cw_version();
		return `${Math.floor(number / 10000)}.${Math.floor(number / 100) % 100}.${number % 100}`;
	}

	/** Bytes that all objects hold. */
	get memoryInUse() { return this.exports.cw_memory(); }

	text(address) {
		const bytes = new Uint8Array(this.exports.memory.buffer);
		return new TextDecoder().decode(bytes.slice(address, bytes.indexOf(0, address)));
	}

	check(result) {
		if (result)
			throw new CaromError(this.text(this.exports.cw_error()), this.text(this.exports.cw_result_name(result)));
	}

	/** Call work(put, room, read) with memory of the module that is freed behind it. */
	scratch(work) {
		const all = [], allocate = (size) => {
			const pointer = this.exports.cw_allocate(size);
			if (!pointer)
				throw new CaromError(`out of memory: ${size} bytes`, "out of memory");
			all.push(pointer);
			return pointer;
		};
		const put = (numbers, Type) => {
			const array = numbers instanceof Type ? numbers : Type.from(numbers), pointer = allocate(array.byteLength);
			new Type(this.exports.memory.buffer, pointer, array.length).set(array);
			return pointer;
		};
		const read = (pointer, Type, count) => new Type(this.exports.memory.buffer, pointer, count).slice();
		try {
			return work(put, allocate, read);
		} finally {
			all.forEach((pointer) => this.exports.cw_free(pointer));
		}
	}

	/** Make an object: call(pointer to its pointer, put) returns a result. */
	make(Class, free, call) {
		return this.scratch((put, allocate, read) => {
			const place = put([0], Uint32Array);
			this.check(call(place, put));
			return new Class(this, read(place, Uint32Array, 1)[0], free);
		});
	}

	/** A mesh of vertices [3n] (Float32Array, or numbers, which are taken as doubles) and corners [3m]. */
	createMesh(vertices, triangles, { sides = "auto" } = {}) {
		const wide = !(vertices instanceof Float32Array);
		return this.make(Mesh, (pointer) => this.exports.cw_release_mesh(pointer), (place, put) => this.exports.cw_create_mesh(
			put(vertices, wide ? Float64Array : Float32Array), wide ? 1 : 0, vertices.length / 3, put(triangles, Int32Array), triangles.length / 3,
			word(["auto", "front", "both"], sides, "sides"), place));
	}

	/** The convex hull of points [3n]. */
	createHull(points) {
		const wide = !(points instanceof Float32Array);
		return this.make(Mesh, (pointer) => this.exports.cw_release_mesh(pointer), (place, put) =>
			this.exports.cw_create_hull(put(points, wide ? Float64Array : Float32Array), wide ? 1 : 0, points.length / 3, place));
	}

	createWorld(settings = {}) {
		return this.make(World, (pointer) => this.exports.cw_destroy_world(pointer), (place, put) => this.exports.cw_create_world(put(this.settings(settings), Float64Array), place));
	}

	settings(given) {
		for (const name of Object.keys(given)) {
			if (!SETTINGS.includes(name))
				throw new CaromError(`createWorld: there is no setting ${name}`, "invalid argument");
		}
		const defaults = this.scratch((put, allocate, read) => {
			const place = allocate(64);
			this.exports.cw_default_settings(place);
			return read(place, Float64Array, 8);
		});
		return defaults.map((value, i) => {
			const name = SETTINGS[i], wanted = given[name];
			if (wanted === undefined)
				return value;
			return typeof wanted === "string" ? word(SETTING_WORDS[name] || [], wanted, name) : wanted;
		});
	}

	/** Impacts of meshes whose vertices move on straight lines. */
	createSweep({ minSeparation = 0 } = {}) {
		return this.make(Sweep, (pointer) => this.exports.cw_destroy_sweep(pointer), (place) => this.exports.cw_create_sweep(minSeparation, place));
	}

	/** Features nearer than a distance. */
	createProximity() {
		return this.make(Proximity, (pointer) => this.exports.cw_destroy_proximity(pointer), (place) => this.exports.cw_create_proximity(place));
	}

	/** Touching pairs of spheres. */
	createSpheres() {
		return this.make(Spheres, (pointer) => this.exports.cw_destroy_spheres(pointer), (place) => this.exports.cw_create_spheres(place));
	}

	/** Nearest points of two meshes at poses (7 numbers each; left out: the identity). null: further than maxDistance. */
	meshDistance(a, b, { poseA = IDENTITY, poseB = IDENTITY, maxDistance = Infinity } = {}) {
		return this.scratch((put, allocate, read) => {
			const to = allocate(8 * 12);
			this.check(this.exports.cw_mesh_distance(a.address, put(poseA, Float64Array), b.address, put(poseB, Float64Array), maxDistance, to));
			const n = read(to, Float64Array, 12);
			return n[0] ? { distance: n[1], onA: [...n.slice(2, 5)], onB: [...n.slice(5, 8)], triangleA: n[8], triangleB: n[9], aInsideB: !!n[10], bInsideA: !!n[11] } : null;
		});
	}
}

const IDENTITY = [0, 0, 0, 0, 0, 0, 1];

function word(words, wanted, what) {
	const number = words.indexOf(wanted);
	if (number < 0)
		throw new CaromError(`${what} is "${wanted}": it is one of ${words.map((w) => `"${w}"`).join(", ")}`, "invalid argument");
	return number;
}

export class Mesh extends Handle {
	get report() {
		return this.carom.scratch((put, allocate, read) => {
			const to = allocate(8 * 14);
			this.carom.exports.cw_mesh_report(this.address, to);
			const n = read(to, Float64Array, 14);
			return { vertexCount: n[0], triangleCount: n[1], closed: !!n[2], usable: !!n[3], components: n[4], borderEdges: n[5], volume: n[6], area: n[7],
				lower: [...n.slice(8, 11)], upper: [...n.slice(11, 14)] };
		});
	}
}

/** The numbers of a shape as the module takes them. */
function shapeNumbers(shape) {
	const type = word(SHAPES, shape.type, "shape.type"), half = shape.halfExtents || [0, 0, 0];
	if ((shape.type === "mesh" || shape.type === "hull") && !(shape.mesh instanceof Mesh))
		throw new CaromError(`a shape of type "${shape.type}" needs a mesh`, "invalid argument");
	return [type, shape.mesh ? shape.mesh.address : 0, shape.radius || 0, shape.halfLength || 0, ...half, shape.rounding || 0, ...(shape.pose || IDENTITY)];
}

export class World extends Handle {
	/**
	 * Add a body: { shape } or { parts: [shape with pose, ...] }, kind ("dynamic"), pose (position and quaternion x y z w, seven numbers),
	 * sensor, continuous, group. Returns its id, [index, generation]; results name the index.
	 */
	addBody({ shape, parts, kind = "dynamic", pose = IDENTITY, sensor = false, continuous = false, group = 0 }) {
		const list = parts || [shape];
		if (!list[0])
			throw new CaromError("addBody: a shape, or parts, are missing", "invalid argument");
		return this.carom.scratch((put, allocate, read) => {
			const id = allocate(8);
			this.carom.check(this.carom.exports.cw_add_body(this.address, word(KINDS, kind, "kind"), put(list.flatMap(shapeNumbers), Float64Array), list.length,
				parts ? 1 : 0, put(pose, Float64Array), (sensor ? 1 : 0) | (continuous ? 2 : 0), group, id));
			return [...read(id, Uint32Array, 2)];
		});
	}

	removeBody(id) { this.carom.check(this.carom.exports.cw_remove_body(this.address, id[0], id[1])); }

	setPose(id, pose) { this.setPoses([id], pose); }

	/** Poses [7n] of n bodies, at once. */
	setPoses(ids, poses) {
		if (poses.length !== 7 * ids.length)
			throw new CaromError(`setPoses: ${ids.length} bodies have ${7 * ids.length} numbers, not ${poses.length}`, "invalid argument");
		this.carom.scratch((put) => this.carom.check(this.carom.exports.cw_set_poses(this.address, ids.length, put(ids.flat(), Uint32Array), put(poses, Float64Array))));
	}

	getPose(id) {
		return this.carom.scratch((put, allocate, read) => {
			const to = allocate(56);
			this.carom.check(this.carom.exports.cw_get_pose(this.address, id[0], id[1], to));
			return [...read(to, Float64Array, 7)];
		});
	}

	/** Find all contacts of the bodies as they are. */
	step() { this.carom.check(this.carom.exports.cw_step(this.address)); }

	/** Contacts of the last step. a, b are indices of bodies, a < b; the normal takes a out of b. */
	get contacts() {
		const n = this.contactNumbers, list = [];
		for (let i = 0; i < n.length; i += CONTACT_NUMBERS)
			list.push({ a: n[i], b: n[i + 1], point: [n[i + 2], n[i + 3], n[i + 4]], normal: [n[i + 5], n[i + 6], n[i + 7]], depth: n[i + 8], featureA: n[i + 9],
				featureB: n[i + 10], kind: n[i + 11], partA: n[i + 12], partB: n[i + 13], age: n[i + 14], pair: n[i + 15] });
		return list;
	}

	/** Contacts as numbers, 16 of each in the order of `contacts`: quicker where there are many. */
	get contactNumbers() {
		const count = this.carom.exports.cw_contact_count(this.address);
		return this.carom.scratch((put, allocate, read) => {
			const to = allocate(8 * CONTACT_NUMBERS * count);
			this.carom.exports.cw_get_contacts(this.address, to);
			return read(to, Float64Array, CONTACT_NUMBERS * count);
		});
	}

	/** 16 hexadecimal digits; equal for equal contacts, on every machine. */
	get contactHash() {
		return this.carom.scratch((put, allocate, read) => {
			const to = allocate(8);
			this.carom.exports.cw_hash_contacts(this.address, to);
			return read(to, BigUint64Array, 1)[0].toString(16).padStart(16, "0");
		});
	}

	/** Pairs in contact: { a, b, firstContact, contactCount }. */
	get pairs() {
		const count = this.carom.exports.cw_pair_count(this.address);
		return this.carom.scratch((put, allocate, read) => {
			const to = allocate(16 * count), list = [];
			this.carom.exports.cw_get_pairs(this.address, to);
			const n = read(to, Int32Array, 4 * count);
			for (let i = 0; i < n.length; i += 4)
				list.push({ a: n[i], b: n[i + 1], firstContact: n[i + 2], contactCount: n[i + 3] });
			return list;
		});
	}

	/** The first hit of a ray, or null. */
	castRay(origin, direction, { tMin = 0, tMax = Infinity } = {}) {
		return this.carom.scratch((put, allocate, read) => {
			const to = allocate(8 * 13);
			this.carom.check(this.carom.exports.cw_cast_ray(this.address, put([...origin, ...direction, tMin, tMax], Float64Array), to));
			const n = read(to, Float64Array, 13);
			return n[0] ? { body: [n[1], n[2]], t: n[3], point: [...n.slice(4, 7)], normal: [...n.slice(7, 10)], triangle: n[10], part: n[11], backFace: !!n[12] } : null;
		});
	}

	/** The nearest point of all bodies, or null; its distance is negative inside of a body. */
	closestPoint(point, maxDistance = Infinity) {
		return this.carom.scratch((put, allocate, read) => {
			const to = allocate(8 * 12);
			this.carom.check(this.carom.exports.cw_closest_point(this.address, ...point, maxDistance, to));
			const n = read(to, Float64Array, 12);
			return n[0] ? { body: [n[1], n[2]], point: [...n.slice(3, 6)], normal: [...n.slice(6, 9)], distance: n[9], triangle: n[10], part: n[11] } : null;
		});
	}

	/** Ids of the bodies whose boxes overlap a box. */
	overlapBox(lower, upper) {
		return this.listBodies((put, capacity, ids, count) => this.carom.exports.cw_overlap_box(this.address, put([...lower, ...upper], Float64Array), capacity, ids, count));
	}

	/** Ids of the bodies that a shape at a pose overlaps. */
	overlapShape(shape, pose = IDENTITY) {
		return this.listBodies((put, capacity, ids, count) =>
			this.carom.exports.cw_overlap_shape(this.address, put(shapeNumbers(shape), Float64Array), put(pose, Float64Array), capacity, ids, count));
	}

	listBodies(call) {
		for (let capacity = 64;;) {
			const found = this.carom.scratch((put, allocate, read) => {
				const ids = allocate(8 * capacity), count = put([0], Int32Array);
				this.carom.check(call(put, capacity, ids, count));
				const n = read(count, Int32Array, 1)[0], words = read(ids, Uint32Array, 2 * Math.min(n, capacity)), list = [];
				for (let i = 0; i < words.length; i += 2)
					list.push([words[i], words[i + 1]]);
				return { n, list };
			});
			if (found.n <= capacity)
				return found.list;
			capacity = found.n;
		}
	}
}

/** Records that a call of the module allocates: an array of doubles. */
function readRecords(carom, numbers, call) {
	return carom.scratch((put, allocate, read) => {
		const place = put([0, 0], Uint32Array);
		const result = call(place, place + 4), [pointer, count] = read(place, Uint32Array, 2);
		try {
			carom.check(result);
			return read(pointer, Float64Array, numbers * count);
		} finally {
			carom.exports.cw_free(pointer);
		}
	});
}

const FEATURES = ["vertex-face", "edge-edge"];

/** A set of meshes that deform: what sweeps and proximity share. */
class Surfaces extends Handle {
	/** Add a mesh: vertices [3n], corners [3m]. self: does it meet itself? Returns its number. */
	addMesh(vertices, triangles, { self = true } = {}) {
		return this.carom.scratch((put, allocate, read) => {
			const number = put([0], Int32Array);
			this.carom.check(this.addFunction(this.address, put(vertices, Float64Array), vertices.length / 3, put(triangles, Int32Array), triangles.length / 3, self ? 1 : 0, number));
			(this.counts = this.counts || []).push(vertices.length);
			return read(number, Int32Array, 1)[0];
		});
	}

	place(call, mesh, vertices) {
		const count = this.counts && this.counts[mesh];
		if (count !== vertices.length)
			throw new CaromError(`mesh ${mesh} has ${count === undefined ? "not been added" : `${count} coordinates, not ${vertices.length}`}`, "invalid argument");
		this.carom.scratch((put) => this.carom.check(call(this.address, mesh, put(vertices, Float64Array))));
	}
}

export class Sweep extends Surfaces {
	get addFunction() { return this.carom.exports.cw_sweep_add_mesh; }

	/** Where the vertices of a mesh are at the end of the step; what was the end becomes the beginning. */
	moveMesh(mesh, vertices) { this.place(this.carom.exports.cw_sweep_move, mesh, vertices); }

	/** All impacts of the step. */
	find() {
		const n = readRecords(this.carom, HIT_NUMBERS, (to, count) => this.carom.exports.cw_sweep_find(this.address, to, count)), list = [];
		for (let i = 0; i < n.length; i += HIT_NUMBERS)
			list.push({ kind: FEATURES[n[i]], status: ["impact", "touching", "undecided"][n[i + 1]], meshA: n[i + 2], meshB: n[i + 3], vertices: [...n.slice(i + 4, i + 8)],
				time: n[i + 8], weights: [...n.slice(i + 9, i + 13)], normal: [...n.slice(i + 13, i + 16)] });
		return list;
	}
}

export class Proximity extends Surfaces {
	get addFunction() { return this.carom.exports.cw_proximity_add_mesh; }

	placeMesh(mesh, vertices) { this.place(this.carom.exports.cw_proximity_place, mesh, vertices); }

	/** All pairs of a vertex and a face, and of two edges, that are nearer than a distance. */
	find(distance) {
		const n = readRecords(this.carom, NEAR_NUMBERS, (to, count) => this.carom.exports.cw_proximity_find(this.address, distance, to, count)), list = [];
		for (let i = 0; i < n.length; i += NEAR_NUMBERS)
			list.push({ kind: FEATURES[n[i]], type: ["vertex-vertex", "vertex-edge", "vertex-face", "edge-edge"][n[i + 1]], meshA: n[i + 2], meshB: n[i + 3],
				vertices: [...n.slice(i + 4, i + 8)], weights: [...n.slice(i + 8, i + 12)], pointA: [...n.slice(i + 12, i + 15)], pointB: [...n.slice(i + 15, i + 18)],
				distance: Math.sqrt(n[i + 18]), gap: n[i + 19] });
		return list;
	}
}

export class Spheres extends Handle {
	/** Touching pairs: a Uint32Array of numbers a0, b0, a1, b1, ... with a < b. centres [3n], radii [n]. */
	findPairs(centres, radii) {
		if (centres.length !== 3 * radii.length)
			throw new CaromError(`findPairs: ${radii.length} radii, and ${centres.length} coordinates`, "invalid argument");
		return this.carom.scratch((put, allocate, read) => {
			const place = put([0, 0], Uint32Array);
			this.carom.check(this.carom.exports.cw_spheres_find(this.address, put(centres, Float64Array), put(radii, Float64Array), radii.length, place, place + 4));
			const [pointer, count] = read(place, Uint32Array, 2);
			return read(pointer, Uint32Array, 2 * count);
		});
	}
}
