// Types of carom.js. Lengths are metres or whatever unit you choose; poses are seven numbers: position x y z, quaternion x y z w.

export type Numbers = ArrayLike<number>;
export type Vector = [number, number, number];
export type Pose = number[];
/** Index and generation. Results name the index alone. */
export type BodyId = [number, number];

export class CaromError extends Error {
	/** The name of the result, for example "invalid argument", "invalid mesh", "out of memory". */
	code: string;
}

/** Load the library. module: bytes or a module; left out: carom.wasm beside carom.js (Node reads it, browsers fetch it). */
export function loadCarom(module?: BufferSource | WebAssembly.Module): Promise<Carom>;

export interface WorldSettings {
	broadPhase?: "tree" | "sweep";
	/** 1 to 256; 0: all. */
	maxContactsPerPair?: number;
	speculativeDistance?: number;
	matchDistance?: number;
	temporal?: "none" | "iterative" | "predictive";
	contactNormal?: "ray" | "triangle" | "patch";
	/** Radians. */
	internalEdgeAngle?: number;
	toiTolerance?: number;
}

export class Carom {
	readonly version: string;
	/** Bytes that all objects hold. */
	readonly memoryInUse: number;
	/** vertices [3n], corners of triangles [3m], counter-clockwise from outside. A Float32Array is taken as it is, all else as doubles. */
	createMesh(vertices: Numbers, triangles: Numbers, options?: { sides?: "auto" | "front" | "both" }): Mesh;
	/** The convex hull of points [3n]. */
	createHull(points: Numbers): Mesh;
	createWorld(settings?: WorldSettings): World;
	createSweep(options?: { minSeparation?: number }): Sweep;
	createProximity(): Proximity;
	createSpheres(): Spheres;
	meshDistance(a: Mesh, b: Mesh, options?: { poseA?: Pose; poseB?: Pose; maxDistance?: number }): MeshGap | null;
}

declare class Handle {
	/** Free it now; it cannot be used afterwards. Without it, it is freed some time after its last reference went. */
	destroy(): void;
}

export interface MeshReport {
	vertexCount: number; triangleCount: number; closed: boolean; usable: boolean; components: number; borderEdges: number;
	volume: number; area: number; lower: Vector; upper: Vector;
}

export class Mesh extends Handle { readonly report: MeshReport; }

export interface MeshGap { distance: number; onA: Vector; onB: Vector; triangleA: number; triangleB: number; aInsideB: boolean; bInsideA: boolean; }

export interface Shape {
	type: "sphere" | "box" | "capsule" | "plane" | "mesh" | "hull" | "cylinder" | "cone" | "ellipsoid";
	radius?: number;
	halfLength?: number;
	halfExtents?: Vector;
	mesh?: Mesh | null;
	rounding?: number;
	/** Of a part: in the frame of its body. */
	pose?: Pose;
}

export interface BodyDef {
	shape?: Shape;
	parts?: Shape[];
	kind?: "static" | "kinematic" | "dynamic";
	pose?: Pose;
	sensor?: boolean;
	continuous?: boolean;
	/** Bodies of one negative group never collide. */
	group?: number;
}

export interface Contact {
	/** Indices of the bodies, a < b. */
	a: number; b: number;
	point: Vector;
	/** Moving a by depth * normal parts the two. */
	normal: Vector;
	depth: number;
	featureA: number; featureB: number; kind: number; partA: number; partB: number; age: number; pair: number;
}

export interface RayHit { body: BodyId; t: number; point: Vector; normal: Vector; triangle: number; part: number; backFace: boolean; }
export interface ClosestPoint { body: BodyId; point: Vector; normal: Vector; distance: number; triangle: number; part: number; }

export class World extends Handle {
	addBody(body: BodyDef): BodyId;
	removeBody(id: BodyId): void;
	setPose(id: BodyId, pose: Pose): void;
	setPoses(ids: BodyId[], poses: Numbers): void;
	getPose(id: BodyId): Pose;
	/** Find all contacts of the bodies as they are. */
	step(): void;
	readonly contacts: Contact[];
	/** 16 numbers of each contact, in the order of Contact. */
	readonly contactNumbers: Float64Array;
	/** 16 hexadecimal digits, equal for equal contacts on every machine. */
	readonly contactHash: string;
	readonly pairs: { a: number; b: number; firstContact: number; contactCount: number }[];
	castRay(origin: Vector, direction: Vector, options?: { tMin?: number; tMax?: number }): RayHit | null;
	closestPoint(point: Vector, maxDistance?: number): ClosestPoint | null;
	overlapBox(lower: Vector, upper: Vector): BodyId[];
	overlapShape(shape: Shape, pose?: Pose): BodyId[];
}

export interface Impact {
	kind: "vertex-face" | "edge-edge";
	status: "impact" | "touching" | "undecided";
	meshA: number; meshB: number; vertices: number[];
	/** 0 to 1, of the step. */
	time: number;
	weights: number[]; normal: Vector;
}

export class Sweep extends Handle {
	/** Returns the number of the mesh. */
	addMesh(vertices: Numbers, triangles: Numbers, options?: { self?: boolean }): number;
	moveMesh(mesh: number, vertices: Numbers): void;
	find(): Impact[];
}

export interface NearPair {
	kind: "vertex-face" | "edge-edge";
	type: "vertex-vertex" | "vertex-edge" | "vertex-face" | "edge-edge";
	meshA: number; meshB: number; vertices: number[]; weights: number[]; pointA: Vector; pointB: Vector; distance: number; gap: number;
}

export class Proximity extends Handle {
	addMesh(vertices: Numbers, triangles: Numbers, options?: { self?: boolean }): number;
	placeMesh(mesh: number, vertices: Numbers): void;
	find(distance: number): NearPair[];
}

export class Spheres extends Handle {
	/** Touching pairs a0, b0, a1, b1, ... with a < b. centres [3n], radii [n]. */
	findPairs(centres: Numbers, radii: Numbers): Uint32Array;
}
