// Carom in JavaScript: meshes, shapes, worlds, queries, snapshots, recordings, impacts, features near each other, spheres. Numbers go in and out as
// arrays; every array that is returned is a copy. One thread: use it in a worker where steps take long. README.md has examples, carom.d.ts the types.

// ---- Records ----
//
// The module hands records over as they lie in its memory (32 bits, natural alignment). A layout lists the members of a C struct in order,
// as name:type, or name=other:type where JavaScript has another name. Types are i32, u32, i64, u64 (a bigint), f32, f64, bool, size, ptr, id (of
// a body), text (a pointer to one), chars*N, a word of WORDS in capitals, a struct of LAYOUTS, and NAME*N for arrays. A member with - before it is
// not for the user. tests/wasm/package.mjs compares all of it with the headers.

export const WORDS = {
	SHAPE: ["sphere", "box", "capsule", "plane", "mesh", "hull", "cylinder", "cone", "ellipsoid"],
	KIND: ["static", "kinematic", "dynamic", "deformable", "cloth", "granular"],
	SIDES: ["auto", "front", "both", "container"],
	BROAD: ["tree", "sweep"],
	TEMPORAL: ["none", "iterative", "predictive"],
	NORMAL: ["ray", "triangle", "patch"],
	CONTACT: ["vertex-a", "vertex-b", "edge-a", "edge-b", "faces", "volumes", "edges"],
	EVENT: ["begin", "persist", "end"],
	FEATURES: ["vertex-face", "edge-edge"],
	IMPACT: ["impact", "touching", "undecided"],
	TOI: ["apart", "impact", "touching", "undecided"],
	NEAR: ["vertex-vertex", "vertex-edge", "vertex-face", "edge-edge"],
	FEATURE: ["face", "edge", "vertex"],
	METHOD: ["auto", "front", "bvh"],
	VOLUME: ["dop18", "aabb"],
	BUILD: ["median", "sah"],
	TEST: ["certified", "inclusion"],
	TREES: ["sah", "hlbvh", "lbvh", "trbvh", "ploc"],
	SPHERES: ["auto", "grid", "levels", "tree", "rays"],
	UPKEEP: ["auto", "rebuild", "refit", "interval", "quality"],
};

export const LAYOUTS = {
	mesh_report: `vertex_count:i32 triangle_count:i32 nonfinite_vertices:i32 huge_vertices:i32 out_of_range_triangles:i32 degenerate_triangles:i32
		duplicate_triangles:i32 unreferenced_vertices:i32 duplicate_vertices:i32 rounded_vertices:i32 rounding:f64 border_edges:i32
		nonmanifold_edges:i32 inconsistent_edges:i32 unbalanced_edges:i32 nonmanifold_vertices:i32 normalless_vertices:i32 components:i32 euler:i32
		closed:bool inverted:bool usable:bool volume:f64 area:f64 lower:f64*3 upper:f64*3 first_element:i32 first_finding:chars*160`,
	triangle_point: "point:f64*3 weights:f64*3 feature:FEATURE number:i32",
	mesh_gap: "distance:f64 on_a:triangle_point on_b:triangle_point triangle_a:i32 triangle_b:i32 a_inside_b:bool b_inside_a:bool",
	shape: "type:SHAPE radius:f64 half_length:f64 half_extents:f64*3 -mesh:ptr rounding:f64",
	part: "-shape:shape pose:f64*7 user_data:u64",
	strided: "-data:ptr -stride:i64 -type:i32",
	sweep_def: `-cookie:i32 method:METHOD volume:VOLUME build:BUILD test:TEST tolerance:f64 min_separation:f64
		relative_separation:f64 max_hits:i64 orphan_sets:bool prune_front:bool
		rebuild_sprouted:f64 rebuild_replaced:f64 front_budget:size -lab:ptr -device:ptr -device_fallback:bool`,
	world_def: `-cookie:i32 broad_phase:BROAD max_contacts_per_pair:i32 speculative_distance:f64 match_distance:f64 temporal:TEMPORAL
		contact_normal:NORMAL internal_edge_angle:f64 long_edge_share:f64 -pair_filter:ptr -contact_filter:ptr -filter_user:ptr sweep:sweep_def toi_tolerance:f64
		memory_budget:size -lab:ptr`,
	body_def: `-cookie:i32 -shape:shape -parts:ptr -part_count:i32 part_room:i32 kind:KIND -sphere_count:i32 -centres:strided -radii:strided pose:f64*7 category:u64
		mask:u64 group:i32 sensor:bool self_collision:bool continuous:bool shape_impacts:bool contacts:bool thickness:f64 user_data:u64`,
	contact: `body_a:id body_b:id point:f64*3 normal:f32*3 depth:f32 feature_a:i32 feature_b:i32 kind:CONTACT age:i32 impulse:f32*3 pair:i32
		material_a:u32 material_b:u32 shape_a=part_a:i32 shape_b=part_b:i32`,
	pair: `body_a:id body_b:id user_data_a:u64 user_data_b:u64 first_contact:i32 contact_count:i32 found_count:i32 age:i32 user_data:u64
		shape_a=part_a:i32 shape_b=part_b:i32 first_surface_contact:i32 surface_contact_count:i32 first_surface_shape_contact:i32
		surface_shape_contact_count:i32 first_sphere_contact:i32 sphere_contact_count:i32 sphere_group:i32 body_pair:i32`,
	event: "body_a:id body_b:id user_data_a:u64 user_data_b:u64 kind:EVENT pair:i32 pair_data:u64 shape_a=part_a:i32 shape_b=part_b:i32",
	body_pair: `body_a:id body_b:id user_data_a:u64 user_data_b:u64 first_pair:i32 pair_count:i32 first_contact:i32 contact_count:i32 found_count:i32
		age:i32 user_data:u64`,
	body_event: "body_a:id body_b:id user_data_a:u64 user_data_b:u64 kind:EVENT body_pair:i32 pair_data:u64",
	impact: `body_a:id body_b:id kind:FEATURES status:IMPACT vertices:i32*4 triangle:i32 time:f64 weight=weights:f64*4 normal:f64*3
		shape_a=part_a:i32 shape_b=part_b:i32`,
	shape_impact: `body_a:id body_b:id user_data_a:u64 user_data_b:u64 shape_b=part_b:i32 status:TOI vertices:i32*3 triangle:i32 time:f64
		weight=weights:f64*3 point:f64*3 normal:f64*3 distance:f64`,
	body_impact: `body_a:id body_b:id user_data_a:u64 user_data_b:u64 shape_a=part_a:i32 shape_b=part_b:i32 status:TOI sensor:bool time:f64
		distance:f64 point:f64*3 normal:f64*3 triangle_a:i32 triangle_b:i32`,
	surface_contact: `body_a:id body_b:id user_data_a:u64 user_data_b:u64 shape_a=part_a:i32 shape_b=part_b:i32 kind:FEATURES vertices:i32*4
		triangle:i32 side:i32 through:bool led:bool age:i32 pair:i32 impulse:f32*3 weight=weights:f64*4 point_a:f64*3 point_b:f64*3 normal:f64*3 distance:f64 thickness:f64`,
	surface_shape_contact: `body_a:id body_b:id user_data_a:u64 user_data_b:u64 shape_b=part_b:i32 vertices:i32*3 triangle:i32 led:bool age:i32
		pair:i32 impulse:f32*3 weight=weights:f64*3 point:f64*3 normal:f64*3 distance:f64 thickness:f64`,
	sphere_contact: `body_a:id body_b:id user_data_a:u64 user_data_b:u64 sphere:i32 shape_b=part_b:i32 triangle:i32 material_b:u32
		weight=weights:f64*3 point:f64*3 normal:f64*3 depth:f64 age:i32 pair:i32 impulse:f32*3`,
	sphere_group: "body_a:id body_b:id user_data_a:u64 user_data_b:u64 first_pair:i64 pair_count:i64 pair:i32",
	sphere_pair: "a:u32 b:u32",
	stats: `step:i64 bodies:i32 box_pairs:i32 narrow_pairs:i32 colliding_pairs:i32 surface_pairs:i32 granular_pairs:i32 contacts_found:i64 contacts:i32 vertices_tested:i64
		vertices_culled:i64 rays_full:i64 rays_outward:i64 rays_iterative:i64 rays_predictive:i64 rays_lost:i64 rays_recast:i64 rays_on_device:i64 walks_on_device:i64
		rays_returned:i64 tests_on_device:i64 tests_returned:i64 near_on_device:i64 near_returned:i64 device_fallbacks:i32 rays_missed:i64 walk_steps:i64 backtracks:i32 pairs_full:i32 pairs_iterative:i32 pairs_apart:i32
		vertices_watched:i64 pairs_completed:i32 pairs_crossing:i32 triangle_tests:i64 impacts:i64 body_impacts:i32 toi_tests:i64
		shape_impacts:i64 shape_toi_tests:i64 surface_contacts:i64 sphere_contacts:i64 sphere_pairs:i64 ms_total:f64 ms_trees:f64 ms_pair:f64
		ms_vertex:f64 ms_ray:f64 ms_complete:f64 ms_merge:f64 ms_sweep:f64 ms_surface:f64 ms_spheres:f64 memory:size memory_peak:size
		scratch_peak:size`,
	ray_hit: "body:id t:f64 point:f64*3 normal:f64*3 triangle:i32 u:f32 v:f32 back_face:bool shape=part:i32 material:u32 user_data:u64",
	closest_point: "body:id point:f64*3 normal:f64*3 distance:f64 triangle:i32 shape=part:i32 material:u32 user_data:u64",
	replay_result: "steps:i64 first_difference:i64 hash:u64",
	snapshot_difference: "list:text field:text index:i64 body:id",
	sweep_hit: "kind:FEATURES status:IMPACT mesh_a:i32 mesh_b:i32 vertices:i32*4 triangle:i32 time:f64 weight=weights:f64*4 normal:f64*3",
	proximity_pair: `kind:FEATURES type:NEAR mesh_a:i32 mesh_b:i32 vertices:i32*4 triangle:i32 weight=weights:f64*4 point_a:f64*3 point_b:f64*3
		distance2:f64 gap:f64`,
	query_filter: "category:u64 mask:u64 skip_sensors:bool skip_separating:bool skip_back_faces:bool ignore:id -body_filter:ptr -filter_user:ptr",
	batch: "-count:i64 -filter:ptr -ignore:ptr -results:ptr",
	placed_shape: "-shape:ptr pose:f64*7",
	shape_cast: "-shape:ptr -motion:f64*14",
	shape_hit: `body:id shape=part:i32 time:f64 touching:bool distance:f64 point:f64*3 normal:f64*3 triangle:i32 own_triangle:i32 own_shape=own_part:i32 undecided:bool
		material:u32 own_material:u32 user_data:u64`,
	closest_body: "body:id shape=part:i32 distance:f64 normal:f64*3 on_shape:f64*3 on_body:f64*3 user_data:u64",
	closest_pair: "body_a:id body_b:id shape_a=part_a:i32 shape_b=part_b:i32 distance:f64 normal:f64*3 on_a:f64*3 on_b:f64*3 user_data_a:u64 user_data_b:u64",
	mesh_def: `-cookie:i32 -vertices:strided -vertex_count:i32 -triangles:ptr -triangle_count:i32 grid_resolution:i32 sides:SIDES -materials:ptr
		build:TREES weld_distance:f64 centre:f64*3`,
	field_region: "first_column:i32 first_row:i32 columns:i32 rows:i32",
	mass: "mass:f64 centre:f64*3 inertia:f64*6",
	tree_info: "binary_nodes:i32 wide_nodes:i32 depth:i32 sah_cost:f64 epo:f64 bytes:size grid_cells:i32",
	mesh_point: "point:f64*3 normal:f64*3 distance:f64 triangle:i32 weights:f64*3 feature:FEATURE number:i32",
	separation: "distance:f64 error:f64 normal:f64*3 point_a:f64*3 point_b:f64*3",
	manifold_point: "point:f64*3 depth:f64",
	manifold: "normal:f64*3 count:i32 points:manifold_point*8",
	toi: "status:TOI time:f64 separation:separation steps:i32 triangle_a:i32 triangle_b:i32",
	shape_pair: "-a:ptr -b:ptr pose_a:f64*7 pose_b:f64*7",
	motion_pair: "-a:ptr -b:ptr motion_a:f64*14 motion_b:f64*14",
	elements: "-count:i64 -positions:ptr -vertex_count:i32 -vertices:ptr",
	edge_point: "point:f64*3 t:f64 feature:FEATURE number:i32",
	sweep_mesh_def: `-cookie:i32 -vertex_count:i32 -triangles:ptr -triangle_count:i32 -vertices:strided self:bool is_rigid:bool category:u64
		mask:u64 group:i32 thickness:f64`,
	sweep_stats: `vertices:i64 edges:i64 triangles:i64 nodes:i64 volume_tests:i64 front:i64 front_kept:i64 front_sprouted:i64 front_pruned:i64
		front_rebuilt:bool front_over_budget:bool leaf_pairs:i64 adjacent_pairs:i64 orphans_vf:i64 orphans_ee:i64 tests_vf:i64 tests_ee:i64 filtered:i64
		-device_left:i64 -device_fallbacks:i64 hits_vf:i64 hits_ee:i64 undecided:i64 ms_total:f64 ms_trees:f64 ms_front:f64 ms_tests:f64 ms_orphans:f64
		ms_sort:f64 bytes:size bytes_front:size bytes_peak:size`,
	proximity_def: "-cookie:i32 method:METHOD front_budget:size max_pairs:i64 -device:ptr -device_fallback:bool",
	proximity_shape_def: "-cookie:i32 -shape:shape pose:f64*7 category:u64 mask:u64 group:i32",
	proximity_shape_pair: "shape:i32 mesh:i32 vertices:i32*3 triangle:i32 weight=weights:f64*3 point:f64*3 normal:f64*3 gap:f64",
	spheres_def: `-cookie:i32 method:SPHERES skin:f64 upkeep:UPKEEP rebuild_interval:i32 max_cost_growth:f64 periodic:bool*3 period:f64*3
		memory_budget:size -device:ptr -device_fallback:bool`,
	sphere_stats: `count:i64 -ghosts:i64 images:i64 pairs:i64 tests:i64 method:SPHERES kept:bool refitted:bool updates:i64 list_builds:i64 tree_builds:i64
		tree_cost:f64 skin:f64 ms_update:f64 ms_find:f64 ms_sort:f64 bytes:size bytes_lists:size bytes_peak:size -device_fallbacks:i64`,
	contact_corners: "count:i32 vertices:i32*3 weights:f64*3",
	sweep_candidate: "kind:FEATURES mesh_a:i32 mesh_b:i32 vertices:i32*4 triangle:i32",
	sweep_crossing: "mesh_a:i32 mesh_b:i32 vertices:i32*2 triangle:i32",
	sweep_way_apart: "crossing:sweep_crossing point:f64*3 along:f64 weights:f64*3 edge_way:f64*3 triangle_way:f64*3",
	crossing: "body_a:id body_b:id shape_a=part_a:i32 shape_b=part_b:i32 triangle_a:i32 triangle_b:i32 user_data_a:u64 user_data_b:u64",
	velocity_rays: "max_distance:f64 relative:bool every:i32",
	velocity_hit: "body:id shape=part:i32 vertex:i32 triangle:i32 behind:bool weights:f64*3 distance:f64 point:f64*3 normal:f64*3 user_data:u64",
};

/** Bytes of each type, and how a DataView reads and writes it. */
const TYPES = {
	bool: [1, (v, at) => v.getUint8(at) !== 0, (v, at, x) => v.setUint8(at, x ? 1 : 0)],
	i32: [4, (v, at) => v.getInt32(at, true), (v, at, x) => v.setInt32(at, x, true)],
	u32: [4, (v, at) => v.getUint32(at, true), (v, at, x) => v.setUint32(at, x, true)],
	f32: [4, (v, at) => v.getFloat32(at, true)],
	f64: [8, (v, at) => v.getFloat64(at, true), (v, at, x) => v.setFloat64(at, x, true)],
	i64: [8, (v, at) => Number(v.getBigInt64(at, true)), (v, at, x) => v.setBigInt64(at, BigInt(x), true)],
	u64: [8, (v, at) => v.getBigUint64(at, true), (v, at, x) => v.setBigUint64(at, BigInt(x), true)],
	id: [8, (v, at) => [v.getUint32(at, true), v.getUint32(at + 4, true)], (v, at, x) => x.forEach((part, i) => v.setUint32(at + 4 * i, part, true))],
	chars: [1],
};
TYPES.ptr = TYPES.size = TYPES.text = TYPES.u32;

/** The array of many values of a type, and how many numbers one has; of a word its number in WORDS. */
const COLUMNS = { bool: [Uint8Array, 1], u32: [Uint32Array, 1], f32: [Float32Array, 1], f64: [Float64Array, 1], i64: [BigInt64Array, 1], u64: [BigUint64Array, 1], id: [Uint32Array, 2] };

const camel = (name) => name.replace(/_(\w)/g, (all, letter) => letter.toUpperCase());

/** The members of each layout with their places, and its size: made when it is first asked for. */
const known = new Map();
export function layoutOf(name) {
	if (!known.has(name)) {
		const members = [];
		let size = 0, widest = 1;
		for (const text of LAYOUTS[name].split(/\s+/)) {
			const [, inner, field, other, type, count] = text.match(/^(-?)(\w+)(?:=(\w+))?:(\w+)(?:\*(\d+))?$/);
			const struct = LAYOUTS[type] ? layoutOf(type) : null, bytes = struct ? struct.size : (TYPES[type] || TYPES.i32)[0];
			const align = struct ? struct.align : type === "id" ? 4 : bytes, at = Math.ceil(size / align) * align;
			members.push({ name: camel(other || field), field, type, count: count ? Number(count) : 0, at, isInner: inner === "-" });
			size = at + bytes * (count ? Number(count) : 1);
			widest = Math.max(widest, align);
		}
		known.set(name, { name, members, size: Math.ceil(size / widest) * widest, align: widest });
	}
	return known.get(name);
}

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
			new DataView(memory().buffer).setBigUint64(to >>> 0, BigInt(Math.round((globalThis.performance ? performance.now() : Date.now()) * 1e6)), true);
			return 0;
		},
		proc_exit: (code) => { throw new CaromError(`the module ended with ${code}`, "aborted"); },
		sched_yield: () => 0,
	};
	return new Proxy({}, { get: (target, name) => calls[name] || (() => 52) }); // 52: not supported
}

/** A zero-terminated text. */
function textAt(memory, at) {
	const bytes = new Uint8Array(memory.buffer), begin = at >>> 0;
	return new TextDecoder().decode(bytes.slice(begin, bytes.indexOf(0, begin)));
}

/** A number as C's %g writes it. */
function generalNumber(x, precision) {
	if (!Number.isFinite(x) || x === 0)
		return x === 0 ? (Object.is(x, -0) ? "-0" : "0") : Number.isNaN(x) ? "nan" : x < 0 ? "-inf" : "inf";
	const [digits, power] = x.toExponential(precision - 1).split("e"), e = Number(power), short = (text) => text.includes(".") ? text.replace(/\.?0+$/, "") : text;
	return e < -4 || e >= precision ? `${short(digits)}e${e < 0 ? "-" : "+"}${String(Math.abs(e)).padStart(2, "0")}` : short(x.toFixed(precision - 1 - e));
}

/** vsnprintf of the module: writes a text with arguments, as they lie in its memory, and returns its length. */
function formatText(memory, to, size, format, at) {
	const view = new DataView(memory.buffer), begin = to >>> 0, next = (bytes) => {
		const place = Math.ceil((at >>> 0) / bytes) * bytes;
		at = place + bytes;
		return place;
	};
	const ways = {
		s: (precision) => textAt(memory, view.getUint32(next(4), true)).slice(0, precision === undefined ? Infinity : precision),
		c: () => String.fromCharCode(view.getInt32(next(4), true)),
		g: (precision = 6) => generalNumber(view.getFloat64(next(8), true), Number(precision)),
		d: () => view.getInt32(next(4), true),
		u: () => view.getUint32(next(4), true),
		lld: () => view.getBigInt64(next(8), true),
		llu: () => view.getBigUint64(next(8), true),
		llx: () => view.getBigUint64(next(8), true).toString(16),
		zu: () => view.getUint32(next(4), true),
	};
	const text = textAt(memory, format).replace(/%(?:0(\d+))?(?:\.(\d+))?(ll|z)?([a-z%])/g, (all, width = 0, precision, length = "", kind) => {
		const way = ways[length + kind];
		return way ? String(way(precision)).padStart(Number(width), "0") : kind === "%" ? kind : all; // tests/wasm/layouts.mjs: there are no others
	});
	const bytes = new TextEncoder().encode(text), count = Math.min(bytes.length, size - 1);
	if (size > 0) {
		new Uint8Array(memory.buffer, begin, count + 1).set(bytes.subarray(0, count));
		view.setUint8(begin + count, 0);
	}
	return bytes.length;
}

/** Read a file in Node. Bundlers for browsers must not meet the name of a module that only Node has, so it is put together here. */
const readFile = async (place) => (await import(/* webpackIgnore: true */ /* @vite-ignore */ ["node:fs", "promises"].join("/"))).readFile(place);

/** The bytes at an address, or of a file in Node. */
async function bytesAt(place) {
	const text = String(place), isNode = typeof process !== "undefined" && process.versions && process.versions.node;
	if (isNode && !/^(?:https?|data|blob):/.test(text))
		return readFile(text.startsWith("file:") ? new URL(text) : text);
	const answer = await fetch(text);
	if (!answer.ok)
		throw new CaromError(`loadCarom: ${text}: ${answer.status} ${answer.statusText}`, "not found");
	return answer.arrayBuffer();
}

/** Where the module lies: beside this file. Bundlers know this form of URL, and carry the module with the program. */
function ownPlace() {
	try {
		return new URL("carom.wasm", import.meta.url);
	} catch (reason) {
		throw new CaromError("loadCarom: a bundle as one script does not know where carom.wasm is: give its bytes or its address to loadCarom", "not found");
	}
}

/** A WebAssembly.Module of what loadCarom was given. */
async function compile(source) {
	if (source instanceof WebAssembly.Module)
		return source;
	const isPlace = typeof source === "string" || (typeof URL !== "undefined" && source instanceof URL);
	const bytes = bytesOf(isPlace ? await bytesAt(source) : source, "loadCarom: module");
	try {
		return await WebAssembly.compile(bytes);
	} catch (reason) {
		throw wrong(`loadCarom: module has ${bytes.length} bytes that are not carom.wasm: ${reason.message}`);
	}
}

/** Load the library. module: bytes, a WebAssembly.Module, or the address of the file (in Node its path, too); left out: carom.wasm beside this file. */
export async function loadCarom(module) {
	const compiled = await compile(module === undefined ? ownPlace() : module);
	let instance = null, carom = null;
	const answers = { ...userCalls(() => carom), format: (...given) => formatText(instance.exports.memory, ...given) };
	instance = await WebAssembly.instantiate(compiled, { wasi_snapshot_preview1: wasiShim(() => instance.exports.memory), carom: answers });
	carom = new Carom(instance.exports);
	return carom;
}

/** What the module asks of functions of the user's. Nothing may be thrown through it: Carom.guard hands on what was. */
function userCalls(carom) {
	const bits = (number) => BigInt.asUintN(64, number), bytes = (at, count) => carom().readNumbers(at, Uint8Array, count >>> 0);
	return {
		write: (at, count) => carom().ask("write", true, () => [bytes(at, count)]) ? 1 : 0,
		pair_filter: (a, generationA, b, generationB, dataA, dataB) =>
			carom().ask("pairFilter", true, () => [[a, generationA], [b, generationB], bits(dataA), bits(dataB)]) ? 1 : 0,
		contact_filter: (at, dataA, dataB) => carom().ask("contactFilter", true, () => [carom().readRecord("contact", at), bits(dataA), bits(dataB)]) ? 1 : 0,
		body_filter: (number, body, generation, part, userData) =>
			carom().ask("bodyFilters", true, () => [[body, generation], part, bits(userData)], number) ? 1 : 0,
		visit: (at, count) => carom().ask("visit", true, () => [carom().readNumbers(at, Uint32Array, 2 * count)]) ? 1 : 0,
		force: (a, b, direction, overlap, force, torque) => {
			const given = carom().ask("force", null, () => [a, b, carom().readNumbers(direction, Float64Array, 3), overlap]);
			if (given)
				carom().addForce(given, force, torque);
		},
	};
}

/** Objects of the module are freed by destroy(); those that are forgotten are freed with their last reference. */
const forgotten = typeof FinalizationRegistry === "undefined" ? null : new FinalizationRegistry((free) => free());

/** What `using` calls where a block ends: compilers that translate it for older engines look for this one there. */
const DISPOSE = Symbol.dispose || Symbol.for("Symbol.dispose");

class Handle {
	constructor(carom, pointer, free) {
		this.carom = carom;
		this.pointer = pointer;
		this.isBusy = false;
		this.free = () => free(pointer);
		if (forgotten)
			forgotten.register(this, this.free, this);
	}

	/** Free it. It cannot be used afterwards; a second call does nothing. */
	destroy() {
		if (this.pointer && this.address)
			this.release();
	}

	/** using world = carom.createWorld(); destroys it where the block ends. */
	[DISPOSE]() { this.destroy(); }

	release() {
		if (forgotten)
			forgotten.unregister(this);
		this.free();
		this.pointer = 0;
	}

	get address() {
		if (!this.pointer)
			throw wrong(`this ${this.constructor.name} was destroyed`);
		if (this.isBusy)
			throw wrong(`another call is using this ${this.constructor.name}`);
		return this.pointer;
	}
}

const IDENTITY = [0, 0, 0, 0, 0, 0, 1];

/** Settings that several calls have, with their defaults. Limits of many rays are numbers or arrays. */
const POSES = { poseA: undefined, poseB: undefined }, RAY = { tMin: 0, tMax: Infinity }, RAYS = { tMin: undefined, tMax: undefined };
const SEEN = { filter: null }, BATCH = { filter: null, ignore: null, results: false };

const wrong = (text) => new CaromError(text, "invalid argument");

/** A value in an error's text. */
function show(value) {
	if (typeof value === "bigint")
		return `${value}n`;
	if (value === null || typeof value !== "object")
		return typeof value === "function" ? "a function" : typeof value === "string" ? JSON.stringify(value) : String(value);
	if (value instanceof Handle || ArrayBuffer.isView(value))
		return `a ${value.constructor.name}${value.length === undefined ? "" : ` of ${value.length}`}`;
	const text = JSON.stringify(value, (key, each) => each instanceof Handle || typeof each === "bigint" ? show(each) : each) || String(value);
	return text.length > 100 ? `${text.slice(0, 97)}...` : text;
}

function word(words, wanted, what) {
	const number = Number.isInteger(wanted) && wanted >= 0 && wanted < words.length ? wanted : words.indexOf(wanted);
	if (number < 0)
		throw wrong(`${what} is ${show(wanted)}: it is one of ${words.map((w) => `"${w}"`).join(", ")}`);
	return number;
}

const isList = (list) => list !== null && typeof list === "object" && Number.isInteger(list.length) && !(list instanceof BigInt64Array || list instanceof BigUint64Array);

/** Numbers in one array. Errors name it, and the element that is no number. */
function checkNumbers(numbers, what, multiple = 1) {
	if (!isList(numbers))
		throw wrong(`${what} is ${show(numbers)}; it must be an array of numbers`);
	if (numbers.length % multiple)
		throw wrong(`${what} has ${numbers.length} numbers, which is no multiple of ${multiple}`);
	if (!ArrayBuffer.isView(numbers)) {
		for (let i = 0; i < numbers.length; i++) {
			if (typeof numbers[i] !== "number")
				throw wrong(`${what}[${i}] is ${show(numbers[i])}; it must be a number`);
		}
	}
	return numbers;
}

/** Whole numbers of 32 bits in one array: an array of their own type would cut off what another number has beyond them. */
function checkWhole(numbers, what, multiple = 1, type = "i32") {
	checkNumbers(numbers, what, multiple);
	const isGood = CHECKS[type][0];
	if (!(numbers instanceof (type === "u32" ? Uint32Array : Int32Array))) {
		for (let i = 0; i < numbers.length; i++) {
			if (!isGood(numbers[i]))
				checkValue(type, numbers[i], `${what}[${i}]`);
		}
	}
	return numbers;
}

/** Ids of the caller's, 64 bits each. */
function checkNames(ids, what) {
	if (ids instanceof BigUint64Array)
		return ids;
	if (!isList(ids))
		throw wrong(`${what} is ${show(ids)}; it must be an array of whole numbers or bigints`);
	return BigUint64Array.from(ids, (value, i) => BigInt(checkValue("u64", value, `${what}[${i}]`)));
}

/** An object of settings; what is left out has none. */
function checkSettings(given, call) {
	if (given !== undefined && (given === null || typeof given !== "object" || isList(given)))
		throw wrong(`${call}: options are ${show(given)}; they must be an object of settings`);
	return given || {};
}

/**
 * Settings of a call over their defaults. Errors name those that there are not, and numbers and verdicts that are none. A default that is
 * undefined or null stands for a value of another kind, which is checked where it is used.
 */
function settingsOf(call, given, defaults) {
	const settings = { ...defaults }, names = Object.keys(defaults);
	for (const [name, value] of Object.entries(checkSettings(given, call))) {
		if (!names.includes(name))
			throw wrong(`${call}: there is no setting ${name}; ${names.length === 1 ? "there is" : "there are"} ${names.join(", ")}`);
		const type = { number: "f64", boolean: "bool" }[typeof defaults[name]];
		if (value !== undefined)
			settings[name] = type ? checkValue(type, value, `${call}: ${name}`) : value;
	}
	return settings;
}

const isId = (id) => (Array.isArray(id) || id instanceof Uint32Array) && id.length === 2 && id.every(CHECKS.u32[0]);

/** What values of a type are, and how they are told. */
const CHECKS = {
	bool: [(x) => typeof x === "boolean", "true or false"],
	f64: [(x) => typeof x === "number", "a number"],
	i32: [(x) => Number.isInteger(x) && x >= -(2 ** 31) && x < 2 ** 31, "a whole number of 32 bits"],
	u32: [(x) => Number.isInteger(x) && x >= 0 && x < 2 ** 32, "a whole number, 0 to 2^32 - 1"],
	size: [(x) => Number.isInteger(x) && x >= 0 && x < 2 ** 32, "a whole number, 0 to 2^32 - 1"],
	i64: [(x) => Number.isSafeInteger(x), "a whole number"],
	id: [isId, "[index, generation]"],
	u64: [(x) => (typeof x === "bigint" && x >= 0n && x < 2n ** 64n) || (Number.isSafeInteger(x) && x >= 0), "a bigint of 64 bits or a whole number, not negative"],
};

function checkValue(type, value, what) {
	if (WORDS[type])
		return word(WORDS[type], value, what);
	const [isGood, words] = CHECKS[type];
	if (!isGood(value))
		throw wrong(`${what} is ${show(value)}; it must be ${words}`);
	return value;
}

/** The words of ids in one array. */
function idWords(ids, call) {
	if (!Array.isArray(ids))
		throw wrong(`${call}: ids are ${show(ids)}; they must be an array of ids`);
	for (const id of ids) {
		if (!isId(id))
			throw wrong(`${call}: an id is ${show(id)}; it must be [index, generation]`);
	}
	return ids.flatMap((id) => [...id]);
}

/** Rows of words: of each of `count` places, pitch apart, `each` rows that are size apart. */
function copyRows(from, to, { count, each, words, pitch, size }) {
	for (let i = 0, k = 0; i < count; i++) {
		for (let r = 0, begin = i * pitch; r < each; r++, begin += size) {
			for (let j = 0; j < words; j++)
				to[k++] = from[begin + j];
		}
	}
}

const hashText = (number) => BigInt.asUintN(64, number).toString(16).padStart(16, "0");

/** Bytes that small pieces of memory of calls share: making and freeing each would cost more than a single query. */
const DESK = 4096;

export class Carom {
	constructor(exports) {
		this.exports = exports;
		this.desk = this.deskUsed = 0;
		this.caller = null; // whose functions are heard
		if (exports._initialize)
			exports._initialize();
		this.checkRecords();
		this.desk = this.allocate(DESK);
		this.check(exports.cw_start());
	}

	get version() {
		const number = this.exports.cw_version();
		return `${Math.floor(number / 10000)}.${Math.floor(number / 100) % 100}.${number % 100}`;
	}

	/** Bytes that all objects hold. */
	get memoryInUse() { return this.exports.cw_memory() >>> 0; }

	/** The most bytes that all objects ever held. */
	get memoryPeak() { return this.exports.cw_memory_peak() >>> 0; }

	/** The name of a result of a batch; of 0 "success". */
	resultName(result) { return this.text(this.exports.cw_result_name(checkValue("i32", result, "resultName: result"))); }

	// ---- Memory, errors ----

	text(address) { return textAt(this.exports.memory, address); }

	check(result) {
		if (result)
			throw new CaromError(this.text(this.exports.cw_error()), this.text(this.exports.cw_result_name(result)));
	}

	/** Refuse a module whose records have other sizes than these. */
	checkRecords() {
		const names = Object.keys(LAYOUTS), sizes = this.readNumbers(this.exports.cw_record_sizes ? this.exports.cw_record_sizes() : 0, Uint16Array, names.length + 1);
		names.forEach((name, i) => {
			if (sizes[i] !== layoutOf(name).size)
				throw new CaromError(`carom.wasm is of another version than carom.js: a ${name} has ${sizes[i]} bytes, not ${layoutOf(name).size}`, "unsupported");
		});
	}

	// Addresses and sizes come out of the module as signed numbers: >>> 0 makes those from 2 GiB on what they are.

	readNumbers(pointer, Type, count) { return new Type(this.exports.memory.buffer, pointer >>> 0, count).slice(); }

	allocate(size) {
		const pointer = this.exports.cw_allocate(size) >>> 0;
		if (!pointer)
			throw new CaromError(`out of memory: ${size} bytes`, "out of memory");
		return pointer;
	}

	/** Is the byte at an address not zero? */
	isSet(pointer) { return new Uint8Array(this.exports.memory.buffer)[pointer >>> 0] !== 0; }

	/** Call work(put, room, read) with memory of the module that is freed behind it: small pieces lie on the desk, one call's behind its caller's. */
	scratch(work) {
		const all = [], begin = this.deskUsed, allocate = (size) => {
			const used = this.deskUsed + Math.ceil(size / 16) * 16;
			if (used > DESK) {
				all.push(this.allocate(size));
				return all[all.length - 1];
			}
			const pointer = this.desk + this.deskUsed;
			this.deskUsed = used;
			return pointer;
		};
		const put = (numbers, Type) => {
			const pointer = allocate(numbers.length * Type.BYTES_PER_ELEMENT);
			new Type(this.exports.memory.buffer, pointer, numbers.length).set(numbers);
			return pointer;
		};
		try {
			return work(put, allocate, (pointer, Type, count) => this.readNumbers(pointer, Type, count));
		} finally {
			this.deskUsed = begin;
			all.forEach((pointer) => this.exports.cw_free(pointer));
		}
	}

	/** Make an object: call(pointer to its pointer, put, room) returns a result. */
	make(Class, free, call) {
		return this.scratch((put, room) => {
			const place = put([0], Uint32Array);
			this.check(call(place, put, room));
			return new Class(this, this.readNumbers(place, Uint32Array, 1)[0], free);
		});
	}

	// ---- Records ----

	readRecord(name, at) { return this.readMembers(layoutOf(name), new DataView(this.exports.memory.buffer), at >>> 0); }

	readMembers(layout, view, at) {
		const record = {};
		for (const member of layout.members) {
			if (member.isInner)
				continue;
			const value = this.readMember(member, view, at + member.at);
			record[member.name] = value;
			if (member.type === "id" && member.name !== "body")
				record[member.name.slice(-1).toLowerCase()] = value[0];
		}
		return record;
	}

	readMember({ type, count }, view, at) {
		if (LAYOUTS[type]) {
			const layout = layoutOf(type);
			return count ? Array.from({ length: count }, (none, i) => this.readMembers(layout, view, at + i * layout.size)) : this.readMembers(layout, view, at);
		}
		if (type === "chars")
			return this.text(at);
		const [bytes, read] = TYPES[type] || TYPES.i32;
		if (count)
			return Array.from({ length: count }, (none, i) => read(view, at + i * bytes));
		const value = read(view, at);
		if (type === "text")
			return value ? this.text(value) : null;
		return WORDS[type] ? WORDS[type][value] : value;
	}

	/**
	 * Records as an array for each member, what belongs to a record in a row. Of a struct within the records there is such an object. each: records
	 * one behind the other, pitch bytes from one such row to the next.
	 */
	readColumns(name, at, count, each = 1, pitch = layoutOf(name).size) {
		const columns = {}, { members, size } = layoutOf(name);
		for (const member of members) {
			if (LAYOUTS[member.type]) {
				columns[member.name] = this.readColumns(member.type, at + member.at, count, member.count || 1, pitch);
				continue;
			}
			const [Type, numbers] = COLUMNS[member.type] || [Int32Array, 1], n = numbers * (member.count || 1), to = new Type(n * count * each);
			// All but bytes are copied as words: one loop over one kind of array is what an engine makes fast.
			const Unit = Type.BYTES_PER_ELEMENT === 1 ? Uint8Array : Uint32Array, unit = Unit.BYTES_PER_ELEMENT;
			copyRows(new Unit(this.exports.memory.buffer, at + member.at), new Unit(to.buffer), { count, each, words: to.byteLength / (unit * count * each), pitch: pitch / unit, size: size / unit });
			columns[member.name] = to;
		}
		return columns;
	}

	/** The records of a list that call(place) tells: its address and how many it has. */
	readList(name, call) {
		return this.scratch((put) => {
			const [pointer, count] = this.listAt(put, call), layout = layoutOf(name), view = new DataView(this.exports.memory.buffer);
			return Array.from({ length: count }, (none, i) => this.readMembers(layout, view, pointer + i * layout.size));
		});
	}

	/** Such a list of a call, which has its options: as objects, or as columns. */
	readFoundList(call, name, options, ask) {
		const { columns } = settingsOf(call, options, { columns: false });
		return columns ? this.scratch((put) => this.readColumns(name, ...this.listAt(put, ask))) : this.readList(name, ask);
	}

	listAt(put, call) {
		const place = put([0, 0], Uint32Array);
		this.check(call(place));
		return this.readNumbers(place, Uint32Array, 2);
	}

	/** A record that call(to, put, room) fills. */
	readAnswer(name, call) {
		return this.scratch((put, room) => {
			const to = room(layoutOf(name).size);
			this.check(call(to, put, room));
			return this.readRecord(name, to);
		});
	}

	/** What call(to) writes into a byte: true or false. */
	readVerdict(call) {
		return this.scratch((put, room) => {
			const to = room(1);
			this.check(call(to, put, room));
			return this.isSet(to);
		});
	}

	/** As many rows as there are, of which call(put, room, capacity, to, count) writes those that there is room for: read(at, rows) reads them. */
	readRows(size, call, read) {
		for (let capacity = 64;;) {
			const found = this.scratch((put, room) => {
				const to = room(size * capacity), count = put([0], Int32Array);
				this.check(call(put, room, capacity, to, count));
				const n = this.readNumbers(count, Int32Array, 1)[0];
				return { n, rows: n <= capacity ? read(to, n) : null };
			});
			if (found.rows)
				return found.rows;
			capacity = found.n;
		}
	}

	readRecords(name, at, count) { return Array.from({ length: count }, (none, i) => this.readRecord(name, at + i * layoutOf(name).size)); }

	/** A record that call(found, to) may find, or null. */
	readFound(name, call) {
		return this.scratch((put, room) => {
			const found = put([0], Uint32Array), to = room(layoutOf(name).size);
			this.check(call(found, to, put, room));
			return this.isSet(found) ? this.readRecord(name, to) : null;
		});
	}

	/** Write what is given over a record in memory. Errors name the member, behind the text of where it is. */
	writeRecord(name, at, given, where) {
		const view = new DataView(this.exports.memory.buffer), call = where.indexOf(": ") + 2;
		for (const [key, value] of Object.entries(checkSettings(given, where.slice(0, call - 2)))) {
			const member = layoutOf(name).members.find((each) => each.name === key && !each.isInner);
			if (!member)
				throw wrong(`${where.slice(0, call)}there is no setting ${where.slice(call)}${key}`);
			if (value !== undefined)
				this.writeMember(member, view, at + member.at, value, where + key);
		}
	}

	writeMember({ type, count }, view, at, value, what) {
		if (LAYOUTS[type]) {
			if (!value || typeof value !== "object")
				throw wrong(`${what} is ${show(value)}; it must be an object of settings`);
			return this.writeRecord(type, at, value, `${what}.`);
		}
		const [bytes, , write] = TYPES[type] || TYPES.i32;
		if (!count)
			return write(view, at, checkValue(type, value, what));
		if (!isList(value) || value.length !== count)
			throw wrong(`${what} ${isList(value) ? `has ${value.length} numbers` : `is ${show(value)}`}; it must have ${count}`);
		for (let i = 0; i < count; i++)
			write(view, at + i * bytes, checkValue(type, value[i], `${what}[${i}]`));
	}

	/** A record in memory with the defaults of a call, and what is given. */
	putRecord(name, room, setDefaults, given, where) {
		const at = room(layoutOf(name).size);
		setDefaults(at);
		this.writeRecord(name, at, given, where);
		return at;
	}

	/** Write a shape over memory of zeros. */
	writeShape(at, shape, what) {
		if (!shape || typeof shape !== "object")
			throw wrong(`${what} is ${show(shape)}; it must be a shape`);
		const { mesh, pose, ...members } = shape, needsMesh = members.type === "mesh" || members.type === "hull";
		new Uint8Array(this.exports.memory.buffer, at, layoutOf("shape").size).fill(0);
		word(WORDS.SHAPE, members.type, `${what}.type`);
		this.writeRecord("shape", at, members, `${what}.`);
		if (needsMesh && !(mesh instanceof Mesh))
			throw wrong(`${what}.mesh is ${show(mesh)}: a shape of type "${members.type}" needs a mesh`);
		if (pose !== undefined)
			throw wrong(`${what}.pose: a part has a pose; this shape has none of its own`);
		if (mesh)
			this.writePointers("shape", at, { mesh: this.addressOf(mesh, Mesh, `${what}.mesh`) });
	}

	/** The address of an object that a call was given: one of this library, since another one has memory of its own. */
	addressOf(object, Class, what) {
		if (!(object instanceof Class))
			throw wrong(`${what} is ${show(object)}; it must be a ${Class.name}`);
		if (object.carom !== this)
			throw wrong(`${what} is a ${Class.name} of another loadCarom(), which has memory of its own`);
		return object.address;
	}

	putShape(room, shape, what) {
		const at = room(layoutOf("shape").size);
		this.writeShape(at, shape, what);
		return at;
	}

	/** A query filter, or 0 where none is given. */
	putFilter(room, filter, what, number = 0) {
		if (filter === undefined || filter === null)
			return 0;
		if (typeof filter !== "object")
			throw wrong(`${what} is ${show(filter)}; it must be an object of settings`);
		const { bodyFilter, ...settings } = filter, at = this.putRecord("query_filter", room, this.exports.cw_default_query_filter, settings, `${what}.`);
		if (this.checkFunction(bodyFilter, `${what}.bodyFilter`))
			this.exports.cw_let_filter_ask(at, number);
		return at;
	}

	/** Write one shape for all, or an array of count. Returns where the shape of each row is. */
	writeShapes(room, shapes, count, call, name = "shape") {
		const many = Array.isArray(shapes), size = layoutOf("shape").size;
		if (many && shapes.length !== count)
			throw wrong(`${call}: ${shapes.length} ${name === "shape" ? "shapes" : `shapes ${name}`}, and numbers of ${count}`);
		const pointers = room(size * (many ? count : 1)), manyName = name === "shape" ? "shapes" : name;
		(many ? shapes : [shapes]).forEach((shape, i) => this.writeShape(pointers + i * size, shape, `${call}: ${many ? `${manyName}[${i}]` : name}`));
		return (i) => pointers + (many ? i * size : 0);
	}

	/** Records of a shape and numbers: shapes is one shape for all, or an array of one for each row. */
	putShapes(room, shapes, numbers, each, call) {
		const count = checkNumbers(numbers, `${call}: ${each === 7 ? "poses" : "motions"}`, each).length / each, pitch = 8 + 8 * each, at = room(pitch * count);
		const shapeOf = this.writeShapes(room, shapes, count, call), words = new Uint32Array(this.exports.memory.buffer, at, pitch / 4 * count);
		const doubles = new Float64Array(this.exports.memory.buffer, at, pitch / 8 * count);
		for (let i = 0, k = 0; i < count; i++) {
			words[pitch / 4 * i] = shapeOf(i);
			for (let j = 1; j <= each; j++)
				doubles[pitch / 8 * i + j] = numbers[k++];
		}
		return { at, count };
	}

	/** Records of two shapes and their numbers, [each * count] of a and of b. */
	putPairs(room, a, numbersA, b, numbersB, each, call) {
		const what = each === 7 ? "poses" : "motions", count = checkNumbers(numbersA, `${call}: ${what}A`, each).length / each;
		if (checkNumbers(numbersB, `${call}: ${what}B`, each).length !== each * count)
			throw wrong(`${call}: ${what}A has ${numbersA.length} numbers, and ${what}B has ${numbersB.length}`);
		const shapeOfA = this.writeShapes(room, a, count, call, "a"), shapeOfB = this.writeShapes(room, b, count, call, "b");
		const pitch = 8 + 16 * each, at = room(pitch * count), words = new Uint32Array(this.exports.memory.buffer, at, pitch / 4 * count);
		const doubles = new Float64Array(this.exports.memory.buffer, at, pitch / 8 * count);
		for (let i = 0; i < count; i++) {
			words[pitch / 4 * i] = shapeOfA(i);
			words[pitch / 4 * i + 1] = shapeOfB(i);
			for (let j = 0; j < each; j++) {
				doubles[pitch / 8 * i + 1 + j] = numbersA[each * i + j];
				doubles[pitch / 8 * i + 1 + each + j] = numbersB[each * i + j];
			}
		}
		return { at, count };
	}

	/** One record of putPairs: poses or motions of a and b, of which each may be missing. */
	putPair(room, a, numbersA, b, numbersB, each, call) {
		const name = each === 7 ? "pose" : "motion", still = each === 7 ? IDENTITY : [...IDENTITY, ...IDENTITY];
		for (const [letter, numbers] of [["A", numbersA], ["B", numbersB]]) {
			if (numbers !== undefined && checkNumbers(numbers, `${call}: ${name}${letter}`).length !== each)
				throw wrong(`${call}: ${name}${letter} has ${numbers.length} numbers; it must have ${each}`);
		}
		for (const [letter, shape] of [["a", a], ["b", b]]) {
			if (Array.isArray(shape))
				throw wrong(`${call}: ${letter} is ${show(shape)}; it must be a shape`);
		}
		return this.putPairs(room, a, numbersA || still, b, numbersB || still, each, call).at;
	}

	/** Settings of a batch: queries of worlds have filters. */
	putBatch(put, room, count, { filter, ignore, results }, call) {
		const at = put(new Uint8Array(layoutOf("batch").size), Uint8Array), place = results ? room(4 * count) : 0;
		if (ignore && checkWhole(ignore, `${call}: ignore`, 1, "u32").length !== 2 * count)
			throw wrong(`${call}: ignore has ${ignore.length} numbers; ${count} ids have ${2 * count}`);
		this.writePointers("batch", at, { count, filter: this.putFilter(room, filter, `${call}: filter`), ignore: ignore ? put(ignore, Uint32Array) : 0, results: place });
		return { at, results: () => results ? { results: this.readNumbers(place, Int32Array, count) } : {} };
	}

	/** One answer for each query that input(put, room) puts into memory: ask(batch, queries, answers, put, room). */
	askEach(call, name, options, input, ask) {
		return this.scratch((put, room, read) => {
			const { at, count } = input(put, room), batch = this.putBatch(put, room, count, options, call), to = room(name === "found" ? count : layoutOf(name).size * count);
			this.check(ask(batch.at, at, to, put, room));
			return { ...(name === "found" ? { found: read(to, Uint8Array, count) } : this.readColumns(name, to, count)), ...batch.results() };
		});
	}

	/** A list of answers for each query: ask(batch, queries, capacity, answers, first), again where there was too little room. */
	askLists(call, record, options, input, ask) {
		return this.scratch((put, room, read) => {
			const { at, count } = input(put, room), batch = this.putBatch(put, room, count, options, call), first = room(8 * (count + 1));
			for (let capacity = 2 * count + 64;;) {
				const to = room((record === "id" ? 8 : layoutOf(record).size) * capacity);
				this.check(ask(batch.at, at, capacity, to, first));
				const ends = lowWords(read(first, Uint32Array, 2 * (count + 1))), found = ends[count];
				if (found <= capacity)
					return { first: ends, ...(record === "id" ? { body: read(to, Uint32Array, 2 * found) } : this.readColumns(record, to, found)), ...batch.results() };
				capacity = found;
			}
		});
	}

	/** Parts one behind the other: shapes, each with its pose in the body and its number. */
	putParts(room, parts, what) {
		if (!Array.isArray(parts))
			throw wrong(`${what} is ${show(parts)}; it must be an array of shapes`);
		const size = layoutOf("part").size, at = room(size * parts.length);
		parts.forEach((part, i) => {
			const { userData = 0, pose, ...shape } = part || {};
			this.writeShape(at + i * size, part && typeof part === "object" ? shape : part, `${what}[${i}]`);
			this.writeRecord("part", at + i * size, { pose: pose || IDENTITY, userData }, `${what}[${i}].`);
		});
		return at;
	}

	/** Words of a record that are not the user's, by their names in C. */
	readInner(name, at) {
		const view = new DataView(this.exports.memory.buffer);
		return Object.fromEntries(layoutOf(name).members.filter(({ isInner, type }) => isInner && !LAYOUTS[type]).map(({ field, at: place }) => [field, view.getUint32(at + place, true)]));
	}

	/** Numbers that lie as a strided record says, each of them in a row. */
	readStrided(at, count, each) {
		const { data, stride, type } = this.readInner("strided", at), Type = type ? Float64Array : Float32Array, bytes = Type.BYTES_PER_ELEMENT, numbers = new Float64Array(each * count);
		for (let i = 0; i < count; i++)
			numbers.set(this.readNumbers(data + i * (stride || each * bytes), Type, each), each * i);
		return numbers;
	}

	/** A shape in memory, whose mesh gets a handle of its own. */
	readShape(at) {
		const shape = this.readRecord("shape", at), { mesh } = this.readInner("shape", at);
		if (mesh) {
			this.exports.cw_retain_mesh(mesh);
			shape.mesh = new Mesh(this, mesh, (pointer) => this.exports.cw_release_mesh(pointer));
		}
		return shape;
	}

	/** Write addresses and counts, which are not the user's. */
	writePointers(name, at, values) {
		const view = new DataView(this.exports.memory.buffer);
		for (const [field, value] of Object.entries(values))
			TYPES.u32[2](view, at + layoutOf(name).members.find((each) => each.field === field).at, value);
	}

	// ---- Functions of the user's ----

	/** Make a call in which functions of an object are heard, and which alone uses it. What one of them throws comes out of here. */
	guard(object, call) {
		const address = object.address, before = this.caller;
		let result = 0;
		const heard = this.caller = { object, thrown: [] };
		object.isBusy = true;
		try {
			result = call(address);
		} finally {
			object.isBusy = false;
			this.caller = before;
		}
		if (heard.thrown.length)
			throw heard.thrown[0];
		this.check(result);
	}

	/** Ask a function of the object whose call runs. Where it is missing, or has thrown, the answer is the one given here. */
	ask(name, answer, values, number) {
		const heard = this.caller, isLast = name === "write" || name === "visit" || name === "bodyFilters";
		if (!heard || !heard.object.functions[name] || heard.thrown.length)
			return isLast && heard && heard.thrown.length ? false : answer;
		heard.asking = name;
		try {
			const call = heard.object.functions[name], given = (number === undefined ? call : call[number])(...values());
			return given === undefined ? answer : given;
		} catch (reason) {
			heard.thrown.push(reason);
			return isLast ? false : answer;
		} finally {
			heard.asking = null;
		}
	}

	/** Make a call in which the functions of its filters are heard. What one of them throws comes out of here. */
	hear(world, filters, call) {
		const given = filters.map((filter) => filter && filter.bodyFilter);
		if (!given.some((each) => each))
			return call();
		const before = this.caller, heard = this.caller = { object: { functions: { bodyFilters: given } }, thrown: [] };
		world.askers = (world.askers || 0) + 1;
		let answer = null, failed = null;
		try {
			answer = call();
		} catch (reason) {
			failed = { reason };
		} finally {
			world.askers--;
			this.caller = before;
		}
		if (heard.thrown.length)
			throw heard.thrown[0];
		if (failed)
			throw failed.reason;
		return answer;
	}

	/** Is a function of this name asked by the call that uses an object? */
	isAsking(object, name) { return this.caller !== null && this.caller.object === object && this.caller.asking === name; }

	/** Add what a function said of a force, or of { force, torque }. */
	addForce(given, force, torque) {
		const add = (at, numbers, what) => {
			const to = new Float64Array(this.exports.memory.buffer, at >>> 0, 3);
			checkVector(numbers, `sumForces: ${what}`);
			to.forEach((number, i) => { to[i] = number + numbers[i]; });
		};
		try {
			add(force, given.force || given, "force");
			if (given.torque)
				add(torque, given.torque, "torque");
		} catch (reason) {
			this.caller.thrown.push(reason);
		}
	}

	checkFunction(given, what) {
		if (given !== undefined && given !== null && typeof given !== "function")
			throw wrong(`${what} is ${show(given)}; it must be a function`);
		return given || null;
	}

	// ---- Objects ----

	/** Places in memory: a Float32Array as it is, all else as doubles. */
	writePlaces(put, at, numbers) {
		const isWide = !(numbers instanceof Float32Array);
		this.writePointers("strided", at, { data: put(numbers, isWide ? Float64Array : Float32Array), type: isWide ? 1 : 0 });
	}

	/** Vertices, triangles and settings of a mesh as the library has them. */
	putMesh(put, room, vertices, triangles, options, call) {
		const { materials = null, ...given } = checkSettings(options, call);
		const { centre, ...others } = given, finds = centre === "auto", settings = finds ? others : given;
		checkNumbers(vertices, `${call}: vertices`, 3);
		checkWhole(triangles, `${call}: triangles`, 3);
		if (materials !== null && checkWhole(materials, `${call}: materials`, 1, "u32").length !== triangles.length / 3)
			throw wrong(`${call}: materials has ${materials.length} numbers; there are ${triangles.length / 3} triangles`);
		const at = this.putRecord("mesh_def", room, this.exports.cw_default_mesh_def, settings, `${call}: `);
		this.writePlaces(put, placeOf("mesh_def", at, "vertices"), vertices);
		this.writePointers("mesh_def", at, { vertex_count: vertices.length / 3, triangles: put(triangles, Int32Array), triangle_count: triangles.length / 3,
			materials: materials ? put(materials, Uint32Array) : 0 });
		if (finds)
			this.check(this.exports.cw_find_mesh_centre(placeOf("mesh_def", at, "vertices"), vertices.length / 3, placeOf("mesh_def", at, "centre")));
		return at;
	}

	makeMesh(call) { return this.make(Mesh, (pointer) => this.exports.cw_release_mesh(pointer), call); }

	/** A mesh of vertices [3n] (Float32Array, or numbers, which are taken as doubles) and corners [3m]. */
	createMesh(vertices, triangles, options) {
		return this.makeMesh((place, put, room) => this.exports.cw_create_mesh(this.putMesh(put, room, vertices, triangles, options, "createMesh"), place));
	}

	/** The report of a mesh that is not made: what is wrong with it, too. */
	checkMesh(vertices, triangles, options) {
		return this.readAnswer("mesh_report", (to, put, room) => this.exports.cw_check_mesh(this.putMesh(put, room, vertices, triangles, options, "checkMesh"), to));
	}

	/** A mesh of the bytes that Mesh.save made, here or in any library of the same version of them. */
	loadMesh(data) {
		const bytes = bytesOf(data, "loadMesh: data");
		return this.makeMesh((place, put) => this.exports.cw_mesh_load(put(bytes, Uint8Array), bytes.length, place));
	}

	/** The convex hull of points [3n]. */
	createHull(points) {
		checkNumbers(points, "createHull: points", 3);
		return this.makeMesh((place, put, room) => {
			const at = put(new Uint8Array(layoutOf("strided").size), Uint8Array);
			this.writePlaces(put, at, points);
			return this.exports.cw_create_hull(at, points.length / 3, place);
		});
	}

	/** A solid below heights [rows * columns], row by row; NaN is a hole. Its bottom is thickness below the lowest height. */
	createHeightField(heights, columns, options) {
		const { spacing, thickness } = settingsOf("createHeightField", options, { spacing: undefined, thickness: 1 }), steps = spacing === undefined ? [1, 1] : spacing;
		checkValue("i32", columns, "createHeightField: columns");
		checkNumbers(heights, "createHeightField: heights", columns);
		if (checkNumbers(steps, "createHeightField: spacing").length !== 2)
			throw wrong(`createHeightField: spacing has ${steps.length} numbers; it must have 2`);
		return this.makeMesh((place, put) => this.exports.cw_create_height_field(
			columns, heights.length / columns, put(heights, Float32Array), put(steps, Float64Array), thickness, place));
	}

	/** settings: those of WorldSettings, and the functions pairFilter and contactFilter. */
	createWorld(given) {
		const { pairFilter, contactFilter, ...settings } = checkSettings(given, "createWorld");
		const functions = { pairFilter: this.checkFunction(pairFilter, "createWorld: pairFilter"),
			contactFilter: this.checkFunction(contactFilter, "createWorld: contactFilter"), write: null };
		const world = this.make(World, (pointer) => this.exports.cw_destroy_world(pointer), (place, put, room) => this.exports.cw_create_world(
			this.putRecord("world_def", room, this.exports.cw_default_world_def, settings, "createWorld: "), pairFilter ? 1 : 0, contactFilter ? 1 : 0, place));
		world.functions = functions;
		return world;
	}

	/** Impacts of meshes whose vertices move on straight lines. */
	createSweep(settings) {
		return this.make(Sweep, (pointer) => this.exports.cw_destroy_sweep(pointer), (place, put, room) =>
			this.exports.cw_create_sweep(this.putRecord("sweep_def", room, this.exports.cw_default_sweep_def, settings, "createSweep: "), place));
	}

	/** Features nearer than a distance. */
	createProximity(settings) {
		return this.make(Proximity, (pointer) => this.exports.cw_destroy_proximity(pointer), (place, put, room) =>
			this.exports.cw_create_proximity(this.putRecord("proximity_def", room, this.exports.cw_default_proximity_def, settings, "createProximity: "), place));
	}

	/** Touching pairs of spheres. */
	createSpheres(settings) {
		return this.make(Spheres, (pointer) => this.exports.cw_destroy_spheres(pointer), (place, put, room) =>
			this.exports.cw_create_spheres(this.putRecord("spheres_def", room, this.exports.cw_default_spheres_def, settings, "createSpheres: "), place));
	}

	// ---- Two meshes ----

	/** Nearest points of two meshes at poses (7 numbers each; left out: the identity). null: further than maxDistance. */
	meshDistance(a, b, options) {
		const { poseA, poseB, maxDistance } = settingsOf("meshDistance", options, { poseA: IDENTITY, poseB: IDENTITY, maxDistance: Infinity });
		const gap = this.readFound("mesh_gap", (found, to, put) => this.exports.cw_mesh_distance(this.addressOf(a, Mesh, "meshDistance: a"), putPose(put, poseA, "meshDistance: poseA"),
			this.addressOf(b, Mesh, "meshDistance: b"), putPose(put, poseB, "meshDistance: poseB"), maxDistance, found, to));
		return gap && { ...gap, onA: gap.onA.point, onB: gap.onB.point };
	}

	/** Pairs of a triangle of a and one of b that intersect or touch: a0, b0, a1, b1, ..., sorted. */
	meshIntersections(a, b, options) {
		const { poseA, poseB } = settingsOf("meshIntersections", options, { poseA: IDENTITY, poseB: IDENTITY });
		return this.readRows(8, (put, room, ...list) => this.exports.cw_mesh_intersections(this.addressOf(a, Mesh, "meshIntersections: a"), putPose(put, poseA, "meshIntersections: poseA"),
			this.addressOf(b, Mesh, "meshIntersections: b"), putPose(put, poseB, "meshIntersections: poseB"), ...list), (at, n) => this.readNumbers(at, Int32Array, 2 * n));
	}

	// ---- Shapes without a world ----
	//
	// Batches are as those of worlds: one shape for all rows, or an array of one for each.

	/** Where a ray hits a shape first, or null. */
	shapeCastRay(shape, origin, direction, options) {
		const { pose, ...limits } = settingsOf("shapeCastRay", options, { pose: IDENTITY, ...RAY });
		return this.readFound("ray_hit", (found, to, put, room) =>
			this.exports.cw_shape_ray(this.placed(room, shape, pose, "shapeCastRay"), putRay(put, origin, direction, limits, "shapeCastRay"), found, to));
	}

	/** The point of a shape's surface nearest to a point, or null: further than maxDistance. */
	shapeClosestPoint(shape, point, options) {
		const { pose, maxDistance } = settingsOf("shapeClosestPoint", options, { pose: IDENTITY, maxDistance: Infinity });
		return this.readFound("closest_point", (found, to, put, room) =>
			this.exports.cw_shape_point(this.placed(room, shape, pose, "shapeClosestPoint"), putVector(put, point, "shapeClosestPoint: point"), maxDistance, found, to));
	}

	/** The first hits of rays on one shape; t is Infinity where there is none. */
	shapeCastRays(shape, origins, directions, options) {
		const { pose, results, ...limits } = settingsOf("shapeCastRays", options, { pose: IDENTITY, ...RAYS, results: false });
		return this.askEach("shapeCastRays", "ray_hit", { results }, (put) => putRays(put, origins, directions, limits, "shapeCastRays"),
			(batch, rays, to, put, room) => this.exports.cw_shape_rays(this.placed(room, shape, pose, "shapeCastRays"), batch, rays, to));
	}

	/** The points of one shape nearest to points [3n]; distance is Infinity where none is within maxDistance. */
	shapeClosestPoints(shape, points, options) {
		const { pose, maxDistance, results } = settingsOf("shapeClosestPoints", options, { pose: IDENTITY, maxDistance: Infinity, results: false });
		return this.askEach("shapeClosestPoints", "closest_point", { results }, (put) => putRows(put, points, 3, "shapeClosestPoints: points"),
			(batch, at, to, put, room) => this.exports.cw_shape_points(this.placed(room, shape, pose, "shapeClosestPoints"), batch, at, maxDistance, to));
	}

	placed(room, shape, pose, call) { return this.putShapes(room, shape, checkPose(pose, `${call}: pose`), 7, call).at; }

	/** How far two shapes are apart, or how far one must move to come out of the other. */
	distance(a, b, options) {
		const { poseA, poseB } = settingsOf("distance", options, POSES);
		return this.readAnswer("separation", (to, put, room) => this.exports.cw_distance(this.putPair(room, a, poseA, b, poseB, 7, "distance"), to));
	}

	/** Do two shapes overlap? */
	overlap(a, b, options) {
		const { poseA, poseB } = settingsOf("overlap", options, POSES);
		return this.readVerdict((to, put, room) => this.exports.cw_overlap(this.putPair(room, a, poseA, b, poseB, 7, "overlap"), to));
	}

	/** Volume, centre of mass and inertia of a shape at density 1, in its own frame. */
	shapeMass(shape) { return this.readAnswer("mass", (to, put, room) => this.exports.cw_shape_mass(this.putShape(room, shape, "shapeMass: shape"), to)); }

	/** Those of a body of parts and their densities (left out: 1), in the frame of the body. Where parts overlap, their common volume counts for each. */
	partsMass(parts, densities) {
		if (densities !== undefined && checkNumbers(densities, "partsMass: densities", 1).length !== parts.length)
			throw wrong(`partsMass: densities has ${densities.length} numbers for ${parts.length} parts`);
		return this.readAnswer("mass", (to, put, room) => {
			const at = this.putParts(room, parts, "partsMass: parts"), numbers = densities === undefined ? 0 : put(densities, Float64Array);
			return this.exports.cw_parts_mass(at, parts.length, numbers, to);
		});
	}

	/** The contacts of two shapes, meshes too, as a world finds them that sees them for the first time. */
	collide(a, b, options) {
		const { poseA, poseB, margin } = settingsOf("collide", options, { ...POSES, margin: 0 });
		return this.readRows(layoutOf("contact").size, (put, room, ...list) => this.exports.cw_collide(this.putPair(room, a, poseA, b, poseB, 7, "collide"), margin, ...list),
			(at, n) => this.readRecords("contact", at, n));
	}

	/** The patch in which two convex shapes meet: { normal, points: [{ point, depth }] }. */
	manifold(a, b, options) {
		const { poseA, poseB, margin } = settingsOf("manifold", options, { ...POSES, margin: 0 });
		const { normal, count, points } = this.readAnswer("manifold", (to, put, room) =>
			this.exports.cw_manifold(this.putPair(room, a, poseA, b, poseB, 7, "manifold"), margin, to));
		return { normal, points: points.slice(0, count) };
	}

	/** When two shapes meet on their motions, 14 numbers each: the poses at the beginning and at the end. */
	timeOfImpact(a, b, options) {
		const { motionA, motionB, tolerance } = settingsOf("timeOfImpact", options, { motionA: undefined, motionB: undefined, tolerance: 1e-3 });
		return this.readAnswer("toi", (to, put, room) => this.exports.cw_time_of_impact(this.putPair(room, a, motionA, b, motionB, 14, "timeOfImpact"), tolerance, to));
	}

	/** As timeOfImpact, with a budget of work, 0 or more: { impact, work }, the work that is left. */
	timeOfImpactWithin(a, b, work, options) {
		const { motionA, motionB, tolerance } = settingsOf("timeOfImpactWithin", options, { motionA: undefined, motionB: undefined, tolerance: 1e-3 });
		if (!Number.isSafeInteger(work) || work < 0)
			throw wrong(`timeOfImpactWithin: work is ${show(work)}; it must be a whole number of at least 0`);
		return this.scratch((put, room) => {
			const left = put([work], Float64Array), to = room(layoutOf("toi").size);
			this.check(this.exports.cw_time_of_impact_within(this.putPair(room, a, motionA, b, motionB, 14, "timeOfImpactWithin"), tolerance, left, to));
			return { impact: this.readRecord("toi", to), work: this.readNumbers(left, Float64Array, 1)[0] };
		});
	}

	/** The pose at a time, 0 to 1, of a motion. */
	motionPose(motion, time) {
		if (checkNumbers(motion, "motionPose: motion").length !== 14)
			throw wrong(`motionPose: motion has ${motion.length} numbers; it must have 14`);
		checkValue("f64", time, "motionPose: time");
		return this.scratch((put, room, read) => {
			const to = room(56);
			this.exports.cw_motion_pose(put(motion, Float64Array), time, to);
			return [...read(to, Float64Array, 7)];
		});
	}

	/** distance of n pairs. */
	distances(a, posesA, b, posesB, options) {
		const { results } = settingsOf("distances", options, { results: false });
		return this.askEach("distances", "separation", { results }, (put, room) => this.putPairs(room, a, posesA, b, posesB, 7, "distances"), this.exports.cw_distances);
	}

	/** overlap of n pairs: found [n], 1 or 0. */
	overlaps(a, posesA, b, posesB, options) {
		const { results } = settingsOf("overlaps", options, { results: false });
		return this.askEach("overlaps", "found", { results }, (put, room) => this.putPairs(room, a, posesA, b, posesB, 7, "overlaps"), this.exports.cw_overlaps);
	}

	/** manifold of n pairs: normal [3n], count [n], points: { point [24n], depth [8n] }, of which the first count of each pair are there. */
	manifolds(a, posesA, b, posesB, options) {
		const { margin, results } = settingsOf("manifolds", options, { margin: 0, results: false });
		return this.askEach("manifolds", "manifold", { results }, (put, room) => this.putPairs(room, a, posesA, b, posesB, 7, "manifolds"),
			(batch, pairs, to) => this.exports.cw_manifolds(batch, pairs, margin, to));
	}

	/** collide of n pairs. Contacts of pair i are the rows first[i] to first[i + 1] - 1. */
	collidePairs(a, posesA, b, posesB, options) {
		const { margin, results } = settingsOf("collidePairs", options, { margin: 0, results: false });
		return this.askLists("collidePairs", "contact", { results }, (put, room) => this.putPairs(room, a, posesA, b, posesB, 7, "collidePairs"),
			(batch, pairs, capacity, to, first) => this.exports.cw_collide_pairs(batch, pairs, margin, capacity, to, first));
	}

	/** timeOfImpact of n pairs. */
	timesOfImpact(a, motionsA, b, motionsB, options) {
		const { tolerance, results } = settingsOf("timesOfImpact", options, { tolerance: 1e-3, results: false });
		return this.askEach("timesOfImpact", "toi", { results }, (put, room) => this.putPairs(room, a, motionsA, b, motionsB, 14, "timesOfImpact"),
			(batch, pairs, to) => this.exports.cw_times_of_impact(batch, pairs, tolerance, to));
	}

	// ---- Elementary tests ----
	//
	// positions [3v]; vertices: the numbers of 4 or 6 of them for each record, or left out: those of record i stand one behind the other.

	elements(put, positions, vertices, each, call) {
		checkNumbers(positions, `${call}: positions`, vertices ? 3 : 3 * each);
		const count = (vertices ? checkWhole(vertices, `${call}: vertices`, each).length : positions.length / 3) / each;
		const at = put(new Uint8Array(layoutOf("elements").size), Uint8Array);
		this.writePointers("elements", at, { count, positions: put(positions, Float64Array), vertex_count: positions.length / 3, vertices: vertices ? put(vertices, Int32Array) : 0 });
		return { at, count };
	}

	askElements(call, each, positions, options, ask) {
		const { vertices } = settingsOf(call, options, { vertices: null });
		return this.scratch((put, room) => {
			const { at, count } = this.elements(put, positions, vertices, each, call);
			return ask(at, count, room);
		});
	}

	/** Of points and triangles (records of 4): distance [n], and the nearest point of the triangle. */
	pointTriangleDistances(positions, options) {
		return this.askElements("pointTriangleDistances", 4, positions, options, (at, count, room) => {
			const distance = room(8 * count), on = room(layoutOf("triangle_point").size * count);
			this.check(this.exports.cw_point_triangle_distances(at, distance, on));
			return { distance: this.readNumbers(distance, Float64Array, count), ...this.readColumns("triangle_point", on, count) };
		});
	}

	/** Of two edges (records of 4): distance [n], onA and onB. */
	edgeEdgeDistances(positions, options) { return this.askDistances("edgeEdgeDistances", 4, "edge_point", "cw_edge_edge_distances", positions, options); }

	/** Of two triangles (records of 6): distance [n], onA and onB. */
	triangleTriangleDistances(positions, options) {
		return this.askDistances("triangleTriangleDistances", 6, "triangle_point", "cw_triangle_triangle_distances", positions, options);
	}

	askDistances(call, each, name, ask, positions, options) {
		return this.askElements(call, each, positions, options, (at, count, room) => {
			const distance = room(8 * count), [a, b] = [0, 1].map(() => room(layoutOf(name).size * count));
			this.check(this.exports[ask](at, distance, a, b));
			return { distance: this.readNumbers(distance, Float64Array, count), onA: this.readColumns(name, a, count), onB: this.readColumns(name, b, count) };
		});
	}

	/** Do two triangles (records of 6) share a point? Exact: [n], 1 or 0. */
	trianglePairsIntersect(positions, options) { return this.askSigns("trianglePairsIntersect", 6, Uint8Array, "cw_triangle_pairs_intersect", positions, options); }

	/** On which side of the plane of three points is the fourth? Exact: [n], 1, 0 or -1. */
	orientations(positions, options) { return this.askSigns("orientations", 4, Int8Array, "cw_orientations", positions, options); }

	askSigns(call, each, Type, ask, positions, options) {
		return this.askElements(call, each, positions, options, (at, count, room) => {
			const to = room(count);
			this.check(this.exports[ask](at, to));
			return this.readNumbers(to, Type, count);
		});
	}

	/**
	 * When a vertex and a face, or two edges (records of 4), meet while their vertices move from begin to end, [3v] each: time [n], Infinity where they
	 * do not, and the members of an Impact. Settings are those of createSweep.
	 */
	sweepTestPairs(kind, begin, end, options) {
		const call = "sweepTestPairs", { vertices = null, ...settings } = checkSettings(options, call), number = word(WORDS.FEATURES, kind, `${call}: kind`);
		if (checkNumbers(begin, `${call}: begin`).length !== checkNumbers(end, `${call}: end`).length)
			throw wrong(`${call}: begin has ${begin.length} numbers, and end has ${end.length}`);
		return this.scratch((put, room) => {
			const def = this.putRecord("sweep_def", room, this.exports.cw_default_sweep_def, settings, `${call}: `), { at, count } = this.elements(put, begin, vertices, 4, call);
			const time = room(8 * count), hits = room(layoutOf("sweep_hit").size * count);
			this.check(this.exports.cw_sweep_test_pairs(def, number, at, put(end, Float64Array), time, hits));
			return { ...this.readColumns("sweep_hit", hits, count), time: this.readNumbers(time, Float64Array, count) };
		});
	}

	/** A vertex and a face, or two edges, [12]: how near they are to each other, and where. */
	proximityOfPair(kind, vertices) {
		const number = word(WORDS.FEATURES, kind, "proximityOfPair: kind");
		if (checkNumbers(vertices, "proximityOfPair: vertices").length !== 12)
			throw wrong(`proximityOfPair: vertices has ${vertices.length} numbers; it must have 12`);
		return nearPair(this.readAnswer("proximity_pair", (to, put) => this.exports.cw_proximity_of_pair(number, put(vertices, Float64Array), to)));
	}

	/** Run a recording (bytes) in a world of its own and compare the hash of each step. */
	replay(recording) {
		const bytes = bytesOf(recording, "replay: recording");
		return this.scratch((put, room) => {
			const at = put(bytes, Uint8Array), to = room(layoutOf("replay_result").size), result = this.exports.cw_replay(at, bytes.length, to);
			const reached = this.readRecord("replay_result", to);
			reached.hash = hashText(reached.hash);
			try {
				this.check(result);
			} catch (reason) {
				reason.reached = reached;
				throw reason;
			}
			return reached;
		});
	}
}

function bytesOf(given, what) {
	if (given instanceof ArrayBuffer)
		return new Uint8Array(given);
	if (!ArrayBuffer.isView(given))
		throw wrong(`${what} is ${show(given)}; it must be bytes (an ArrayBuffer or a view of one)`);
	return new Uint8Array(given.buffer, given.byteOffset, given.byteLength);
}

function checkPose(pose, what) {
	if (checkNumbers(pose, what).length !== 7)
		throw wrong(`${what} has ${pose.length} numbers; it must have 7`);
	return pose;
}

/** Where a member of a record in memory is. */
const placeOf = (name, at, field) => at + layoutOf(name).members.find((each) => each.field === field).at;

function checkVector(vector, what) {
	if (checkNumbers(vector, what).length !== 3)
		throw wrong(`${what} has ${vector.length} numbers; it must have 3`);
	return vector;
}

const putVector = (put, vector, what) => put(checkVector(vector, what), Float64Array);

const putPose = (put, pose, what) => put(checkPose(pose, what), Float64Array);

/** Rows of so many numbers: where they are, and how many. */
function putRows(put, numbers, each, what) {
	const count = checkNumbers(numbers, what, each).length / each;
	return { at: put(numbers, Float64Array), count };
}

/** A ray as the library has it: origin, direction, tMin, tMax. */
function putRay(put, origin, direction, { tMin = 0, tMax = Infinity }, call) {
	const [o, d] = [checkVector(origin, call + ": origin"), checkVector(direction, call + ": direction")];
	return put([o[0], o[1], o[2], d[0], d[1], d[2], tMin, tMax], Float64Array);
}

/** Rays as the library has them. */
function putRays(put, origins, directions, { tMin = 0, tMax = Infinity }, call) {
	const count = checkNumbers(origins, `${call}: origins`, 3).length / 3, rays = new Float64Array(8 * count);
	for (const [name, numbers, length] of [["directions", directions, 3 * count], ["tMin", tMin, count], ["tMax", tMax, count]]) {
		if ((name === "directions" || typeof numbers !== "number") && checkNumbers(numbers, `${call}: ${name}`).length !== length)
			throw wrong(`${call}: ${name} has ${numbers.length} numbers; of ${count} rays there are ${length}`);
	}
	const limit = (given, i) => typeof given === "number" ? given : given[i];
	for (let i = 0; i < count; i++) {
		for (let c = 0; c < 3; c++) {
			rays[8 * i + c] = origins[3 * i + c];
			rays[8 * i + 3 + c] = directions[3 * i + c];
		}
		rays[8 * i + 6] = limit(tMin, i);
		rays[8 * i + 7] = limit(tMax, i);
	}
	return { at: put(rays, Float64Array), count };
}

export class Mesh extends Handle {
	/** What the mesh consists of, and what is wrong with it. */
	get report() { return this.carom.readRecord("mesh_report", this.carom.exports.cw_mesh_report(this.address)); }

	/** The vertices as detection sees them, [3n]. */
	get vertices() { return this.numbers(this.carom.exports.cw_mesh_vertices(this.address), Float32Array, "vertexCount"); }

	/** The vertices as they were given, [3n], where a float does not hold all of them; else null. */
	get doubles() {
		const at = this.carom.exports.cw_mesh_doubles(this.address);
		return at ? this.numbers(at, Float64Array, "vertexCount") : null;
	}

	/** Where its origin lies in the coordinates of the vertices that createMesh was given: a part of a body belongs there. */
	get centre() { return this.carom.readNumbers(this.carom.exports.cw_mesh_centre(this.address), Float64Array, 3); }

	/** The corners of the triangles, [3m]; those of a mesh that was inside out are turned round. */
	get triangles() { return this.numbers(this.carom.exports.cw_mesh_triangles(this.address), Int32Array, "triangleCount"); }

	numbers(at, Type, count) { return this.carom.readNumbers(at, Type, 3 * this.report[count]); }

	get sides() { return WORDS.SIDES[this.carom.exports.cw_mesh_sides(this.address)]; }

	/** Mass, centre and inertia at density 1. */
	get mass() { return this.carom.readAnswer("mass", (to) => this.carom.exports.cw_mesh_mass(this.address, to)); }

	/** Sizes and quality of its trees; epo only where it is asked for, since it takes time. */
	treeInfo(options) {
		const { epo } = settingsOf("treeInfo", options, { epo: false });
		return this.carom.readAnswer("tree_info", (to) => this.carom.exports.cw_mesh_tree_info(this.address, epo ? 1 : 0, to));
	}

	/** The number that createMesh was given for a triangle. */
	materialOf(triangle) {
		checkValue("i32", triangle, "materialOf: triangle");
		return this.carom.scratch((put, room, read) => {
			const to = room(4);
			this.carom.check(this.carom.exports.cw_mesh_material(this.address, triangle, to));
			return read(to, Uint32Array, 1)[0];
		});
	}

	/** A new mesh of another size: three factors, or one for all axes. */
	scaled(scale) {
		const factors = typeof scale === "number" ? [scale, scale, scale] : scale;
		checkVector(factors, "scaled: scale");
		return this.carom.makeMesh((place, put) => this.carom.exports.cw_create_scaled_mesh(this.address, put(factors, Float64Array), place));
	}

	/** Of a height field: a new one with other heights in a rectangle of columns, from firstColumn and firstRow on. */
	edited(heights, columns, options) {
		const { firstColumn, firstRow } = settingsOf("edited", options, { firstColumn: 0, firstRow: 0 });
		checkValue("i32", columns, "edited: columns");
		checkNumbers(heights, "edited: heights", columns);
		const region = { firstColumn, firstRow, columns, rows: heights.length / columns };
		return this.carom.makeMesh((place, put, room) => this.carom.exports.cw_create_edited_field(this.address,
			this.carom.putRecord("field_region", room, () => {}, region, "edited: "), put(heights, Float32Array), place));
	}

	/** A new mesh with other materials: one for all, one for each triangle (of a height field two for each cell), or null for none. */
	painted(materials) {
		const numbers = typeof materials === "number" ? [materials] : materials;
		if (numbers !== null)
			checkWhole(numbers, "painted: materials", 1, "u32");
		return this.carom.makeMesh((place, put) => this.carom.exports.cw_create_painted_mesh(this.address,
			numbers ? put(numbers, Uint32Array) : 0, numbers ? numbers.length : 0, place));
	}

	/** Its content with its trees as bytes, for Carom.loadMesh. */
	save() {
		let bytes = null;
		this.functions = { write: (given) => { bytes = given; } };
		this.carom.guard(this, (address) => this.carom.exports.cw_mesh_save(address));
		return bytes;
	}

	// ---- Queries, in the frame of the mesh ----

	/** Rays as a step casts them, in float: triangle [n], -1 where there is none, t and backFace. tMax: a number, or [n]. */
	castRays(origins, directions, options) {
		const { tMax = Infinity } = settingsOf("castRays", options, { tMax: undefined });
		return this.carom.scratch((put, room, read) => {
			const { numbers, count } = rayColumns(origins, directions, tMax, "castRays"), [triangle, t, backFace] = [room(4 * count), room(4 * count), room(count)];
			this.carom.check(this.carom.exports.cw_mesh_rays(this.address, count, put(numbers, Float32Array), triangle, t, backFace));
			return { triangle: read(triangle, Int32Array, count), t: read(t, Float32Array, count), backFace: read(backFace, Uint8Array, count) };
		});
	}

	/** The point of the surface nearest to a point, or null: further than maxDistance. */
	closestPoint(point, maxDistance = Infinity) {
		checkValue("f64", maxDistance, "closestPoint: maxDistance");
		return this.carom.readFound("mesh_point", (found, to, put) =>
			this.carom.exports.cw_mesh_closest_point(this.address, putVector(put, point, "closestPoint: point"), maxDistance, found, to));
	}

	/** Is a point inside of the closed mesh? */
	contains(point) { return this.carom.readVerdict((to, put) => this.carom.exports.cw_mesh_contains(this.address, putVector(put, point, "contains: point"), to)); }

	/** Pairs of triangles that intersect or touch and share no vertex: a0, b0, a1, b1, ..., sorted. Exact. */
	selfIntersections() {
		return this.carom.readRows(8, (put, room, ...list) => this.carom.exports.cw_mesh_self_intersections(this.address, ...list),
			(at, n) => this.carom.readNumbers(at, Int32Array, 2 * n));
	}
}

/** All x of origins, all y, all z, those of directions, and tMax, each in a row. */
function rayColumns(origins, directions, tMax, call) {
	const count = checkNumbers(origins, `${call}: origins`, 3).length / 3, numbers = new Float32Array(7 * count), isOne = typeof tMax === "number";
	for (const [name, given, length] of [["directions", directions, 3 * count], ["tMax", isOne ? null : tMax, count]]) {
		if (given !== null && checkNumbers(given, `${call}: ${name}`).length !== length)
			throw wrong(`${call}: ${name} has ${given.length} numbers; of ${count} rays there are ${length}`);
	}
	for (let i = 0; i < count; i++) {
		for (let c = 0; c < 3; c++) {
			numbers[c * count + i] = origins[3 * i + c];
			numbers[(3 + c) * count + i] = directions[3 * i + c];
		}
		numbers[6 * count + i] = isOne ? tMax : tMax[i];
	}
	return { numbers, count };
}

/** Lists of a step, by the numbers that the module gives them, and their records. */
const RESULTS = { contacts: "contact", pairs: "pair", events: "event", impacts: "impact", shapeImpacts: "shape_impact", bodyImpacts: "body_impact",
	surfaceContacts: "surface_contact", surfaceShapeContacts: "surface_shape_contact", sphereContacts: "sphere_contact", sphereGroups: "sphere_group", bodyPairs: "body_pair", bodyEvents: "body_event" };
const SPHERE_PAIRS = Object.keys(RESULTS).length, SPHERES_BY_PAIR = SPHERE_PAIRS + 1;

export class World extends Handle {
	/** As of every object; a recording that runs ends with it. */
	destroy() {
		if (this.askers)
			throw wrong("destroy: called from inside the filter of a query");
		if (this.pointer)
			this.carom.guard(this, () => { this.release(); return 0; });
	}

	/** Make a call that changes the world: a recording may hear of it. */
	change(call) {
		this.carom.scratch((put, room) => this.carom.guard(this, (address) => call(address, put, room)));
	}

	id(id, put, call) { return put(idWords([id], call), Uint32Array); }

	// ---- Bodies ----

	/**
	 * Add a body: { shape }, or { parts: [shape with pose, ...] }, or { kind: "granular", centres, radii }, with the settings of BodyDef.
	 * Returns its id, [index, generation].
	 */
	addBody(body) {
		const { shape, parts, centres, radii, ...members } = checkSettings(body, "addBody");
		if (!shape && !parts && members.kind !== "granular")
			throw wrong("addBody: a shape, or parts, are missing");
		if ((centres || radii) && members.kind !== "granular")
			throw wrong(`addBody: ${centres ? "centres" : "radii"}: a body of kind "granular" has them; this one's kind is ${show(members.kind || "dynamic")}`);
		if (Array.isArray(parts) && parts.length === 0)
			throw wrong("addBody: parts is an empty array; a body without parts has a shape alone");
		return this.carom.scratch((put, room, read) => {
			const x = this.carom.exports, at = this.carom.putRecord("body_def", room, x.cw_default_body_def, members, "addBody: "), id = room(8);
			const place = (field) => placeOf("body_def", at, field);
			if (shape)
				this.carom.writeShape(place("shape"), shape, "addBody: shape");
			if (parts)
				this.carom.writePointers("body_def", at, { parts: this.carom.putParts(room, parts, "addBody: parts"), part_count: parts.length });
			if (centres || radii)
				this.writeSpheres(put, at, place, centres, radii);
			this.carom.guard(this, (address) => x.cw_add_body(address, at, id));
			return [...read(id, Uint32Array, 2)];
		});
	}

	writeSpheres(put, at, place, centres, radii) {
		const count = checkSpheres("addBody", centres, radii), doubles = 1;
		this.carom.writePointers("body_def", at, { sphere_count: count });
		this.carom.writePointers("strided", place("centres"), { data: put(centres, Float64Array), type: doubles });
		this.carom.writePointers("strided", place("radii"), { data: put(radii, Float64Array), type: doubles });
	}

	removeBody(id) { this.change((world, put) => this.carom.exports.cw_remove_body(world, this.id(id, put, "removeBody"))); }

	/** All of them, or none. */
	removeBodies(ids) {
		const words = idWords(ids, "removeBodies");
		this.change((world, put) => this.carom.exports.cw_remove_bodies(world, ids.length, put(words, Uint32Array)));
	}

	isBody(id) { return this.carom.scratch((put) => this.carom.exports.cw_is_body(this.address, this.id(id, put, "isBody")) !== 0); }

	/** Ids of all bodies, sorted by index. */
	get bodyIds() {
		const count = this.carom.exports.cw_body_count(this.address);
		return this.carom.scratch((put, room, read) => {
			const to = room(8 * count);
			this.carom.exports.cw_body_ids(this.address, count, to);
			return pairsOf(read(to, Uint32Array, 2 * count));
		});
	}

	setPose(id, pose) { this.setMany("setPose", "cw_set_poses", [id], pose, 7); }

	/** Poses [7n] of n bodies, at once. */
	setPoses(ids, poses) { this.setMany("setPoses", "cw_set_poses", ids, poses, 7); }

	/** Poses at the beginning and at the end of the coming step, [14n] of n bodies. */
	setMotions(ids, motions) { this.setMany("setMotions", "cw_set_motions", ids, motions, 14); }

	setMany(call, name, ids, numbers, each) {
		const words = idWords(ids, call);
		if (checkNumbers(numbers, `${call}: poses`).length !== each * ids.length)
			throw wrong(`${call}: ${ids.length} bodies have ${each * ids.length} numbers, not ${numbers.length}`);
		this.change((world, put) => this.carom.exports[name](world, ids.length, put(words, Uint32Array), put(numbers, Float64Array)));
	}

	/** Put bodies to sleep, or wake them. */
	setAsleep(ids, asleep) {
		const words = idWords(ids, "setAsleep");
		this.change((world, put) => this.carom.exports.cw_set_asleep(world, ids.length, put(words, Uint32Array), asleep ? 1 : 0));
	}

	/** Whether each body is asleep. */
	getAsleep(ids) {
		const words = idWords(ids, "getAsleep");
		return this.carom.scratch((put, room, read) => {
			const to = room(ids.length);
			this.carom.check(this.carom.exports.cw_get_asleep(this.address, ids.length, put(words, Uint32Array), to));
			return Array.from(read(to, Uint8Array, ids.length), (byte) => byte !== 0);
		});
	}

	/** Add an offset to all places: the origin is another. */
	shiftOrigin(offset) {
		if (checkNumbers(offset, "shiftOrigin: offset").length !== 3)
			throw wrong(`shiftOrigin: offset has 3 numbers, not ${offset.length}`);
		this.change((world, put) => this.carom.exports.cw_shift_origin(world, put(offset, Float64Array)));
	}

	getPose(id) { return [...this.getPoses([id])]; }

	/** Poses of n bodies, [7n]. */
	getPoses(ids) {
		return this.carom.scratch((put, room, read) => {
			const words = idWords(ids, "getPoses"), to = room(56 * ids.length);
			this.carom.check(this.carom.exports.cw_get_poses(this.address, ids.length, put(words, Uint32Array), to));
			return read(to, Float64Array, 7 * ids.length);
		});
	}

	/** The box of a body in the world: { lower, upper }. */
	getBox(id) {
		return this.carom.scratch((put, room, read) => {
			const to = room(48);
			this.carom.check(this.carom.exports.cw_get_box(this.address, this.id(id, put, "getBox"), to));
			const numbers = [...read(to, Float64Array, 6)];
			return { lower: numbers.slice(0, 3), upper: numbers.slice(3) };
		});
	}

	getUserData(id) {
		return this.carom.scratch((put, room, read) => {
			const to = room(8);
			this.carom.check(this.carom.exports.cw_get_user_data(this.address, this.id(id, put, "getUserData"), to));
			return read(to, BigUint64Array, 1)[0];
		});
	}

	setUserData(id, data) {
		checkValue("u64", data, "setUserData: data");
		this.change((world, put) => this.carom.exports.cw_set_user_data(world, this.id(id, put, "setUserData"), BigInt(data)));
	}

	/** The number of a part (userData in parts) that a result or an answer names; 0 of a body without parts. A contactFilter may ask too. */
	getPartData(id, part) {
		checkValue("i32", part, "getPartData: part");
		return this.carom.scratch((put, room, read) => {
			const to = room(8), world = this.carom.isAsking(this, "contactFilter") ? this.pointer : this.address;
			this.carom.check(this.carom.exports.cw_get_part_data(world, this.id(id, put, "getPartData"), part, to));
			return read(to, BigUint64Array, 1)[0];
		});
	}

	setPartData(id, part, data) {
		checkValue("i32", part, "setPartData: part");
		checkValue("u64", data, "setPartData: data");
		this.change((world, put) => this.carom.exports.cw_set_part_data(world, this.id(id, put, "setPartData"), part, BigInt(data)));
	}

	/** A body as it is now, in the form that addBody takes. Meshes in it are new handles: destroy them, or let them be forgotten. */
	getBody(id) {
		return this.carom.scratch((put, room) => {
			const { carom } = this, at = room(layoutOf("body_def").size);
			carom.check(carom.exports.cw_get_body(this.address, this.id(id, put, "getBody"), at));
			const body = carom.readRecord("body_def", at), inner = carom.readInner("body_def", at), size = layoutOf("part").size;
			if (body.kind === "granular") {
				const [centres, radii] = ["centres", "radii"].map((field, i) => carom.readStrided(placeOf("body_def", at, field), inner.sphere_count, i ? 1 : 3));
				return { ...body, centres, radii };
			}
			if (!inner.part_count)
				return { ...body, shape: carom.readShape(placeOf("body_def", at, "shape")) };
			const parts = Array.from({ length: inner.part_count }, (none, i) => {
				const part = inner.parts + i * size;
				return { ...carom.readShape(part), ...carom.readRecord("part", part) };
			});
			return { ...body, parts };
		});
	}

	/** Whom a body meets; what is left out stays. */
	setFilter(id, given) {
		const { category, mask, group } = filterOf(given, this.getFilter(id));
		this.change((world, put) => this.carom.exports.cw_set_filter(world, this.id(id, put, "setFilter"), BigInt(category), BigInt(mask), group));
	}

	/** Kind, sensor, selfCollision, continuous, contacts, shapeImpacts, thickness; what is left out stays. */
	setTraits(id, given) {
		const names = ["kind", "sensor", "selfCollision", "continuous", "contacts", "shapeImpacts", "thickness"];
		for (const name of Object.keys(checkSettings(given, "setTraits")))
			if (!names.includes(name))
				throw wrong(`setTraits: there is no trait ${name}; they are ${names.join(", ")}`);
		this.change((world, put, room) => {
			const x = this.carom.exports, at = room(layoutOf("body_def").size), number = this.id(id, put, "setTraits");
			this.carom.check(x.cw_get_body(world, number, at));
			const now = this.carom.readRecord("body_def", at);
			const members = Object.fromEntries(names.map((name) => [name, given && given[name] !== undefined ? given[name] : now[name]]));
			return x.cw_set_traits(world, number, this.carom.putRecord("body_def", room, x.cw_default_body_def, members, "setTraits: "));
		});
	}

	getFilter(id) {
		return this.carom.scratch((put, room, read) => {
			const bits = room(16), group = room(4);
			this.carom.check(this.carom.exports.cw_get_filter(this.address, this.id(id, put, "getFilter"), bits, group));
			const [category, mask] = read(bits, BigUint64Array, 2);
			return { category, mask, group: read(group, Int32Array, 1)[0] };
		});
	}

	/** Give a rigid body without parts another shape, in place. */
	setShape(id, shape) {
		this.change((world, put, room) => this.carom.exports.cw_set_shape(world, this.id(id, put, "setShape"), this.carom.putShape(room, shape, "setShape: shape")));
	}

	/** Give the height field of a body other heights in a rectangle of columns, from firstColumn and firstRow on. */
	editField(id, heights, columns, options) {
		const { firstColumn, firstRow } = settingsOf("editField", options, { firstColumn: 0, firstRow: 0 });
		checkValue("i32", columns, "editField: columns");
		checkNumbers(heights, "editField: heights", columns);
		const region = { firstColumn, firstRow, columns, rows: heights.length / columns };
		this.change((world, put, room) => this.carom.exports.cw_edit_field(world, this.id(id, put, "editField"),
			this.carom.putRecord("field_region", room, () => {}, region, "editField: "), put(heights, Float32Array)));
	}

	/** Give cells of the height field of a body other materials, two for each cell, in a rectangle of columns of cells. */
	paintField(id, materials, columns, options) {
		const { firstColumn, firstRow } = settingsOf("paintField", options, { firstColumn: 0, firstRow: 0 });
		checkValue("i32", columns, "paintField: columns");
		checkWhole(materials, "paintField: materials", 2 * columns, "u32");
		const region = { firstColumn, firstRow, columns, rows: materials.length / (2 * columns) };
		this.change((world, put, room) => this.carom.exports.cw_paint_field(world, this.id(id, put, "paintField"),
			this.carom.putRecord("field_region", room, () => {}, region, "paintField: "), put(materials, Uint32Array)));
	}

	/** Give a body with parts other parts, up to its partRoom; without room at most as many as it has. */
	setParts(id, parts) {
		this.change((world, put, room) => this.carom.exports.cw_set_parts(world, this.id(id, put, "setParts"), this.carom.putParts(room, parts, "setParts: parts"), parts.length));
	}

	// ---- Deforming bodies, and spheres ----

	/** Places of the vertices of a deforming body at the end of the coming step, [3n], and, if given, at its beginning. end null: it is put to begin. */
	setVertices(id, end, begin = null) {
		const count = this.getVertices(id).length;
		for (const [name, places] of [["end", end], ["begin", begin]]) {
			if (places !== null && places !== undefined && checkNumbers(places, `setVertices: ${name}`).length !== count)
				throw wrong(`setVertices: ${name} has ${places.length} numbers; the body has ${count / 3} vertices, which are ${count}`);
		}
		this.change((world, put) => this.carom.exports.cw_set_vertices(world, this.id(id, put, "setVertices"), begin ? put(begin, Float64Array) : 0, end ? put(end, Float64Array) : 0));
	}

	/** The places set last, [3n]. */
	getVertices(id) { return this.getPlaces(id, "getVertices", "cw_get_vertices", 3); }

	/** How much a deforming body encloses: { volume, restVolume, insideOut }. */
	getEnclosed(id) {
		return this.carom.scratch((put, room, read) => {
			const to = room(24);
			this.carom.check(this.carom.exports.cw_get_enclosed(this.address, this.id(id, put, "getEnclosed"), to));
			const [volume, restVolume] = read(to, Float64Array, 2);
			return { volume, restVolume, insideOut: read(to + 16, Uint8Array, 1)[0] !== 0 };
		});
	}

	getPlaces(id, call, name, each) {
		return this.carom.scratch((put, room, read) => {
			const [pointer, count] = this.carom.listAt(put, (place) => this.carom.exports[name](this.address, this.id(id, put, call), place));
			return read(pointer, Float64Array, each * count);
		});
	}

	/**
	 * Give a deforming body another mesh. from [n]: which vertex of the present mesh each new one was, -1: none; left out: those of its number.
	 * places [3n]: of those that are new.
	 */
	setMesh(id, mesh, options) {
		const { from, places } = settingsOf("setMesh", options, { from: null, places: null }), address = this.carom.addressOf(mesh, Mesh, "setMesh: mesh");
		const count = mesh.report.vertexCount;
		if (from !== null)
			checkWhole(from, "setMesh: from");
		for (const [name, numbers, each] of [["from", from, 1], ["places", places, 3]]) {
			if (numbers !== null && checkNumbers(numbers, `setMesh: ${name}`).length !== each * count)
				throw wrong(`setMesh: ${name} has ${numbers.length} numbers; the mesh has ${count} vertices, which are ${each * count}`);
		}
		this.change((world, put) => this.carom.exports.cw_set_mesh(world, this.id(id, put, "setMesh"), address,
			from ? put(from, Int32Array) : 0, places ? put(places, Float64Array) : 0));
	}

	/** Where the spheres of a granular body are, [3n], and, if given, their radii [n]: then there may be another number of them. */
	setSpheres(id, centres, radii = null) {
		const count = checkSpheres("setSpheres", centres, radii);
		this.change((world, put) => this.carom.exports.cw_set_spheres(world, this.id(id, put, "setSpheres"), count, put(centres, Float64Array), radii ? put(radii, Float64Array) : 0));
	}

	/** As setSpheres, for spheres that come, go or get another order: ids [n] (a BigUint64Array, bigints, or whole numbers) tell which is which. */
	setSpheresById(id, ids, centres, radii = null) {
		const count = checkSpheres("setSpheresById", centres, radii), names = checkNames(ids, "setSpheresById: ids");
		if (names.length !== count)
			throw wrong(`setSpheresById: ${names.length} ids, and ${centres.length} coordinates`);
		this.change((world, put) => this.carom.exports.cw_set_spheres_by_id(world, this.id(id, put, "setSpheresById"), count, put(centres, Float64Array),
			radii ? put(radii, Float64Array) : 0, put(names, BigUint64Array)));
	}

	/** Where the spheres of a continuous granular body begin the coming step, [3n], in the place of where they were. */
	setSphereBegins(id, begins) {
		const count = this.getSpheres(id).length / 4;
		if (checkNumbers(begins, "setSphereBegins: begins").length !== 3 * count)
			throw wrong(`setSphereBegins: begins has ${begins.length} numbers; the body has ${count} spheres, which are ${3 * count}`);
		this.change((world, put) => this.carom.exports.cw_set_sphere_begins(world, this.id(id, put, "setSphereBegins"), put(begins, Float64Array)));
	}

	/** The spheres set last: x, y, z, radius of each, [4n]. */
	getSpheres(id) { return this.getPlaces(id, "getSpheres", "cw_get_spheres", 4); }

	/** The ids that setSpheresById gave to the spheres, [n]; null: none were given, and their numbers are their ids. */
	getSphereIds(id) {
		return this.carom.scratch((put, room, read) => {
			const [pointer, count] = this.carom.listAt(put, (place) => this.carom.exports.cw_get_sphere_ids(this.address, this.id(id, put, "getSphereIds"), place));
			return pointer ? read(pointer, BigUint64Array, count) : null;
		});
	}

	// ---- Steps, results ----

	/** Find all contacts of the bodies as they are, and all impacts on the way from where they were. */
	/** Room ahead for parts of bodies, pairs and contacts, so many in all. */
	reserve(parts, pairs, contacts) {
		this.change((world) => this.carom.exports.cw_reserve(world, parts, pairs, contacts));
	}

	/** Give back the memory that the content of the world does not need. The memory of the module stays as large as it was. */
	trim() { this.change((world) => this.carom.exports.cw_trim(world)); }

	step() { this.change((world) => this.carom.exports.cw_step(world)); }

	results(name, which) {
		return this.carom.readList(name, (place) => { this.carom.exports.cw_results(this.address, which, place); return 0; });
	}

	/**
	 * A list of the step as an array for each member, as batches answer: the numbers of a record lie in a row. Far quicker than the list of
	 * objects where there are many. Words are their numbers in WORDS, ids two numbers, 64 bits bigints.
	 */
	columns(list) {
		const index = Object.keys(RESULTS).indexOf(list);
		if (index < 0)
			throw wrong(`columns: list is ${show(list)}: it is one of ${Object.keys(RESULTS).map((name) => `"${name}"`).join(", ")}`);
		return this.carom.scratch((put) => {
			const [pointer, count] = this.carom.listAt(put, (place) => { this.carom.exports.cw_results(this.address, index, place); return 0; });
			return this.carom.readColumns(RESULTS[list], pointer, count);
		});
	}

	/** Contacts as numbers, 16 of each: a, b, point, normal, depth, featureA, featureB, kind, partA, partB, age, pair. Quicker where there are many. */
	get contactNumbers() {
		return this.carom.scratch((put, room, read) => {
			const count = this.carom.listAt(put, (place) => { this.carom.exports.cw_results(this.address, 0, place); return 0; })[1], to = room(128 * count);
			this.carom.exports.cw_contact_numbers(this.address, to);
			return read(to, Float64Array, 16 * count);
		});
	}

	/** 16 hexadecimal digits; equal for equal contacts, on every machine. */
	get contactHash() { return hashText(this.carom.exports.cw_hash_contacts(this.address)); }

	/** carom_world_hash as 16 hexadecimal digits: of all contacts and impacts of the last step. */
	get hash() { return hashText(this.carom.exports.cw_hash(this.address)); }

	/** Pairs of touching spheres: numbers a0, b0, a1, b1, ...; sphereGroups tells whose they are. */
	get spherePairs() {
		return this.carom.scratch((put, room, read) => {
			const [pointer, count] = this.carom.listAt(put, (place) => { this.carom.exports.cw_results(this.address, SPHERE_PAIRS, place); return 0; });
			return read(pointer, Uint32Array, 2 * count);
		});
	}

	/** Numbers of sphereContacts, where those of a pair stand side by side: from pair.firstSphereContact on. */
	get sphereContactsByPair() {
		return this.carom.scratch((put, room, read) => {
			const [pointer, count] = this.carom.listAt(put, (place) => { this.carom.exports.cw_results(this.address, SPHERES_BY_PAIR, place); return 0; });
			return read(pointer, Int32Array, count);
		});
	}

	/** Counts, times and memory of the last step. */
	get stats() {
		return this.carom.scratch((put, room) => {
			const to = room(layoutOf("stats").size);
			this.carom.exports.cw_stats(this.address, to);
			return this.carom.readRecord("stats", to);
		});
	}

	/** Counts and times of the last search for impacts of deforming bodies. */
	get sweepStats() { return this.carom.readAnswer("sweep_stats", (to) => { this.carom.exports.cw_sweep_stats_of(this.address, to); return 0; }); }

	/** The first of impacts, or null. */
	get earliestImpact() { return this.readEarliest("impact", this.carom.exports.cw_earliest_impact(this.address)); }

	/** The first of shapeImpacts, or null. */
	get earliestShapeImpact() { return this.readEarliest("shape_impact", this.carom.exports.cw_earliest_shape_impact(this.address)); }

	/** The first of bodyImpacts of a body, or of all; null where there is none. Sensors and bodies that touch from the beginning do not count. */
	earliestBodyImpact(id = [0, 0]) {
		return this.carom.scratch((put) => this.readEarliest("body_impact", this.carom.exports.cw_earliest_body_impact(this.address, this.id(id, put, "earliestBodyImpact"))));
	}

	readEarliest(name, at) { return at ? this.carom.readRecord(name, at) : null; }

	/** Store the impulse of a contact, by its number in contacts: the contact that matches it in the next step hands it back. */
	setImpulse(contact, impulse) { this.handBack("setImpulse", "cw_set_impulse", contact, impulse); }

	/** setImpulse for a contact of surfaceContacts. */
	setSurfaceImpulse(contact, impulse) { this.handBack("setSurfaceImpulse", "cw_set_surface_impulse", contact, impulse); }

	/** setImpulse for a contact of surfaceShapeContacts. */
	setSurfaceShapeImpulse(contact, impulse) { this.handBack("setSurfaceShapeImpulse", "cw_set_surface_shape_impulse", contact, impulse); }

	/** setImpulse for a contact of sphereContacts. */
	setSphereImpulse(contact, impulse) { this.handBack("setSphereImpulse", "cw_set_sphere_impulse", contact, impulse); }

	/** setImpulse for all contacts at once, in their order: three numbers for each. */
	setImpulses(impulses) { this.handAllBack("setImpulses", "cw_set_impulses", impulses); }

	/** setImpulses for surfaceContacts. */
	setSurfaceImpulses(impulses) { this.handAllBack("setSurfaceImpulses", "cw_set_surface_impulses", impulses); }

	/** setImpulses for surfaceShapeContacts. */
	setSurfaceShapeImpulses(impulses) { this.handAllBack("setSurfaceShapeImpulses", "cw_set_surface_shape_impulses", impulses); }

	/** setImpulses for sphereContacts. */
	setSphereImpulses(impulses) { this.handAllBack("setSphereImpulses", "cw_set_sphere_impulses", impulses); }

	handAllBack(name, call, impulses) {
		const count = checkNumbers(impulses, `${name}: impulses`).length;
		if (count % 3 !== 0)
			throw wrong(`${name}: impulses has ${count} numbers; it must have 3 for each contact`);
		this.change((world, put) => this.carom.exports[call](world, count / 3, put(impulses, Float32Array)));
	}

	handBack(name, call, contact, impulse) {
		if (checkNumbers(impulse, `${name}: impulse`).length !== 3)
			throw wrong(`${name}: impulse has ${impulse.length} numbers; it must have 3`);
		checkValue("i32", contact, `${name}: contact`);
		this.change((world, put) => this.carom.exports[call](world, contact, put(impulse, Float32Array)));
	}

	/** The corners of A and of B that a contact acts on, by its number in contacts: { vertices, weights }; null: the body does not deform. */
	contactCorners(contact) {
		checkValue("i32", contact, "contactCorners: contact");
		return this.carom.scratch((put, room) => {
			const to = room(2 * layoutOf("contact_corners").size);
			this.carom.check(this.carom.exports.cw_contact_corners(this.address, contact, to));
			const [a, b] = this.carom.readRecords("contact_corners", to, 2).map(({ count, vertices, weights }) =>
				count ? { vertices: vertices.slice(0, count), weights: weights.slice(0, count) } : null);
			return { a, b };
		});
	}

	/** Store a number with a pair, by its number in pairs, until the pair ends. */
	setPairData(pair, data) {
		checkValue("i32", pair, "setPairData: pair");
		checkValue("u64", data, "setPairData: data");
		this.change((world) => this.carom.exports.cw_set_pair_data(world, pair, BigInt(data)));
	}

	/** Let the coming steps list pairs of bodies, or not, and keep so many contacts for two bodies: 1 to 256; 0: no limit. */
	setBodyPairs(listed, maxContacts = 0) {
		checkValue("bool", listed, "setBodyPairs: listed");
		checkValue("i32", maxContacts, "setBodyPairs: maxContacts");
		this.change((world) => this.carom.exports.cw_set_body_pairs(world, listed ? 1 : 0, maxContacts));
	}

	/** As setPairData, for a pair of bodies, by its number in bodyPairs. */
	setBodyPairData(pair, data) {
		checkValue("i32", pair, "setBodyPairData: pair");
		checkValue("u64", data, "setBodyPairData: data");
		this.change((world) => this.carom.exports.cw_set_body_pair_data(world, pair, BigInt(data)));
	}

	// ---- Queries ----
	//
	// Each takes { filter }: { category, mask, skipSensors, skipSeparating, skipBackFaces, ignore, bodyFilter }, of which bodies it sees.

	/** The first hit of a ray, or null. */
	castRay(origin, direction, options) {
		const { filter, ...limits } = settingsOf("castRay", options, { ...SEEN, ...RAY });
		return this.askOne("ray_hit", filter, "castRay", (found, to, put, room, seen) =>
			this.carom.exports.cw_cast_ray(this.address, putRay(put, origin, direction, limits, "castRay"), seen, found, to));
	}

	/** Does a ray hit anything? */
	castRayAny(origin, direction, options) {
		const { filter, ...limits } = settingsOf("castRayAny", options, { ...SEEN, ...RAY });
		return this.hear([filter], () => this.carom.readVerdict((found, put, room) => this.carom.exports.cw_cast_ray_any(
			this.address, putRay(put, origin, direction, limits, "castRayAny"), this.carom.putFilter(room, filter, "castRayAny: filter"), found)));
	}

	/** All hits of a ray, sorted by t. */
	castRayAll(origin, direction, options) {
		const { filter, ...limits } = settingsOf("castRayAll", options, { ...SEEN, ...RAY });
		return this.askList("ray_hit", filter, "castRayAll", (put, room, ...list) =>
			this.carom.exports.cw_cast_ray_all(this.address, putRay(put, origin, direction, limits, "castRayAll"), ...list));
	}

	/** The nearest point of all bodies, or null; its distance is negative inside of a body. */
	closestPoint(point, maxDistance = Infinity, options) {
		const { filter } = settingsOf("closestPoint", options, SEEN);
		checkValue("f64", maxDistance, "closestPoint: maxDistance");
		return this.askOne("closest_point", filter, "closestPoint", (found, to, put, room, seen) =>
			this.carom.exports.cw_closest_point(this.address, putVector(put, point, "closestPoint: point"), maxDistance, seen, found, to));
	}

	/** Ids of the bodies that a box touches. */
	overlapBox(lower, upper, options) {
		const { filter } = settingsOf("overlapBox", options, SEEN);
		checkVector(lower, "overlapBox: lower");
		checkVector(upper, "overlapBox: upper");
		return this.askList("id", filter, "overlapBox", (put, room, ...list) =>
			this.carom.exports.cw_overlap_box(this.address, put([...lower, ...upper], Float64Array), ...list));
	}

	/** Ids of the bodies that a shape at a pose overlaps. */
	overlapShape(shape, pose = IDENTITY, options) {
		const { filter } = settingsOf("overlapShape", options, SEEN);
		return this.askList("id", filter, "overlapShape", (put, room, ...list) =>
			this.carom.exports.cw_overlap_shape(this.address, this.placed(room, shape, pose, "overlapShape"), ...list));
	}

	/** The contacts that a shape at a pose would have; it is a, and no body. */
	collideShape(shape, pose = IDENTITY, options) {
		const { filter } = settingsOf("collideShape", options, SEEN);
		return this.askList("contact", filter, "collideShape", (put, room, ...list) =>
			this.carom.exports.cw_collide_shape(this.address, this.placed(room, shape, pose, "collideShape"), ...list));
	}

	/** The body nearest to a shape at a pose, or null. */
	closestBody(shape, pose = IDENTITY, options) {
		const { maxDistance, filter } = settingsOf("closestBody", options, { maxDistance: Infinity, ...SEEN });
		return this.askOne("closest_body", filter, "closestBody", (found, to, put, room, seen) =>
			this.carom.exports.cw_closest_body(this.address, this.placed(room, shape, pose, "closestBody"), maxDistance, seen, found, to));
	}

	/** The two bodies that are nearest to each other, or null. */
	closestPair(options) {
		const { maxDistance, filterA, filterB } = settingsOf("closestPair", options, { maxDistance: Infinity, filterA: null, filterB: null });
		return this.hear([filterA, filterB], () => this.carom.readFound("closest_pair", (found, to, put, room) => this.carom.exports.cw_closest_pair(this.address,
			maxDistance, this.carom.putFilter(room, filterA, "closestPair: filterA"), this.carom.putFilter(room, filterB, "closestPair: filterB", 1), found, to)));
	}

	/** Triangles of a deforming body that cross its own surface or that of other bodies of meshes. id null: of all that deform, each pair once. */
	findCrossings(id = null, options) {
		const { filter } = settingsOf("findCrossings", options, SEEN);
		return this.askList("crossing", filter, "findCrossings", (put, room, ...list) =>
			this.carom.exports.cw_find_crossings(this.address, id === null ? 0 : this.id(id, put, "findCrossings"), ...list));
	}

	/**
	 * Rays from the vertices of a deforming body along their ways, [3n] or null: those of the coming step, forward and back. An estimate that
	 * misses some of what impacts and surface contacts find.
	 */
	castVelocityRays(id, ways = null, options) {
		const { filter, ...rays } = settingsOf("castVelocityRays", options, { maxDistance: 0, relative: false, every: 1, ...SEEN });
		if (ways !== null && checkNumbers(ways, "castVelocityRays: ways").length !== this.getVertices(id).length)
			throw wrong(`castVelocityRays: ways has ${ways.length} numbers; the body has ${this.getVertices(id).length / 3} vertices`);
		return this.askList("velocity_hit", filter, "castVelocityRays", (put, room, ...list) =>
			this.carom.exports.cw_cast_velocity_rays(this.address, this.id(id, put, "castVelocityRays"), ways === null ? 0 : put(ways, Float64Array),
				this.carom.putRecord("velocity_rays", room, () => {}, rays, "castVelocityRays: "), ...list));
	}

	/** The body that a shape meets first on its way from one pose to another, or null. */
	castShape(shape, begin, end, options) {
		const { tolerance, filter } = settingsOf("castShape", options, { tolerance: 1e-3, ...SEEN });
		return this.askOne("shape_hit", filter, "castShape", (found, to, put, room, seen) => {
			checkPose(begin, "castShape: begin");
			checkPose(end, "castShape: end");
			const way = this.carom.putShapes(room, shape, [...begin, ...end], 14, "castShape");
			return this.carom.exports.cw_cast_shape(this.address, way.at, tolerance, seen, found, to);
		});
	}

	/** Every body that a shape meets on its way, each with its first hit, sorted by time. */
	castShapeAll(shape, begin, end, options) {
		const { tolerance, filter } = settingsOf("castShapeAll", options, { tolerance: 1e-3, ...SEEN });
		return this.askList("shape_hit", filter, "castShapeAll", (put, room, ...list) => {
			checkPose(begin, "castShapeAll: begin");
			checkPose(end, "castShapeAll: end");
			const way = this.carom.putShapes(room, shape, [...begin, ...end], 14, "castShapeAll");
			return this.carom.exports.cw_cast_shape_all(this.address, way.at, tolerance, ...list);
		});
	}

	/** The body that parts which move as one body meet first on the way of their frame from one pose to another, or null. */
	castParts(parts, begin, end, options) {
		const { tolerance, filter } = settingsOf("castParts", options, { tolerance: 1e-3, ...SEEN });
		return this.askOne("shape_hit", filter, "castParts", (found, to, put, room, seen) =>
			this.carom.exports.cw_cast_parts(this.address, ...this.partsOnTheirWay(parts, begin, end, put, room, "castParts"), tolerance, seen, found, to));
	}

	/** Every body that such parts meet on their way, each with its first hit, sorted by time. */
	castPartsAll(parts, begin, end, options) {
		const { tolerance, filter } = settingsOf("castPartsAll", options, { tolerance: 1e-3, ...SEEN });
		return this.askList("shape_hit", filter, "castPartsAll", (put, room, ...list) =>
			this.carom.exports.cw_cast_parts_all(this.address, ...this.partsOnTheirWay(parts, begin, end, put, room, "castPartsAll"), tolerance, ...list));
	}

	partsOnTheirWay(parts, begin, end, put, room, call) {
		checkPose(begin, `${call}: begin`);
		checkPose(end, `${call}: end`);
		return [this.carom.putParts(room, parts, `${call}: parts`), parts.length, put([...begin, ...end], Float64Array)];
	}

	placed(room, shape, pose, call) { return this.carom.placed(room, shape, pose, call); }

	askOne(name, filter, call, ask) {
		return this.hear([filter], () => this.carom.readFound(name, (found, to, put, room) =>
			ask(found, to, put, room, this.carom.putFilter(room, filter, `${call}: filter`))));
	}

	hear(filters, call) { return this.carom.hear(this, filters, call); }

	/** Records, or ids, of which call(put, room, filter, capacity, to, count) writes as many as there is room for. */
	askList(name, filter, what, call) {
		return this.hear([filter], () => this.carom.readRows(name === "id" ? 8 : layoutOf(name).size,
			(put, room, ...list) => call(put, room, this.carom.putFilter(room, filter, `${what}: filter`), ...list),
			(at, n) => name === "id" ? pairsOf(this.carom.readNumbers(at, Uint32Array, 2 * n)) : this.carom.readRecords(name, at, n)));
	}

	// ---- Batches ----
	//
	// Query i is row i of every array. Answers are an array for each member: answers.point[3 * i]. Each takes { filter, ignore, results }: ignore [2n]
	// is the body that each query does not see; with results true a wrong query does not fail the call, and answers.results [n] tells its result,
	// which resultName has a name for. Lists have first [n + 1]: answers first[i] to first[i + 1] - 1 are those of query i.

	/** The first hits of rays: origins and directions [3n]; tMin, tMax: a number, or [n]. body is 0, 0 where there is none. */
	castRays(origins, directions, options) { return this.askRays("castRays", "cw_cast_rays", "ray_hit", origins, directions, options); }

	/** Do rays hit anything? found [n]: 1 or 0. */
	castRaysAny(origins, directions, options) { return this.askRays("castRaysAny", "cw_cast_rays_any", "found", origins, directions, options); }

	/** All hits of rays. */
	castRaysAll(origins, directions, options) {
		const { tMin, tMax, ...batch } = settingsOf("castRaysAll", options, { ...BATCH, ...RAYS });
		return this.askLists("castRaysAll", "cw_cast_rays_all", "ray_hit", batch, (put) => putRays(put, origins, directions, { tMin, tMax }, "castRaysAll"));
	}

	/** The nearest points to points [3n]; body is 0, 0 where none is within maxDistance. */
	closestPoints(points, options) {
		const { maxDistance, ...batch } = settingsOf("closestPoints", options, { ...BATCH, maxDistance: Infinity });
		return this.askEach("closestPoints", "cw_closest_points", "closest_point", batch, (put) => putRows(put, points, 3, "closestPoints: points"), maxDistance);
	}

	/** The bodies that boxes touch, [6n]: the lower and the upper corner of each. */
	overlapBoxes(boxes, options) {
		return this.askLists("overlapBoxes", "cw_overlap_boxes", "id", settingsOf("overlapBoxes", options, BATCH), (put) => putRows(put, boxes, 6, "overlapBoxes: boxes"));
	}

	/** The bodies that shapes at poses [7n] overlap; shapes: one for all, or [n]. */
	overlapShapes(shapes, poses, options) {
		return this.askLists("overlapShapes", "cw_overlap_shapes", "id", settingsOf("overlapShapes", options, BATCH), (put, room) => this.carom.putShapes(room, shapes, poses, 7, "overlapShapes"));
	}

	/** The contacts that shapes at poses [7n] would have. */
	collideShapes(shapes, poses, options) {
		return this.askLists("collideShapes", "cw_collide_shapes", "contact", settingsOf("collideShapes", options, BATCH), (put, room) => this.carom.putShapes(room, shapes, poses, 7, "collideShapes"));
	}

	/** The bodies nearest to shapes at poses [7n]; body is 0, 0 where none is within maxDistance. */
	closestBodies(shapes, poses, options) {
		const { maxDistance, ...batch } = settingsOf("closestBodies", options, { ...BATCH, maxDistance: Infinity });
		return this.askEach("closestBodies", "cw_closest_bodies", "closest_body", batch, (put, room) => this.carom.putShapes(room, shapes, poses, 7, "closestBodies"), maxDistance);
	}

	/** The bodies that shapes meet first on their ways, [14n]: the poses at the beginning and at the end. */
	castShapes(shapes, motions, options) {
		const { tolerance, ...batch } = settingsOf("castShapes", options, { ...BATCH, tolerance: 1e-3 });
		return this.askEach("castShapes", "cw_cast_shapes", "shape_hit", batch, (put, room) => this.carom.putShapes(room, shapes, motions, 14, "castShapes"), tolerance);
	}

	/** All bodies that shapes meet on their ways, [14n]. */
	castShapesAll(shapes, motions, options) {
		const { tolerance, ...batch } = settingsOf("castShapesAll", options, { ...BATCH, tolerance: 1e-3 });
		return this.askLists("castShapesAll", "cw_cast_shapes_all", "shape_hit", batch, (put, room) => this.carom.putShapes(room, shapes, motions, 14, "castShapesAll"), tolerance);
	}

	askRays(call, name, record, origins, directions, options) {
		const { tMin, tMax, ...batch } = settingsOf(call, options, { ...BATCH, ...RAYS });
		return this.askEach(call, name, record, batch, (put) => putRays(put, origins, directions, { tMin, tMax }, call));
	}

	/** One answer for each query that input puts into memory. */
	askEach(call, name, record, options, input, ...more) {
		return this.hear([options.filter], () => this.carom.askEach(call, record, options, input, (batch, at, to) => this.carom.exports[name](this.address, batch, at, ...more, to)));
	}

	/** A list of answers for each query. */
	askLists(call, name, record, options, input, ...more) {
		return this.hear([options.filter], () => this.carom.askLists(call, record, options, input, (batch, at, capacity, to, first) => this.carom.exports[name](this.address, batch, at, ...more, capacity, to, first)));
	}

	// ---- Snapshots, recordings ----

	/** A new Snapshot of the world as it is. save() reuses one without taking memory. */
	snapshot() {
		const made = this.emptySnapshot();
		this.saveInto(made);
		return made;
	}

	/** Replace the content of a snapshot by the world as it is. */
	save(snapshot) { this.change((world) => this.carom.exports.cw_save(world, this.carom.addressOf(snapshot, Snapshot, "save: snapshot"))); }

	/** Put the world back into the state of a snapshot, whatever has been done since. */
	restore(snapshot) { this.change((world) => this.carom.exports.cw_restore(world, this.carom.addressOf(snapshot, Snapshot, "restore: snapshot"))); }

	/** A snapshot of the bytes that Snapshot.save made; the world must have equal bodies, added and removed in the same order. */
	loadSnapshot(data) {
		const bytes = bytesOf(data, "loadSnapshot: data"), made = this.emptySnapshot();
		return this.orDestroy(made, () => this.change((world, put) => this.carom.exports.cw_snapshot_load(made.address, put(bytes, Uint8Array), bytes.length)));
	}

	emptySnapshot() {
		return this.carom.make(Snapshot, (pointer) => this.carom.exports.cw_destroy_snapshot(pointer), (place) => this.carom.exports.cw_create_snapshot(this.address, place));
	}

	saveInto(made) { this.orDestroy(made, () => this.save(made)); }

	orDestroy(made, call) {
		try {
			call();
		} catch (reason) {
			made.destroy();
			throw reason;
		}
		return made;
	}

	/**
	 * Hand every following call that changes the world, and a hash of each step, to write(bytes), which returns false to give up; null ends it.
	 * carom.replay() runs the bytes, all in a row.
	 */
	record(write) {
		const given = this.carom.checkFunction(write, "record: write"), functions = this.functions;
		if (functions.write && given)
			this.carom.guard(this, (address) => { this.carom.exports.cw_record(address, 0); return 0; });
		if (given)
			functions.write = given;
		try {
			this.change((world) => this.carom.exports.cw_record(world, given ? 1 : 0));
		} catch (reason) {
			functions.write = null;
			throw reason;
		}
		functions.write = given;
	}
}

for (const [index, [list, name]] of Object.entries(RESULTS).entries())
	Object.defineProperty(World.prototype, list, { get() { return this.results(name, index); } });

/** How many spheres centres, and radii where they are given, stand for. */
function checkSpheres(call, centres, radii) {
	const count = checkNumbers(centres, `${call}: centres`).length / 3;
	if (count % 1 || (radii !== null && checkNumbers(radii, `${call}: radii`).length !== count))
		throw wrong(`${call}: ${radii ? `${radii.length} radii, and ` : ""}${centres.length} coordinates`);
	return count;
}

/** Whom a body or a mesh meets, over what it met. */
function filterOf(given, before) {
	const filter = { ...before };
	for (const [name, value] of Object.entries(checkSettings(given, "setFilter"))) {
		if (!(name in before))
			throw wrong(`setFilter: there is no setting ${name}; there are ${Object.keys(before).join(", ")}`);
		if (value !== undefined)
			filter[name] = checkValue(name === "group" ? "i32" : "u64", value, `setFilter: ${name}`);
	}
	return filter;
}

/** Numbers of 64 bits that are small. */
const lowWords = (words) => words.filter((none, i) => i % 2 === 0);

function pairsOf(words) {
	const list = [];
	for (let i = 0; i < words.length; i += 2)
		list.push([words[i], words[i + 1]]);
	return list;
}

/** A state of a world: world.snapshot() makes one, world.save() saves into it, world.restore() goes back to it. */
export class Snapshot extends Handle {
	/** 16 hexadecimal digits: worlds that were treated alike have equal ones, on every machine. */
	get hash() { return hashText(this.carom.exports.cw_snapshot_hash(this.address)); }

	/** Bytes that it holds, without meshes. */
	get memory() { return this.carom.exports.cw_snapshot_memory(this.address) >>> 0; }

	/** Its content as bytes, for World.loadSnapshot of a module of the same version. */
	save() {
		let bytes = null;
		this.functions = { write: (given) => { bytes = given; } };
		this.carom.guard(this, (address) => this.carom.exports.cw_snapshot_save(address));
		return bytes;
	}

	/** The first thing in which two snapshots differ, { list, field, index, body }, or null. */
	difference(other) {
		const theirs = this.carom.addressOf(other, Snapshot, "difference: other");
		return this.carom.scratch((put, room) => {
			const to = room(layoutOf("snapshot_difference").size);
			return this.carom.exports.cw_snapshots_differ(this.address, theirs, to) ? this.carom.readRecord("snapshot_difference", to) : null;
		});
	}
}

/** A set of meshes that deform: what sweeps and proximity share. */
class Surfaces extends Handle {
	/** Add a mesh: vertices [3n], corners [3m]. self: does it meet itself? Returns its number. */
	addMesh(vertices, triangles, settings = {}) {
		checkNumbers(vertices, "addMesh: vertices", 3);
		checkWhole(triangles, "addMesh: triangles", 3);
		return this.carom.scratch((put, room, read) => {
			const at = this.carom.putRecord("sweep_mesh_def", room, this.carom.exports.cw_default_sweep_mesh_def, settings, "addMesh: "), number = put([0], Int32Array);
			this.carom.writePointers("sweep_mesh_def", at, { vertex_count: vertices.length / 3, triangles: put(triangles, Int32Array), triangle_count: triangles.length / 3 });
			this.carom.writePointers("strided", placeOf("sweep_mesh_def", at, "vertices"), { data: put(vertices, Float64Array), type: 1 });
			this.carom.check(this.calls.add(this.address, at, number));
			(this.counts = this.counts || []).push(vertices.length);
			return read(number, Int32Array, 1)[0];
		});
	}

	place(call, mesh, vertices) {
		if (checkNumbers(vertices, "vertices").length !== this.countOf(mesh))
			throw wrong(`mesh ${mesh} has ${this.countOf(mesh)} coordinates, not ${vertices.length}`);
		this.carom.scratch((put) => this.carom.check(call(this.address, mesh, put(vertices, Float64Array))));
	}

	/** The coordinates of a mesh. */
	countOf(mesh) {
		const count = this.counts && Number.isInteger(mesh) ? this.counts[mesh] : undefined;
		if (count === undefined)
			throw wrong(`mesh ${show(mesh)} has not been added`);
		return count;
	}

	/** Whom a mesh meets, as addMesh has it. */
	setFilter(mesh, given) {
		const { category, mask, group } = filterOf(given, { category: 1n, mask: 2n ** 64n - 1n, group: 0 });
		checkValue("i32", mesh, "setFilter: mesh");
		this.carom.check(this.calls.filter(this.address, mesh, BigInt(category), BigInt(mask), group));
	}

	/** Counts and times of the last search. */
	get stats() { return this.carom.readAnswer("sweep_stats", (to) => { this.calls.stats(this.address, to); return 0; }); }
}

export class Sweep extends Surfaces {
	get calls() {
		const x = this.carom.exports;
		return { add: x.cw_sweep_add_mesh, filter: x.cw_sweep_set_filter, stats: x.cw_sweep_stats };
	}

	/** Where the vertices of a mesh are at the end of the step; what was the end becomes the beginning. */
	moveMesh(mesh, vertices) { this.place(this.carom.exports.cw_sweep_move, mesh, vertices); }

	/** Put a mesh somewhere without a motion. */
	placeMesh(mesh, vertices) { this.place(this.carom.exports.cw_sweep_place, mesh, vertices); }

	// Lists are objects, or with { columns: true } an array for each member, as World.columns has them.

	/** All impacts of the step. */
	find(options) { return this.carom.readFoundList("find", "sweep_hit", options, (place) => this.carom.exports.cw_sweep_find(this.address, place)); }

	/** All pairs of features that may come nearer than a distance during the step. */
	findCandidates(distance, options) {
		checkValue("f64", distance, "distance");
		return this.carom.readFoundList("findCandidates", "sweep_candidate", options, (place) => this.carom.exports.cw_sweep_find_candidates(this.address, distance, place));
	}

	/** Edges that meet triangles where the step ends; touching counts. */
	findCrossings(options) { return this.carom.readFoundList("findCrossings", "sweep_crossing", options, (place) => this.carom.exports.cw_sweep_find_crossings(this.address, place)); }

	/** Those crossings, and the ways that make the lines shorter along which surfaces cross. */
	findWaysApart(options) { return this.carom.readFoundList("findWaysApart", "sweep_way_apart", options, (place) => this.carom.exports.cw_sweep_find_ways_apart(this.address, place)); }

	/** End the step at most at a time, and before its earliest impact: at rounded places, proved clear. Returns the time. */
	advance(time) {
		checkValue("f64", time, "time");
		return this.carom.scratch((put, room, read) => {
			const used = put([0], Float64Array);
			this.carom.check(this.carom.exports.cw_sweep_advance(this.address, time, used));
			return read(used, Float64Array, 1)[0];
		});
	}

	/** Where the vertices of a mesh are at the end of the step. */
	places(mesh) {
		const count = this.countOf(mesh);
		return this.carom.scratch((put, room, read) => {
			const at = room(8 * count);
			this.carom.check(this.carom.exports.cw_sweep_places(this.address, mesh, at));
			return read(at, Float64Array, count);
		});
	}

	/** The earliest impact of the step, or null. */
	findEarliest() { return this.carom.readFound("sweep_hit", (found, to) => this.carom.exports.cw_sweep_find_earliest(this.address, found, to)); }
}

/** A pair, or columns of pairs, with the distance in the place of its square. */
const nearPair = ({ distance2, ...pair }) => ({ ...pair, distance: typeof distance2 === "number" ? Math.sqrt(distance2) : distance2.map(Math.sqrt) });

export class Proximity extends Surfaces {
	get calls() {
		const x = this.carom.exports;
		return { add: x.cw_proximity_add_mesh, filter: x.cw_proximity_set_filter, stats: x.cw_proximity_stats };
	}

	placeMesh(mesh, vertices) { this.place(this.carom.exports.cw_proximity_place, mesh, vertices); }

	/** Add a shape, any but a mesh, at a pose. Returns its number. */
	addShape(shape, settings = {}) {
		return this.carom.scratch((put, room, read) => {
			const at = this.carom.putRecord("proximity_shape_def", room, this.carom.exports.cw_default_proximity_shape_def, settings, "addShape: "), number = put([0], Int32Array);
			this.carom.writeShape(placeOf("proximity_shape_def", at, "shape"), shape, "addShape: shape");
			this.carom.check(this.carom.exports.cw_proximity_add_shape(this.address, at, number));
			return read(number, Int32Array, 1)[0];
		});
	}

	placeShape(shape, pose) {
		checkValue("i32", shape, "placeShape: shape");
		this.carom.scratch((put) => this.carom.check(this.carom.exports.cw_proximity_place_shape(this.address, shape, putPose(put, pose, "placeShape: pose"))));
	}

	/** All pairs of a vertex and a face, and of two edges, that are nearer than a distance: objects, or with { columns: true } an array for each member. */
	find(distance, options) { return this.search(distance, options, "find").pairs; }

	/** find, and features of meshes nearer to shapes than the distance: { pairs, shapePairs }. */
	search(distance, options, call = "search") {
		checkValue("f64", distance, "distance");
		const { columns } = settingsOf(call, options, { columns: false }), { carom } = this;
		return carom.scratch((put, room, read) => {
			const place = put([0, 0, 0, 0], Uint32Array);
			carom.check(carom.exports.cw_proximity_find(this.address, distance, place));
			const [pairs, count, shapePairs, shapeCount] = read(place, Uint32Array, 4);
			if (columns)
				return { pairs: nearPair(carom.readColumns("proximity_pair", pairs, count)), shapePairs: carom.readColumns("proximity_shape_pair", shapePairs, shapeCount) };
			return { pairs: carom.readRecords("proximity_pair", pairs, count).map(nearPair), shapePairs: carom.readRecords("proximity_shape_pair", shapePairs, shapeCount) };
		});
	}

	/** How far each vertex of a mesh may move so that nothing crosses, [n], by the last search. */
	safeDisplacements(mesh) {
		return this.carom.scratch((put, room, read) => {
			const count = this.countOf(mesh) / 3, to = room(8 * count);
			this.carom.check(this.carom.exports.cw_proximity_displacements(this.address, mesh, to));
			return read(to, Float64Array, count);
		});
	}
}

export class Spheres extends Handle {
	/** Touching pairs: a Uint32Array of numbers a0, b0, a1, b1, ... with a < b. centres [3n], radii [n]. */
	findPairs(centres, radii) {
		return this.carom.scratch((put, room, read) => {
			this.update("findPairs", put, centres, radii);
			const [pointer, count] = this.carom.listAt(put, (place) => this.carom.exports.cw_spheres_find(this.address, place));
			return read(pointer, Uint32Array, 2 * count);
		});
	}

	update(call, put, centres, radii) {
		const count = checkSpheres(call, centres, radii);
		this.carom.check(this.carom.exports.cw_spheres_update(this.address, put(centres, Float64Array), put(radii, Float64Array), count));
	}

	/** findPairs without a list: visit(pairs) gets some at a time, a Uint32Array, in no fixed order, and may return false to end it. */
	visitPairs(centres, radii, visit) {
		this.functions = { visit: this.carom.checkFunction(visit, "visitPairs: visit") };
		if (!visit)
			throw wrong("visitPairs: visit is missing");
		this.carom.scratch((put) => this.update("visitPairs", put, centres, radii));
		this.carom.guard(this, (address) => this.carom.exports.cw_spheres_visit(address));
	}

	/** Neighbours of each sphere, those nearer than the skin too: other[first[i]] to other[first[i + 1] - 1] are those of sphere i. */
	neighbours(centres, radii) {
		return this.carom.scratch((put, room, read) => {
			this.update("neighbours", put, centres, radii);
			const place = put([0, 0, 0, 0], Uint32Array);
			this.carom.check(this.carom.exports.cw_spheres_neighbours(this.address, place));
			const [first, count, other, all] = read(place, Uint32Array, 4);
			return { first: first ? lowWords(read(first, Uint32Array, 2 * (count + 1))) : new Uint32Array(1), other: read(other, Uint32Array, all) };
		});
	}

	/** The spheres along a curve through space: neighbours there are near each other in it. */
	order(centres, radii) {
		return this.carom.scratch((put, room, read) => {
			this.update("order", put, centres, radii);
			const to = room(4 * radii.length);
			this.carom.check(this.carom.exports.cw_spheres_order(this.address, to));
			return read(to, Uint32Array, radii.length);
		});
	}

	/** Counts, times and memory of the last calls. */
	get stats() { return this.carom.readAnswer("sphere_stats", (to) => { this.carom.exports.cw_spheres_stats(this.address, to); return 0; }); }

	/**
	 * Sum forces over touching spheres: force(a, b, direction, overlap) is what b does to a, [x, y, z] or { force, torque }, and is called for both
	 * orders of a pair. Returns { forces, torques }, [3n] each.
	 */
	sumForces(centres, radii, force) {
		this.functions = { force: this.carom.checkFunction(force, "sumForces: force") };
		if (!force)
			throw wrong("sumForces: force is missing");
		return this.carom.scratch((put, room, read) => {
			const zeros = new Float64Array(checkNumbers(centres, "sumForces: centres").length), forces = put(zeros, Float64Array), torques = put(zeros, Float64Array);
			this.update("sumForces", put, centres, radii);
			this.carom.guard(this, (address) => this.carom.exports.cw_spheres_sum(address, forces, torques));
			return { forces: read(forces, Float64Array, zeros.length), torques: read(torques, Float64Array, zeros.length) };
		});
	}
}
