// Types of carom.js. Lengths are metres or whatever unit you choose; poses are seven numbers: position x y z, quaternion x y z w. What a
// member means in full stands in the headers of the library (include/carom), where it has the same name with words parted by _.

export type Numbers = ArrayLike<number>;
export type Vector = [number, number, number];
export type Pose = Numbers;
/** Index and generation. */
export type BodyId = [number, number];
/** An id as calls take it: two numbers of the ids that a batch answers, too (body.subarray(0, 2)). */
export type BodyIdLike = readonly [number, number] | Uint32Array;
export type Bytes = ArrayBuffer | ArrayBufferView;
/** 64 bits: given as either, read as a bigint. */
export type Bits = bigint | number;

/** Wrong arguments, members, elements and settings are named: createMesh: triangles[7] is NaN; castRay: there is no setting tmax. */
export class CaromError extends Error {
	constructor(message: string, code: string);
	/** The name of the result, for example "invalid argument", "invalid mesh", "out of memory". */
	code: string;
	/** Of replay(): how far it got. */
	reached?: Replay;
}

/**
 * Load the library. module: bytes, a WebAssembly.Module, or the address of carom.wasm (a text or a URL; in Node a path, too). Left out: carom.wasm
 * beside carom.js, which Node reads and browsers fetch. Each call makes a library with memory of its own: objects of one are refused by another.
 */
export function loadCarom(module?: Bytes | string | { readonly href: string } | CompiledModule): Promise<Carom>;

/** A WebAssembly.Module: the name of its type needs lib "dom" or the types of Node, which this file does not ask for. */
export interface CompiledModule {}

export interface SweepSettings {
	method?: "auto" | "front" | "bvh" | undefined;
	volume?: "dop18" | "aabb" | undefined;
	build?: "median" | "sah" | undefined;
	test?: "certified" | "inclusion" | undefined;
	tolerance?: number | undefined;
	minSeparation?: number | undefined;
	/** 0, or up to 1: features keep this part of their first distance where that is less than the separation. */
	relativeSeparation?: number | undefined;
	/** A search that finds more fails; 0: no bound. */
	maxHits?: number | undefined;
	orphanSets?: boolean | undefined;
	pruneFront?: boolean | undefined;
	rebuildSprouted?: number | undefined;
	rebuildReplaced?: number | undefined;
	frontBudget?: number | undefined;
}

export interface WorldSettings {
	broadPhase?: "tree" | "sweep" | undefined;
	/** 1 to 256; 0: all. */
	maxContactsPerPair?: number | undefined;
	speculativeDistance?: number | undefined;
	matchDistance?: number | undefined;
	temporal?: "none" | "iterative" | "predictive" | undefined;
	contactNormal?: "ray" | "triangle" | "patch" | undefined;
	/** Radians. */
	internalEdgeAngle?: number | undefined;
	longEdgeShare?: number | undefined;
	/** How impacts of deforming bodies are found. */
	sweep?: SweepSettings | undefined;
	toiTolerance?: number | undefined;
	/** Most bytes that the world may hold; 0: no limit. */
	memoryBudget?: number | undefined;
}

/**
 * Functions that a step asks. They must not use the world that steps. Return false to leave the pair or contact out. What one throws comes out of
 * step(), which is done then; the function was not asked about what came behind.
 */
export interface WorldFunctions {
	/** Asked for each pair of overlapping boxes that categories, masks and groups let pass. */
	pairFilter?: ((a: BodyId, b: BodyId, userDataA: bigint, userDataB: bigint) => boolean | void) | undefined;
	/** Asked for each contact before contacts are reduced; its pair is its number among those of its pair. */
	contactFilter?: ((contact: Contact, userDataA: bigint, userDataB: bigint) => boolean | void) | undefined;
}

/** loadCarom makes it. */
export class Carom {
	private constructor();
	readonly version: string;
	/** Bytes that all objects hold. */
	readonly memoryInUse: number;
	/** The most bytes that they ever held. */
	readonly memoryPeak: number;
	/** The name of a number in results of a batch. */
	resultName(result: number): string;
	/** vertices [3n], corners of triangles [3m], counter-clockwise from outside. A Float32Array is taken as it is, all else as doubles. */
	createMesh(vertices: Numbers, triangles: Numbers, options?: MeshSettings): Mesh;
	/** The report of a mesh that is not made. */
	checkMesh(vertices: Numbers, triangles: Numbers, options?: MeshSettings): MeshReport;
	/** From the bytes of Mesh.save, or of carom bake: the trees need not be made. */
	loadMesh(data: Bytes): Mesh;
	/** The convex hull of points [3n]. */
	createHull(points: Numbers): Mesh;
	/** A solid below heights [rows * columns], row by row, spacing apart; NaN is a hole. Its bottom is thickness below the lowest height. */
	createHeightField(heights: Numbers, columns: number, options?: { spacing?: Numbers | undefined; thickness?: number | undefined }): Mesh;
	createWorld(settings?: WorldSettings & WorldFunctions): World;
	createSweep(settings?: SweepSettings): Sweep;
	createProximity(settings?: ProximitySettings): Proximity;
	createSpheres(settings?: SpheresSettings): Spheres;
	meshDistance(a: Mesh, b: Mesh, options?: { poseA?: Pose | undefined; poseB?: Pose | undefined; maxDistance?: number | undefined }): MeshGap | null;
	/** Pairs of a triangle of a and one of b that intersect or touch: a0, b0, a1, b1, ..., sorted. Exact. */
	meshIntersections(a: Mesh, b: Mesh, options?: { poseA?: Pose | undefined; poseB?: Pose | undefined }): Int32Array;
	/** Of a world with this one body, to the bit; body of the answer is 0, 0. */
	shapeCastRay(shape: Shape, origin: Numbers, direction: Numbers, options?: Posed & { tMin?: number | undefined; tMax?: number | undefined }): RayHit | null;
	shapeClosestPoint(shape: Shape, point: Numbers, options?: Posed & { maxDistance?: number | undefined }): ClosestPoint | null;
	/** t is Infinity where a ray hits nothing. */
	shapeCastRays(shape: Shape, origins: Numbers, directions: Numbers, options?: Posed & ShapeBatchOptions & { tMin?: number | Numbers | undefined; tMax?: number | Numbers | undefined }): RayHits;
	/** distance is Infinity where no point is within maxDistance. */
	shapeClosestPoints(shape: Shape, points: Numbers, options?: Posed & ShapeBatchOptions & { maxDistance?: number | undefined }): ClosestPoints;
	/** How far two shapes are apart: of any kinds, meshes too, and one plane. */
	distance(a: Shape, b: Shape, options?: TwoPoses): Separation;
	/** Touching counts. Far cheaper than contacts or a distance. */
	overlap(a: Shape, b: Shape, options?: TwoPoses): boolean;
	/** At density 1, in the frame of the shape: mass is its volume. A plane has none, and a mesh must be closed. */
	shapeMass(shape: Shape): Mass;
	/** In the frame of the body that has the parts. densities: a number for each; left out: 1. Where parts overlap, their common volume counts for each. */
	partsMass(parts: readonly Part[], densities?: Numbers | undefined): Mass;
	/** Contacts as of the first step of a world with these two. margin: how far ahead they are seen. */
	collide(a: Shape, b: Shape, options?: TwoPoses & { margin?: number | undefined }): Contact[];
	/** Of two convex shapes, or of one and a plane. */
	manifold(a: Shape, b: Shape, options?: TwoPoses & { margin?: number | undefined }): Manifold;
	/** motionA, motionB: 14 numbers, the poses at the beginning and at the end; left out: rest. tolerance: left out, 0.001. */
	timeOfImpact(a: Shape, b: Shape, options?: { motionA?: Numbers | undefined; motionB?: Numbers | undefined; tolerance?: number | undefined }): TimeOfImpact;
	/** With a budget: a look at two parts counts 1, a separation 16. Where it is used up, the status is "undecided": the way is clear up to the time. work: what is left of it. */
	timeOfImpactWithin(a: Shape, b: Shape, work: number, options?: { motionA?: Numbers | undefined; motionB?: Numbers | undefined; tolerance?: number | undefined }): { impact: TimeOfImpact; work: number };
	/** The pose at a time from 0 to 1. */
	motionPose(motion: Numbers, time: number): number[];
	/** a, b: one shape for all poses [7n], or one for each. */
	distances(a: Shape | readonly Shape[], posesA: Numbers, b: Shape | readonly Shape[], posesB: Numbers, options?: ShapeBatchOptions): Separations;
	overlaps(a: Shape | readonly Shape[], posesA: Numbers, b: Shape | readonly Shape[], posesB: Numbers, options?: ShapeBatchOptions): Found;
	manifolds(a: Shape | readonly Shape[], posesA: Numbers, b: Shape | readonly Shape[], posesB: Numbers, options?: ShapeBatchOptions & { margin?: number | undefined }): Manifolds;
	/** Of any shapes, meshes too; contacts of pair i are rows first[i] to first[i + 1] - 1. */
	collidePairs(a: Shape | readonly Shape[], posesA: Numbers, b: Shape | readonly Shape[], posesB: Numbers, options?: ShapeBatchOptions & { margin?: number | undefined }): ContactLists;
	/** motions [14n]. */
	timesOfImpact(a: Shape | readonly Shape[], motionsA: Numbers, b: Shape | readonly Shape[], motionsB: Numbers, options?: ShapeBatchOptions & { tolerance?: number | undefined }): TimesOfImpact;
	/** Records of 4: a point, and the corners of a triangle. */
	pointTriangleDistances(positions: Numbers, options?: Elements): TrianglePoints & { distance: Float64Array };
	/** Records of 4: the ends of two edges. */
	edgeEdgeDistances(positions: Numbers, options?: Elements): { distance: Float64Array; onA: EdgePoints; onB: EdgePoints };
	/** Records of 6: the corners of two triangles. */
	triangleTriangleDistances(positions: Numbers, options?: Elements): { distance: Float64Array; onA: TrianglePoints; onB: TrianglePoints };
	/** Records of 6. Exact: 1 or 0 of each. */
	trianglePairsIntersect(positions: Numbers, options?: Elements): Uint8Array;
	/** Records of 4. Exact: 1 where the fourth sees the others counter-clockwise, -1 where clockwise, 0 where all lie in one plane. */
	orientations(positions: Numbers, options?: Elements): Int8Array;
	/** Records of 4, whose vertices move from begin to end [3v]. time is Infinity where two do not meet; no impact is missed. */
	sweepTestPairs(kind: "vertex-face" | "edge-edge", begin: Numbers, end: Numbers, options?: Elements & SweepSettings): Impacts;
	/** vertices [12]: a vertex and the corners of a face, or the ends of two edges. */
	proximityOfPair(kind: "vertex-face" | "edge-edge", vertices: Numbers): NearPair;
	/** Run a recording, all bytes that World.record handed out in a row, in a world of its own, and compare the hash of each step. */
	replay(recording: Bytes): Replay;
}

export interface Replay {
	steps: number;
	/** The first step whose hash differs from the recorded one, or -1. */
	firstDifference: number;
	/** Of the last step, as World.hash. */
	hash: string;
}

// As the libraries of TypeScript have it from version 5.2 on, for programs that do not name them.
declare global {
	interface SymbolConstructor { readonly dispose: unique symbol; }
}

// Without this, all that stands in this file would be exported: Handle and Surfaces are not.
export {};

/** What objects of the library have. They are made by calls of Carom and World. */
declare class Handle {
	protected constructor();
	/** Free it now; it cannot be used afterwards. Without it, it is freed some time after its last reference went. */
	destroy(): void;
	/** destroy(), for `using world = carom.createWorld();`. */
	[Symbol.dispose](): void;
}

export interface MeshReport {
	vertexCount: number; triangleCount: number; nonfiniteVertices: number; hugeVertices: number; outOfRangeTriangles: number;
	degenerateTriangles: number; duplicateTriangles: number; unreferencedVertices: number; duplicateVertices: number; roundedVertices: number;
	rounding: number; borderEdges: number; nonmanifoldEdges: number; inconsistentEdges: number; unbalancedEdges: number; nonmanifoldVertices: number;
	normallessVertices: number; components: number; euler: number; closed: boolean; inverted: boolean; usable: boolean; volume: number; area: number;
	lower: Vector; upper: Vector; firstElement: number; firstFinding: string;
}

export interface MeshSettings {
	sides?: "auto" | "front" | "both" | "container" | undefined;
	/** How its trees are built: times of building and searching depend on it, results do not. */
	build?: "sah" | "hlbvh" | "lbvh" | "trbvh" | "ploc" | undefined;
	/** Cells along the longest side of the inside-outside grid; -1: by the size of the mesh. */
	gridResolution?: number | undefined;
	/** Vertices nearer to each other than this come to one place, so that cracks close; 0 (default): they stay. */
	weldDistance?: number | undefined;
	/** Where the mesh's origin lies in the coordinates of the vertices, or "auto": about the middle of vertices that lie far from theirs,
	 * which would lose digits as floats. Make it a part of a body at mesh.centre. */
	centre?: Numbers | "auto" | undefined;
	/** A number of yours for each triangle, which contacts hand on. */
	materials?: Numbers | null | undefined;
}

/** xx, yy, zz, xy, xz, yz of the inertia about the centre, at density 1. */
export interface Mass { mass: number; centre: Vector; inertia: number[]; }
export interface TreeInfo { binaryNodes: number; wideNodes: number; depth: number; sahCost: number; epo: number; bytes: number; gridCells: number; }
export interface MeshPoint {
	point: Vector; normal: Vector;
	/** Negative inside of a closed mesh. */
	distance: number; triangle: number; weights: Vector;
	/** Which part of the triangle the point is on, and the number of that edge or corner. */
	feature: "face" | "edge" | "vertex"; number: number;
}

/** Queries of a mesh are in its own frame. */
export class Mesh extends Handle {
	readonly report: MeshReport;
	/** As detection sees them: floats. */
	readonly vertices: Float32Array;
	/** As they were given; null where floats hold all of them. */
	readonly doubles: Float64Array | null;
	readonly triangles: Int32Array;
	/** Where its origin lies in the coordinates that createMesh was given. */
	readonly centre: Float64Array;
	readonly sides: "auto" | "front" | "both" | "container";
	/** Of a closed mesh. */
	readonly mass: Mass;
	/** epo is 0 where it is not asked for. */
	treeInfo(options?: { epo?: boolean | undefined }): TreeInfo;
	materialOf(triangle: number): number;
	/** A mesh of another size. Negative factors mirror. */
	scaled(scale: number | Numbers): Mesh;
	/** Of a height field: one with other heights in a rectangle. Its bottom stays. */
	edited(heights: Numbers, columns: number, options?: { firstColumn?: number | undefined; firstRow?: number | undefined }): Mesh;
	/** With other materials: one for all, one for each triangle (of a height field two for each cell), or none. */
	painted(materials: number | Numbers | null): Mesh;
	/** With its trees, for Carom.loadMesh of a library of the same baked version, native or not. */
	save(): Uint8Array;
	/** In float, as a step casts them. triangle is -1 where a ray hits nothing. */
	castRays(origins: Numbers, directions: Numbers, options?: { tMax?: number | Numbers | undefined }): { triangle: Int32Array; t: Float32Array; backFace: Uint8Array };
	closestPoint(point: Numbers, maxDistance?: number): MeshPoint | null;
	/** false for an open mesh. */
	contains(point: Numbers): boolean;
	/** Pairs of triangles that share no vertex: a0, b0, a1, b1, ..., sorted. Exact. */
	selfIntersections(): Int32Array;
}

/** How far two shapes are apart; negative: moving a by -distance along normal parts them. The true distance is within error above it. */
export interface Separation { distance: number; error: number; normal: Vector; pointA: Vector; pointB: Vector; }
/** normal leads from b to a; a negative depth tells how far the two are apart there. */
export interface Manifold { normal: Vector; points: { point: Vector; depth: number }[]; }
export interface TimeOfImpact {
	status: "apart" | "impact" | "touching" | "undecided";
	/** 0 to 1, never later than the true impact. */
	time: number;
	separation: Separation; steps: number; triangleA: number; triangleB: number;
}
export interface Posed { pose?: Pose | undefined; }
export interface TwoPoses { poseA?: Pose | undefined; poseB?: Pose | undefined; }
export interface ShapeBatchOptions {
	/** As in BatchOptions. */
	results?: boolean | undefined;
}
/** vertices: numbers of the positions of each record; left out: in order. */
export interface Elements { vertices?: Numbers | null | undefined; }

export interface MeshGap { distance: number; onA: Vector; onB: Vector; triangleA: number; triangleB: number; aInsideB: boolean; bInsideA: boolean; }

export interface Shape {
	type: "sphere" | "box" | "capsule" | "plane" | "mesh" | "hull" | "cylinder" | "cone" | "ellipsoid";
	radius?: number | undefined;
	halfLength?: number | undefined;
	halfExtents?: Numbers | undefined;
	mesh?: Mesh | null | undefined;
	rounding?: number | undefined;
	/** Of a part: in the frame of its body. */
	pose?: Pose | undefined;
}

export interface Part extends Shape {
	/** A number of yours, which World.getPartData tells. */
	userData?: Bits | undefined;
}

export interface BodyDef {
	/** Of a body without parts; a mesh of a deforming body. */
	shape?: Shape | undefined;
	/** At least one; a body without parts has shape alone. */
	parts?: readonly Part[] | undefined;
	/** Of a body with parts: how many it may have at any time, so that setParts may add some. 0: as many as it has. */
	partRoom?: number | undefined;
	/** Of a granular body, in place of a shape: centres [3n] in the frame of pose. */
	centres?: Numbers | undefined;
	/** [n] */
	radii?: Numbers | undefined;
	/** deformable: a solid whose vertices you move. cloth: a surface. granular: many spheres. */
	kind?: "static" | "kinematic" | "dynamic" | "deformable" | "cloth" | "granular" | undefined;
	pose?: Pose | undefined;
	category?: Bits | undefined;
	mask?: Bits | undefined;
	/** Bodies of one negative group never collide, of a positive one always. */
	group?: number | undefined;
	sensor?: boolean | undefined;
	selfCollision?: boolean | undefined;
	continuous?: boolean | undefined;
	shapeImpacts?: boolean | undefined;
	contacts?: boolean | undefined;
	/** Of deforming bodies: above 0 it has surface contacts. */
	thickness?: number | undefined;
	userData?: Bits | undefined;
}

/** Two bodies: their ids, and a and b, the indices of these alone. */
export interface Bodies { bodyA: BodyId; bodyB: BodyId; a: number; b: number; }
export interface MarkedBodies extends Bodies { userDataA: bigint; userDataB: bigint; }

export interface Contact extends Bodies {
	point: Vector;
	/** Moving a by depth * normal parts the two. */
	normal: Vector;
	depth: number;
	featureA: number; featureB: number; kind: "vertex-a" | "vertex-b" | "edge-a" | "edge-b" | "faces" | "volumes" | "edges"; age: number;
	/** What setImpulse stored for it in the last step. */
	impulse: Vector;
	/** Its number in World.pairs. */
	pair: number;
	materialA: number; materialB: number; partA: number; partB: number;
}

/** One to three vertices of a deforming body. */
export interface ContactCorners { vertices: number[]; weights: number[]; }

export interface Pair extends MarkedBodies {
	firstContact: number; contactCount: number; foundCount: number; age: number;
	/** What setPairData stored. */
	userData: bigint;
	partA: number; partB: number;
	/** In World.surfaceContacts and World.surfaceShapeContacts. */
	firstSurfaceContact: number; surfaceContactCount: number; firstSurfaceShapeContact: number; surfaceShapeContactCount: number;
	/** In World.sphereContactsByPair; in World.sphereGroups, or -1. */
	firstSphereContact: number; sphereContactCount: number; sphereGroup: number;
	/** Its number in World.bodyPairs, or -1. */
	bodyPair: number;
}

export interface PairEvent extends MarkedBodies { kind: "begin" | "persist" | "end"; pair: number; pairData: bigint; partA: number; partB: number; }

/** Two bodies, of whatever parts: pairCount of World.pairs from firstPair on, and their contacts. */
export interface BodyPair extends MarkedBodies {
	firstPair: number; pairCount: number; firstContact: number; contactCount: number; foundCount: number; age: number;
	/** What setBodyPairData stored. */
	userData: bigint;
}

export interface BodyPairEvent extends MarkedBodies { kind: "begin" | "persist" | "end"; bodyPair: number; pairData: bigint; }

/** Two features of meshes, of which one deforms, that meet on their way through the step. */
export interface WorldImpact extends Bodies {
	kind: "vertex-face" | "edge-edge"; status: "impact" | "touching" | "undecided";
	vertices: number[]; triangle: number;
	/** 0 to 1, of the step. */
	time: number;
	weights: number[]; normal: Vector; partA: number; partB: number;
}

/** A feature of a deforming body that meets another shape than a mesh. */
export interface ShapeImpact extends MarkedBodies {
	partB: number; status: "apart" | "impact" | "touching" | "undecided"; vertices: number[]; triangle: number; time: number; weights: number[];
	point: Vector; normal: Vector; distance: number;
}

/** Two bodies, one of them continuous, that meet. */
export interface BodyImpact extends MarkedBodies {
	partA: number; partB: number; status: "apart" | "impact" | "touching" | "undecided"; sensor: boolean; time: number; distance: number;
	point: Vector; normal: Vector; triangleA: number; triangleB: number;
}

/** Two features nearer than the thickness asks for, or of which one has gone through the other's surface. */
export interface SurfaceContact extends MarkedBodies {
	/** Numbers of the parts; 0 of bodies without parts. */
	partA: number; partB: number;
	kind: "vertex-face" | "edge-edge";
	/** vertex-face: the vertex of A, and the corners of the triangle of B. edge-edge: the ends of the edge of A, and of that of B. */
	vertices: number[];
	/** Of B, vertex-face; else -1. */
	triangle: number;
	/** vertex-face: 1: the vertex belongs to the front of the surface, -1: to its back, 0: it is beside the border of an open mesh. edge-edge: 0. */
	side: number;
	/** The first feature is on the wrong side. */
	through: boolean;
	/** Cloth leaves a closed mesh with the vertices around it along one direction, the normal: the points lie on it, and are not the nearest ones. */
	led: boolean;
	/** Steps for which these two features have had a contact. */
	age: number;
	/** Its number in World.pairs. */
	pair: number;
	/** What setSurfaceImpulse stored for it, or for the vertex with another triangle; else 0. */
	impulse: Vector;
	/** Of these vertices in the nearest points: those of the first feature sum to 1, those of the second one too. */
	weights: number[];
	/** The nearest points, world. */
	pointA: Vector; pointB: Vector;
	/** Unit, world: moving the first feature along it, or the second one against it, parts them, to the side where the first one belongs. */
	normal: Vector;
	/** Of the two along the normal; negative: through. */
	distance: number;
	/** The distance to be kept: distance is below it. */
	thickness: number;
}

/** A feature of a deforming body too near to another shape than a mesh, or in it. */
export interface SurfaceShapeContact extends MarkedBodies {
	partB: number; vertices: number[]; triangle: number; led: boolean; age: number; pair: number; impulse: Vector; weights: number[]; point: Vector; normal: Vector; distance: number; thickness: number;
}

/** A sphere of a granular body a that touches a body of another kind. */
export interface SphereContact extends MarkedBodies {
	sphere: number; partB: number; triangle: number; materialB: number; weights: number[]; point: Vector; normal: Vector; depth: number;
	age: number; pair: number; impulse: Vector;
}

/** The pairs of spheres of two granular bodies, or of one: pairCount of spherePairs from pair firstPair on; pair is theirs in World.pairs. */
export interface SphereGroup extends MarkedBodies { firstPair: number; pairCount: number; pair: number; }

/** Counts, times (milliseconds) and memory of a step. */
export interface Stats {
	step: number; bodies: number; boxPairs: number; narrowPairs: number; collidingPairs: number; surfacePairs: number; granularPairs: number; contactsFound: number; contacts: number;
	verticesTested: number; verticesCulled: number; raysFull: number; raysOutward: number; raysIterative: number; raysPredictive: number; raysLost: number;
	raysRecast: number; raysOnDevice: number; walksOnDevice: number; raysReturned: number; testsOnDevice: number; testsReturned: number; nearOnDevice: number; nearReturned: number; deviceFallbacks: number; raysMissed: number; walkSteps: number; backtracks: number;
	pairsFull: number; pairsIterative: number; pairsApart: number; verticesWatched: number; pairsCompleted: number; pairsCrossing: number;
	triangleTests: number; impacts: number; bodyImpacts: number; toiTests: number; shapeImpacts: number; shapeToiTests: number; surfaceContacts: number;
	sphereContacts: number; spherePairs: number; msTotal: number; msTrees: number; msPair: number; msVertex: number; msRay: number; msComplete: number;
	msMerge: number; msSweep: number; msSurface: number; msSpheres: number; memory: number; memoryPeak: number; scratchPeak: number;
}

export interface RayHit {
	body: BodyId; t: number; point: Vector; normal: Vector; triangle: number; u: number; v: number; backFace: boolean; part: number;
	/** Of the triangle (materials of createMesh), or 0. */
	material: number;
	/** Of the body; 0 where there is none. */
	userData: bigint;
}
export interface ClosestPoint {
	body: BodyId;
	/** On the surface, world. */
	point: Vector;
	/** Outward, unit, world: point + distance * normal is the point that was asked about. */
	normal: Vector;
	/** Negative where the point that was asked about is inside of the body. */
	distance: number;
	triangle: number;
	/** Number of the part, or of a granular body's sphere; 0: neither. */
	part: number;
	/** Of the triangle (materials of createMesh), or 0. */
	material: number;
	/** Of the body; 0 where there is none. */
	userData: bigint;
}

/** Of a body near a shape: negative distances tell an overlap, and normal leads from the body to the shape. */
export interface ClosestBody { body: BodyId; part: number; distance: number; normal: Vector; onShape: Vector; onBody: Vector; userData: bigint; }
export interface ClosestPair extends Bodies { partA: number; partB: number; distance: number; normal: Vector; onA: Vector; onB: Vector; userDataA: bigint; userDataB: bigint; }
/** Two triangles that share a point; bodyB is bodyA where its surface goes through itself. */
export interface BodyCrossing extends Bodies { partA: number; partB: number; triangleA: number; triangleB: number; userDataA: bigint; userDataB: bigint; }
export interface VelocityHit {
	/** That was hit. */
	body: BodyId; part: number;
	/** Of the body that was asked. */
	vertex: number;
	/** Of the body's mesh; -1: it has none. */
	triangle: number;
	/** The vertex has come through what is hit. */
	behind: boolean;
	weights: Vector; distance: number; point: Vector;
	/** On the side from which the vertex comes. */
	normal: Vector; userData: bigint;
}
export interface ShapeHit {
	body: BodyId; part: number;
	/** 0 to 1, of the way; never later than the true impact. */
	time: number;
	touching: boolean; distance: number; point: Vector; normal: Vector; triangle: number; ownTriangle: number;
	/** Of castParts: the part that is cast. */
	ownPart: number;
	/** The search ran out of steps: the way is clear up to time, and nothing is known beyond. */
	undecided: boolean;
	/** Of triangle (materials of createMesh), or 0. */
	material: number; ownMaterial: number; userData: bigint;
}

/** Which bodies a query sees; what is left out: all. */
export interface QueryFilter {
	/** Of the query, against the masks of bodies. */
	category?: Bits | undefined;
	/** Against the categories of bodies. */
	mask?: Bits | undefined;
	skipSensors?: boolean | undefined;
	/** Of castShape and castShapes: what the shape touches at first stops it only where the way goes into that. */
	skipSeparating?: boolean | undefined;
	/** Of rays: they meet surfaces from the front alone. One that begins inside a closed shape leaves it without a hit. */
	skipBackFaces?: boolean | undefined;
	ignore?: BodyIdLike | undefined;
	/**
	 * Asked about each part, and each sphere, that the query comes near and the settings above let through; false hides it. It may ask the world further
	 * questions, and may not change it. What it throws comes out of the query.
	 */
	bodyFilter?: ((body: BodyId, part: number, userData: bigint) => boolean | void) | null | undefined;
}
export interface Filtered { filter?: QueryFilter | null | undefined; }
export interface RayOptions extends Filtered { tMin?: number | undefined; tMax?: number | undefined; }

export interface BatchOptions extends Filtered {
	/** [2n]: the body that each query does not see, in place of filter.ignore; 0, 0: none. */
	ignore?: Numbers | null | undefined;
	/** A wrong query does not fail the call: results of the answers tell which were wrong, and answers of these are zeros. */
	results?: boolean | undefined;
}
export interface RayBatchOptions extends BatchOptions { tMin?: number | Numbers | undefined; tMax?: number | Numbers | undefined; }

/** Answers of a batch: an array for each member, in which the numbers of an answer lie in a row (point: [3n], body: [2n]). */
export interface Answers {
	/** [n], where it was asked for: 0, or what Carom.resultName has a name for. */
	results?: Int32Array;
}
/** Lists of answers: first[i] to first[i + 1] - 1 are those of query i. */
export interface AnswerLists extends Answers { first: Uint32Array; }
export interface RayHits extends Answers {
	body: Uint32Array; t: Float64Array; point: Float64Array; normal: Float64Array; triangle: Int32Array; u: Float32Array; v: Float32Array; backFace: Uint8Array; part: Int32Array;
	material: Uint32Array; userData: BigUint64Array;
}
export interface ClosestPoints extends Answers { body: Uint32Array; point: Float64Array; normal: Float64Array; distance: Float64Array; triangle: Int32Array; part: Int32Array; material: Uint32Array; userData: BigUint64Array; }
export interface ClosestBodies extends Answers { body: Uint32Array; part: Int32Array; distance: Float64Array; normal: Float64Array; onShape: Float64Array; onBody: Float64Array; userData: BigUint64Array; }
export interface ShapeHits extends Answers {
	body: Uint32Array; part: Int32Array; time: Float64Array; touching: Uint8Array; distance: Float64Array; point: Float64Array; normal: Float64Array; triangle: Int32Array; ownTriangle: Int32Array; ownPart: Int32Array; undecided: Uint8Array;
	material: Uint32Array; ownMaterial: Uint32Array; userData: BigUint64Array;
}
export interface SeparationColumns { distance: Float64Array; error: Float64Array; normal: Float64Array; pointA: Float64Array; pointB: Float64Array; }
export interface Separations extends Answers, SeparationColumns {}
/** The first count[i] of 8 points of each are there: point [24n], depth [8n]. */
export interface Manifolds extends Answers { normal: Float64Array; count: Int32Array; points: { point: Float64Array; depth: Float64Array }; }
/** status: a number, whose word is WORDS.TOI[status]. */
export interface TimesOfImpact extends Answers {
	status: Int32Array; time: Float64Array; separation: SeparationColumns; steps: Int32Array; triangleA: Int32Array; triangleB: Int32Array;
}
/** feature: a number, whose word is WORDS.FEATURE[feature]. */
export interface TrianglePoints { point: Float64Array; weights: Float64Array; feature: Int32Array; number: Int32Array; }
export interface EdgePoints { point: Float64Array; t: Float64Array; feature: Int32Array; number: Int32Array; }
/** kind, status: numbers, whose words are those of WORDS.FEATURES and WORDS.IMPACT. */
export interface Impacts {
	kind: Int32Array; status: Int32Array; meshA: Int32Array; meshB: Int32Array; vertices: Int32Array; triangle: Int32Array; time: Float64Array; weights: Float64Array; normal: Float64Array;
}
export interface Found extends Answers { found: Uint8Array; }
export interface RayHitLists extends RayHits { first: Uint32Array; }
export interface ShapeHitLists extends ShapeHits { first: Uint32Array; }
export interface BodyLists extends AnswerLists { body: Uint32Array; }
/** kind: a number, whose word is WORDS.CONTACT[kind]. */
export interface ContactLists extends AnswerLists {
	bodyA: Uint32Array; bodyB: Uint32Array; point: Float64Array; normal: Float32Array; depth: Float32Array; featureA: Int32Array; featureB: Int32Array; kind: Int32Array; age: Int32Array;
	impulse: Float32Array; pair: Int32Array; materialA: Uint32Array; materialB: Uint32Array; partA: Int32Array; partB: Int32Array;
}


/** A record's members as columns: an array of n times the numbers that one record has. Words are their numbers in WORDS. */
export type Columns<Record, Singles extends keyof Record = never> = {
	[Member in Exclude<keyof Record, "a" | "b">]-?:
		Member extends Singles ? Float32Array :
		Record[Member] extends BodyId ? Uint32Array :
		Record[Member] extends bigint ? BigUint64Array :
		Record[Member] extends boolean ? Uint8Array :
		Record[Member] extends string ? Int32Array :
		Member extends "depth" | "distance" | "thickness" | "time" | "weights" | "normal" | "point" | "pointA" | "pointB" | "gap" ? Float64Array :
		Member extends "materialA" | "materialB" ? Uint32Array : Int32Array;
};
/** The lists of World.columns. normal, depth and impulse of contacts and other impulses are floats. */
export interface ResultColumns {
	contacts: Columns<Contact, "normal" | "depth" | "impulse">;
	pairs: Columns<Pair>;
	events: Columns<PairEvent>;
	bodyPairs: Columns<BodyPair>;
	bodyEvents: Columns<BodyPairEvent>;
	impacts: Columns<WorldImpact>;
	shapeImpacts: Columns<ShapeImpact>;
	bodyImpacts: Columns<BodyImpact>;
	surfaceContacts: Columns<SurfaceContact, "impulse">;
	surfaceShapeContacts: Columns<SurfaceShapeContact, "impulse">;
	sphereContacts: Columns<SphereContact, "impulse">;
	sphereGroups: Omit<Columns<SphereGroup>, "firstPair" | "pairCount"> & { firstPair: BigInt64Array; pairCount: BigInt64Array };
}

/** The words of each enumeration, by their numbers. */
export const WORDS: { readonly [name: string]: readonly string[] };

export class World extends Handle {
	addBody(body: BodyDef): BodyId;
	removeBody(id: BodyIdLike): void;
	/** All of them, or none. */
	removeBodies(ids: readonly BodyIdLike[]): void;
	isBody(id: BodyIdLike): boolean;
	/** Sorted by index. */
	readonly bodyIds: BodyId[];
	setPose(id: BodyIdLike, pose: Pose): void;
	setPoses(ids: readonly BodyIdLike[], poses: Numbers): void;
	getPose(id: BodyIdLike): number[];
	getPoses(ids: readonly BodyIdLike[]): Float64Array;
	setAsleep(ids: readonly BodyIdLike[], asleep: boolean): void;
	getAsleep(ids: readonly BodyIdLike[]): boolean[];
	shiftOrigin(offset: Numbers): void;
	/** Poses at the beginning and at the end of the coming step, 14 numbers of each body. */
	setMotions(ids: readonly BodyIdLike[], motions: Numbers): void;
	/** What is left out stays. */
	setFilter(id: BodyIdLike, filter: { category?: Bits | undefined; mask?: Bits | undefined; group?: number | undefined }): void;
	/** What is left out stays. Static, kinematic and dynamic bodies become each other. */
	setTraits(id: BodyIdLike, traits: Pick<BodyDef, "kind" | "sensor" | "selfCollision" | "continuous" | "contacts" | "shapeImpacts" | "thickness">): void;
	getFilter(id: BodyIdLike): { category: bigint; mask: bigint; group: number };
	setShape(id: BodyIdLike, shape: Shape): void;
	/** Give the height field of a body other heights in a rectangle of columns. */
	editField(id: BodyIdLike, heights: Numbers, columns: number, options?: { firstColumn?: number | undefined; firstRow?: number | undefined }): void;
	/** Give cells of the height field of a body other materials, two for each cell. */
	paintField(id: BodyIdLike, materials: Numbers, columns: number, options?: { firstColumn?: number | undefined; firstRow?: number | undefined }): void;
	setParts(id: BodyIdLike, parts: readonly Part[]): void;
	/** Its bounds in the world, a little wider than it is. */
	getBox(id: BodyIdLike): { lower: Vector; upper: Vector };
	getUserData(id: BodyIdLike): bigint;
	setUserData(id: BodyIdLike, data: Bits): void;
	/** userData of a part that a result or an answer names; 0 of a body without parts. A contactFilter may ask too. */
	getPartData(id: BodyIdLike, part: number): bigint;
	setPartData(id: BodyIdLike, part: number, data: Bits): void;
	/** As it is now, in the form that addBody takes. A mesh in it is a handle of its own. */
	getBody(id: BodyIdLike): BodyDef;
	/** Where the vertices of the deforming bodies are at the end of the coming step, [3n], and at its beginning: else where they are. */
	setVertices(id: BodyIdLike, end: Numbers | null, begin?: Numbers | null): void;
	getVertices(id: BodyIdLike): Float64Array;
	/** Cubic metres that a deforming body encloses, signed, and those of its mesh; insideOut: contacts take its triangles turned round. */
	getEnclosed(id: BodyIdLike): { volume: number; restVolume: number; insideOut: boolean };
	/** Another mesh for deforming bodies. from: the old number of each vertex, -1: none. places: of new vertices. */
	setMesh(id: BodyIdLike, mesh: Mesh, options?: { from?: Numbers | null | undefined; places?: Numbers | null | undefined }): void;
	/** Where the spheres of a granular body are, [3n]; with radii [n] there may be another number of them. */
	setSpheres(id: BodyIdLike, centres: Numbers, radii?: Numbers | null): void;
	/** As setSpheres, for spheres that come, go or get another order: ids [n] tell which is which. Contacts and motion go on by them. */
	setSpheresById(id: BodyIdLike, ids: BigUint64Array | ArrayLike<bigint | number>, centres: Numbers, radii?: Numbers | null): void;
	/** Where the spheres of a continuous granular body begin the coming step, [3n], in the place of where they were. */
	setSphereBegins(id: BodyIdLike, begins: Numbers): void;
	/** x, y, z, radius of each. */
	getSpheres(id: BodyIdLike): Float64Array;
	/** As setSpheresById gave them; null: none were given. */
	getSphereIds(id: BodyIdLike): BigUint64Array | null;
	/** Find all contacts of the bodies as they are, and all impacts on their way. */
	/** Room ahead for parts of bodies, pairs and contacts, so many in all. */
	reserve(parts: number, pairs: number, contacts: number): void;
	/** Gives back what the content does not need. Ids of bodies added later may depend on it. */
	trim(): void;
	step(): void;
	/** A list of the step as arrays, one for each member: columns("contacts").point is [3n], of n contacts. Far quicker than the list of objects. */
	columns<List extends keyof ResultColumns>(list: List): ResultColumns[List];
	readonly contacts: Contact[];
	/** 16 numbers of each contact: a, b, point, normal, depth, featureA, featureB, kind, partA, partB, age, pair. */
	readonly contactNumbers: Float64Array;
	/** 16 hexadecimal digits, equal for equal contacts on every machine. */
	readonly contactHash: string;
	readonly pairs: Pair[];
	readonly events: PairEvent[];
	/** Empty without setBodyPairs. */
	readonly bodyPairs: BodyPair[];
	readonly bodyEvents: BodyPairEvent[];
	readonly impacts: WorldImpact[];
	readonly shapeImpacts: ShapeImpact[];
	readonly bodyImpacts: BodyImpact[];
	readonly surfaceContacts: SurfaceContact[];
	readonly surfaceShapeContacts: SurfaceShapeContact[];
	readonly sphereContacts: SphereContact[];
	/** Numbers of sphereContacts, where those of a pair stand side by side. */
	readonly sphereContactsByPair: Int32Array;
	readonly sphereGroups: SphereGroup[];
	/** a0, b0, a1, b1, ... */
	readonly spherePairs: Uint32Array;
	/** carom_world_hash in 16 hexadecimal digits: of contacts and impacts of every kind. */
	readonly hash: string;
	readonly stats: Stats;
	/** Of the search for impacts of deforming bodies. */
	readonly sweepStats: SweepStats;
	readonly earliestImpact: WorldImpact | null;
	readonly earliestShapeImpact: ShapeImpact | null;
	/** Of one body, or of all. Sensors, and bodies that touch from the beginning, do not count. */
	earliestBodyImpact(id?: BodyIdLike): BodyImpact | null;
	setImpulse(contact: number, impulse: Numbers): void;
	setSurfaceImpulse(contact: number, impulse: Numbers): void;
	setSurfaceShapeImpulse(contact: number, impulse: Numbers): void;
	setSphereImpulse(contact: number, impulse: Numbers): void;
	setImpulses(impulses: Numbers): void;
	setSurfaceImpulses(impulses: Numbers): void;
	setSurfaceShapeImpulses(impulses: Numbers): void;
	setSphereImpulses(impulses: Numbers): void;
	/** The corners of A and of B that a contact acts on, by its number in contacts, with weights whose sum is 1; null: the body does not deform. */
	contactCorners(contact: number): { a: ContactCorners | null; b: ContactCorners | null };
	setPairData(pair: number, data: Bits): void;
	/** Let the coming steps list bodyPairs and bodyEvents, or not, and keep so many contacts for two bodies, of whatever parts: 1 to 256; 0: no limit. */
	setBodyPairs(listed: boolean, maxContacts?: number): void;
	/** As setPairData, for a pair of bodies, by its number in bodyPairs. */
	setBodyPairData(pair: number, data: Bits): void;
	castRay(origin: Numbers, direction: Numbers, options?: RayOptions): RayHit | null;
	castRayAny(origin: Numbers, direction: Numbers, options?: RayOptions): boolean;
	/** Sorted by t. */
	castRayAll(origin: Numbers, direction: Numbers, options?: RayOptions): RayHit[];
	closestPoint(point: Numbers, maxDistance?: number, options?: Filtered): ClosestPoint | null;
	overlapBox(lower: Numbers, upper: Numbers, options?: Filtered): BodyId[];
	overlapShape(shape: Shape, pose?: Pose, options?: Filtered): BodyId[];
	/** Contacts that a shape would have: it is a, a body that does not exist. */
	collideShape(shape: Shape, pose?: Pose, options?: Filtered): Contact[];
	/** Of several bodies that overlap the shape, the one that does so most deeply: distance and normal are the way out of it. */
	closestBody(shape: Shape, pose?: Pose, options?: Filtered & { maxDistance?: number | undefined }): ClosestBody | null;
	/** Of bodies that may meet. a passes filterA, b passes filterB. */
	closestPair(options?: { maxDistance?: number | undefined; filterA?: QueryFilter | null | undefined; filterB?: QueryFilter | null | undefined }): ClosestPair | null;
	/** id null or left out: of all bodies that deform, each pair once. */
	findCrossings(id?: BodyId | null, options?: Filtered): BodyCrossing[];
	/** ways [3n]; null or left out: those of the coming step. maxDistance 0: each ray is as long as its way. */
	castVelocityRays(id: BodyId, ways?: Numbers | null, options?: Filtered & { maxDistance?: number | undefined; relative?: boolean | undefined; every?: number | undefined }): VelocityHit[];
	/** tolerance: how near counts as an impact, above 0; left out: 0.001. */
	castShape(shape: Shape, begin: Pose, end: Pose, options?: Filtered & { tolerance?: number | undefined }): ShapeHit | null;
	/** Every body that the shape meets on its way, each with its first hit, sorted by time. */
	castShapeAll(shape: Shape, begin: Pose, end: Pose, options?: Filtered & { tolerance?: number | undefined }): ShapeHit[];
	/** The body that parts which move as one body meet first on the way of their frame from begin to end, or null. */
	castParts(parts: readonly Part[], begin: Pose, end: Pose, options?: Filtered & { tolerance?: number | undefined }): ShapeHit | null;
	/** Every body that such parts meet on their way, each with its first hit, sorted by time. */
	castPartsAll(parts: readonly Part[], begin: Pose, end: Pose, options?: Filtered & { tolerance?: number | undefined }): ShapeHit[];
	/** origins, directions [3n]. A miss has body 0, 0, t Infinity and triangle -1. */
	castRays(origins: Numbers, directions: Numbers, options?: RayBatchOptions): RayHits;
	castRaysAny(origins: Numbers, directions: Numbers, options?: RayBatchOptions): Found;
	castRaysAll(origins: Numbers, directions: Numbers, options?: RayBatchOptions): RayHitLists;
	/** points [3n]. Where nothing is near: body 0, 0, distance Infinity. */
	closestPoints(points: Numbers, options?: BatchOptions & { maxDistance?: number | undefined }): ClosestPoints;
	/** boxes [6n]: lower and upper corners. */
	overlapBoxes(boxes: Numbers, options?: BatchOptions): BodyLists;
	/** shapes: one for all poses [7n], or one for each. */
	overlapShapes(shapes: Shape | readonly Shape[], poses: Numbers, options?: BatchOptions): BodyLists;
	collideShapes(shapes: Shape | readonly Shape[], poses: Numbers, options?: BatchOptions): ContactLists;
	closestBodies(shapes: Shape | readonly Shape[], poses: Numbers, options?: BatchOptions & { maxDistance?: number | undefined }): ClosestBodies;
	/** motions [14n]: the poses at the beginning and at the end. A miss has body 0, 0, time 1 and distance Infinity. */
	castShapes(shapes: Shape | readonly Shape[], motions: Numbers, options?: BatchOptions & { tolerance?: number | undefined }): ShapeHits;
	castShapesAll(shapes: Shape | readonly Shape[], motions: Numbers, options?: BatchOptions & { tolerance?: number | undefined }): ShapeHitLists;
	/** A new snapshot of the world as it is. The library takes a world's snapshots away with it: after world.destroy() they are empty. */
	snapshot(): Snapshot;
	/** Replace the content of a snapshot; one that is large enough takes no memory. */
	save(snapshot: Snapshot): void;
	/** Put the world back: steps that follow give, bit for bit, what they gave after the save. */
	restore(snapshot: Snapshot): void;
	/** From the bytes of Snapshot.save; the world must have equal bodies, added and removed in the same order. */
	loadSnapshot(data: Bytes): Snapshot;
	/** Hand every following call that changes the world to write, which may return false to give up; null ends the recording. */
	record(write: ((bytes: Uint8Array) => boolean | void) | null): void;
}

export interface SnapshotDifference { list: string; field: string; index: number; body: BodyId; }

export class Snapshot extends Handle {
	/** 16 hexadecimal digits: worlds that were treated alike have equal ones. */
	readonly hash: string;
	/** Bytes that it holds, without meshes. */
	readonly memory: number;
	/** Its content as bytes, for a module of the same version. */
	save(): Uint8Array;
	difference(other: Snapshot): SnapshotDifference | null;
}

export interface Impact {
	kind: "vertex-face" | "edge-edge";
	status: "impact" | "touching" | "undecided";
	meshA: number; meshB: number; vertices: number[]; triangle: number;
	/** 0 to 1, of the step. */
	time: number;
	weights: number[]; normal: Vector;
}

/** Counts, times (milliseconds) and memory of a search. */
export interface SweepStats {
	vertices: number; edges: number; triangles: number; nodes: number; volumeTests: number; front: number; frontKept: number; frontSprouted: number; frontPruned: number;
	frontRebuilt: boolean; frontOverBudget: boolean; leafPairs: number; adjacentPairs: number; orphansVf: number; orphansEe: number; testsVf: number; testsEe: number;
	filtered: number; hitsVf: number; hitsEe: number; undecided: number; msTotal: number; msTrees: number; msFront: number; msTests: number; msOrphans: number; msSort: number;
	bytes: number; bytesFront: number; bytesPeak: number;
}

/** Whom a mesh meets, as BodyDef has it. */
export interface SurfaceFilter { category?: Bits | undefined; mask?: Bits | undefined; group?: number | undefined; }
export interface SurfaceSettings extends SurfaceFilter {
	/** Does it meet itself? Left out: yes. */
	self?: boolean | undefined;
	/** It moves as a whole: it does not meet itself, nor other rigid meshes. */
	isRigid?: boolean | undefined;
	/** Half of it is added to the separation; of a sweep. */
	thickness?: number | undefined;
}

declare class Surfaces extends Handle {
	/** Returns the number of the mesh. */
	addMesh(vertices: Numbers, triangles: Numbers, settings?: SurfaceSettings): number;
	/** Put a mesh somewhere without a motion. */
	placeMesh(mesh: number, vertices: Numbers): void;
	/** What is left out is as addMesh has it. */
	setFilter(mesh: number, filter: SurfaceFilter): void;
	readonly stats: SweepStats;
}

/** Lists as objects, or as an array for each member: far quicker, as World.columns is. */
export interface AsObjects { columns?: false | undefined; }
export interface AsColumns { columns: true; }

export class Sweep extends Surfaces {
	moveMesh(mesh: number, vertices: Numbers): void;
	find(options?: AsObjects): Impact[];
	find(options: AsColumns): Impacts;
	/** Quicker than all of them. */
	findEarliest(): Impact | null;
	/** All pairs of features that may come nearer than a distance during the step. */
	findCandidates(distance: number, options?: AsObjects): Candidate[];
	findCandidates(distance: number, options: AsColumns): Columns<Candidate>;
	/** Edges that meet triangles where the step ends; touching counts. */
	findCrossings(options?: AsObjects): Crossing[];
	findCrossings(options: AsColumns): Columns<Crossing>;
	/** Those crossings, and the ways that make the lines shorter along which surfaces cross. */
	findWaysApart(options?: AsObjects): WayApart[];
	findWaysApart(options: AsColumns): WaysApart;
	/** End the step before its earliest impact, at places that are proved clear. Returns the time. */
	advance(time: number): number;
	/** Where the vertices of a mesh are at the end of the step. */
	places(mesh: number): Float64Array;
}

export interface Candidate {
	kind: "vertex-face" | "edge-edge";
	meshA: number; meshB: number; vertices: number[]; triangle: number;
}

export interface Crossing {
	meshA: number; meshB: number; vertices: number[]; triangle: number;
}

export interface WayApart {
	crossing: Crossing; point: Vector; along: number; weights: number[]; edgeWay: Vector; triangleWay: Vector;
}

export interface WaysApart {
	crossing: Columns<Crossing>; point: Float64Array; along: Float64Array; weights: Float64Array; edgeWay: Float64Array; triangleWay: Float64Array;
}

export interface NearPair {
	kind: "vertex-face" | "edge-edge";
	type: "vertex-vertex" | "vertex-edge" | "vertex-face" | "edge-edge";
	meshA: number; meshB: number; vertices: number[]; triangle: number; weights: number[]; pointA: Vector; pointB: Vector; distance: number; gap: number;
}

export interface ProximitySettings {
	method?: "auto" | "front" | "bvh" | undefined;
	frontBudget?: number | undefined;
	/** A search that finds more fails; 0: no bound. */
	maxPairs?: number | undefined;
}

/** A feature of a mesh near a shape: vertices are -1 behind its own. */
export interface NearShape {
	shape: number; mesh: number; vertices: number[]; triangle: number; weights: number[]; point: Vector;
	/** From the shape to the feature. */
	normal: Vector;
	/** Negative: moving the feature by -gap along normal parts them. */
	gap: number;
}

export class Proximity extends Surfaces {
	/** Any shape but a mesh. Returns its number. */
	addShape(shape: Shape, settings?: SurfaceFilter & Posed): number;
	placeShape(shape: number, pose: Pose): void;
	find(distance: number, options?: AsObjects): NearPair[];
	find(distance: number, options: AsColumns): Columns<NearPair>;
	search(distance: number, options?: AsObjects): { pairs: NearPair[]; shapePairs: NearShape[] };
	search(distance: number, options: AsColumns): { pairs: Columns<NearPair>; shapePairs: Columns<NearShape> };
	/** How far each vertex may move so that nothing crosses, by the last search. */
	safeDisplacements(mesh: number): Float64Array;
}

export interface SpheresSettings {
	method?: "auto" | "grid" | "levels" | "tree" | "rays" | undefined;
	/** A list of neighbours is kept, in which those are that are so much farther apart; below 0: the library chooses. */
	skin?: number | undefined;
	upkeep?: "auto" | "rebuild" | "refit" | "interval" | "quality" | undefined;
	rebuildInterval?: number | undefined;
	maxCostGrowth?: number | undefined;
	periodic?: readonly boolean[] | undefined;
	period?: Numbers | undefined;
	memoryBudget?: number | undefined;
}

export interface SphereStats {
	count: number; images: number; pairs: number; tests: number; method: "auto" | "grid" | "levels" | "tree" | "rays"; kept: boolean; refitted: boolean;
	updates: number; listBuilds: number; treeBuilds: number; treeCost: number; skin: number; msUpdate: number; msFind: number; msSort: number;
	bytes: number; bytesLists: number; bytesPeak: number;
}

export class Spheres extends Handle {
	/** Touching pairs a0, b0, a1, b1, ... with a < b. centres [3n], radii [n]. */
	findPairs(centres: Numbers, radii: Numbers): Uint32Array;
	/** Without a list: visit gets some pairs at a time, in no fixed order, and may return false to end it. */
	visitPairs(centres: Numbers, radii: Numbers, visit: (pairs: Uint32Array) => boolean | void): void;
	/** other[first[i]] to other[first[i + 1] - 1] are the neighbours of sphere i. */
	neighbours(centres: Numbers, radii: Numbers): { first: Uint32Array; other: Uint32Array };
	/** The spheres along a curve through space. */
	order(centres: Numbers, radii: Numbers): Uint32Array;
	readonly stats: SphereStats;
	/**
	 * Forces over touching spheres, [3n] each: force(a, b, direction, overlap) is what b does to a. direction is the unit vector from b to a. It is
	 * called for both orders of each pair.
	 */
	sumForces(centres: Numbers, radii: Numbers,
		force: (a: number, b: number, direction: Float64Array, overlap: number) => Numbers | { force: Numbers; torque?: Numbers | undefined } | void): { forces: Float64Array; torques: Float64Array };
}
