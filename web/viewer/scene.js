// The recording as things to draw: bodies of a track of poses, a surface that deforms, spheres; their contacts; frames by time.

// Paul Tol's scheme "light": told apart by the colour-blind, too. Neighbours in number differ much.
const PALETTE = ["#77aadd", "#ee8866", "#eedd88", "#44bb99", "#ffaabb", "#99ddff", "#bbcc33", "#dddddd", "#aaaa55"].map((text) =>
	[1, 3, 5].map((i) => (parseInt(text.slice(i, i + 2), 16) / 255) ** 2.2));
const STATIC_COLOR = [0.36, 0.37, 0.38];
// Depth from blue over magenta to yellow ("plasma"), which stays ordered in grey, too.
const DEPTH_COLORS = [[0.17, 0.04, 0.57], [0.56, 0.05, 0.64], [0.80, 0.28, 0.47], [0.97, 0.58, 0.25], [0.94, 0.98, 0.13]];
const SHAPES = ["sphere", "box", "capsule", "plane", "mesh", "hull", "cylinder", "cone", "ellipsoid"];
const KINDS = ["static", "kinematic", "dynamic"];
const ROW_NUMBERS = 18, CONTACT_NUMBERS = 9, POINT_NUMBERS = 8;
// Layers of points, by their kind in the page, with colours of Okabe and Ito that are told apart by the colour-blind, too: vermilion, blue, reddish purple.
const POINT_LAYERS = [{ name: "impacts", color: "#d55e00" }, { name: "softContacts", color: "#0072b2" }, { name: "sphereContacts", color: "#cc79a7" }].map((layer) =>
	({ ...layer, rgb: [1, 3, 5].map((i) => parseInt(layer.color.slice(i, i + 2), 16) / 255) }));

function paletteColor(number) {
	const n = PALETTE.length, shade = 0.8 + 0.09 * ((Math.floor(number / n) * 2) % 4);
	return PALETTE[number % n].map((c) => c * shade);
}

function depthColor(part) {
	const at = Math.max(0, Math.min(0.9999, part)) * (DEPTH_COLORS.length - 1), i = Math.floor(at), t = at - i;
	return DEPTH_COLORS[i].map((c, k) => c + t * (DEPTH_COLORS[i + 1][k] - c));
}

class Scene {
	/** live: the run that goes on, whose frames come later. */
	constructor(page, head, live) {
		this.page = page;
		this.head = head;
		this.live = live;
		this.tracks = {};
		this.shown = {}; // frame of each track that is drawn
		this.bodies = []; // { number, kind, rows, extent }
		this.rows = [];
		this.picked = null;
		this.found = []; // contacts
		this.foundOf = -1; // the frame that they are of
		this.finding = false;
		this.points = { totals: null, list: [] }; // of deforming bodies and of spheres
		this.pointsOf = ""; // the frames that they are of
		this.layers = { bodies: true, impacts: false, softContacts: false, sphereContacts: false, contacts: false, normals: false, depths: false, pairs: false, boxes: false };
		const gravity = head.gravity || [0, -9.81, 0];
		this.up = norm(gravity) > 0 ? unit(scale(gravity, -1)) : [0, 0, 1];
		const bounds = head.bounds || { lower: [-1, -1, -1], upper: [1, 1, 1] };
		this.origin = scale(add(bounds.lower, bounds.upper), 0.5);
		this.lower = subtract(bounds.lower, this.origin);
		this.upper = subtract(bounds.upper, this.origin);
		this.centre = [0, 0, 0];
		this.radius = 0.5 * norm(subtract(bounds.upper, bounds.lower)) || 1;
		this.grounds = [];
	}

	/** The track on whose frames the slider moves: that with the most. */
	get master() {
		return Object.values(this.tracks).reduce((best, track) => !best || track.frames > best.frames ? track : best, null);
	}

	async load(renderer) {
		this.renderer = renderer;
		for (const [name, info] of Object.entries(this.head.tracks))
			this.tracks[name] = this.live ? this.live.track(name, info) : new Track(this.page, name, info, await readNumbers(this.page, `${name}-times`, Float64Array));
		if (this.tracks.poses)
			await this.loadBodies();
		if (this.tracks.vertices)
			await this.loadSurface();
		if (this.tracks.spheres)
			await this.loadSpheres();
		await Promise.all(Object.values(this.tracks).map((track) => track.ready(0)));
		this.makeGrounds();
	}

	// ---- Bodies ----

	async loadBodies() {
		const numbers = await readNumbers(this.page, "bodies", Float64Array);
		for (let at = 0; at < numbers.length; at += ROW_NUMBERS)
			this.rows.push(this.readRow(numbers.subarray(at, at + ROW_NUMBERS), at / ROW_NUMBERS));
		const groups = new Map();
		for (const row of this.rows) {
			this.addRow(row);
			if (row.type === "plane")
				continue;
			const key = this.geometryKey(row);
			if (!groups.has(key))
				groups.set(key, []);
			groups.get(key).push(row);
		}
		for (const rows of groups.values())
			await this.addGroup(rows);
	}

	readRow(n, index) {
		const kind = KINDS[n[0]], type = SHAPES[n[1]];
		if (!kind || !type)
			throw new PageError(`This page is damaged: shape ${index} is of a kind that the viewer does not know.`);
		const given = { radius: n[3], halfLength: n[4], half: [n[5], n[6], n[7]], rounding: n[8] };
		return { index, kind, type, given, mesh: n[2], radius: n[3] + n[8] * (type !== "mesh"), halfLength: n[4], half: [n[5] + n[8], n[6] + n[8], n[7] + n[8]],
			rounding: n[8], part: n[9], place: [n[10], n[11], n[12]], turn: [n[13], n[14], n[15], n[16]], number: n[17] };
	}

	addRow(row) {
		let body = this.bodies[row.number];
		if (!body)
			body = this.bodies[row.number] = { number: row.number, kind: row.kind, rows: [], place: [NaN, NaN, NaN], turn: [0, 0, 0, 1] };
		body.rows.push(row);
	}

	/** Has it a form of its own, which is not a unit shape stretched? */
	isRounded(row) { return row.rounding > 0 && ["box", "cylinder", "cone", "ellipsoid"].includes(row.type); }

	geometryKey(row) {
		if (row.type === "mesh" || row.type === "hull")
			return `mesh ${row.mesh}`;
		if (row.type === "capsule")
			return `capsule ${row.radius} ${row.halfLength}`;
		if (this.isRounded(row))
			return `${row.type} ${JSON.stringify(row.given)}`;
		return row.type === "ellipsoid" ? "sphere" : row.type;
	}

	async addGroup(rows) {
		const row = rows[0];
		let geometry, vertices;
		if (row.type === "mesh" || row.type === "hull") {
			const bytes = await readBlock(this.page, `mesh-${row.mesh}`), [v, t] = new Uint32Array(bytes.buffer, 0, 2);
			if (bytes.length !== 8 + 12 * v + 12 * t)
				throw new PageError(`This page is damaged: mesh ${row.mesh} has a wrong size.`);
			vertices = new Float32Array(bytes.buffer, 8, 3 * v);
			geometry = creasedGeometry(vertices, new Uint32Array(bytes.buffer, 8 + 12 * v, 3 * t));
		} else if (row.type === "capsule") {
			geometry = capsuleGeometry(row.radius, row.halfLength);
		} else if (this.isRounded(row)) {
			geometry = roundedGeometry(row.type, row.given);
		} else {
			geometry = unitShapes[row.type === "ellipsoid" ? "sphere" : row.type]();
		}
		vertices = vertices || geometry.positions;
		const batch = this.renderer.addInstances(geometry, rows.length);
		rows.forEach((each, slot) => {
			each.batch = batch;
			each.slot = slot;
			each.scale = this.scaleOf(each);
			each.vertices = vertices;
			const color = each.kind === "static" ? STATIC_COLOR : paletteColor(each.number);
			const opacity = (this.head.opacity || {})[each.number] ?? 1;
			batch.data.set([...each.scale, color[0] + 4 * Math.round(16 * (1 - opacity)), color[1], color[2], 0, each.number], slot * INSTANCE + 7);
		});
	}

	scaleOf(row) {
		if (this.isRounded(row))
			return [1, 1, 1];
		switch (row.type) {
		case "sphere": return [row.radius, row.radius, row.radius];
		case "cylinder": case "cone": return [row.radius, row.radius, row.halfLength];
		case "box": case "ellipsoid": return row.half;
		default: return [1, 1, 1];
		}
	}

	showBodies(values) {
		const track = this.tracks.poses, q = track.info.quantum, tq = track.info.turn_quantum, batches = new Set();
		for (const body of this.bodies) {
			const at = 7 * body.number;
			body.there = values[at] !== ABSENT;
			body.place = [values[at] * q - this.origin[0], values[at + 1] * q - this.origin[1], values[at + 2] * q - this.origin[2]];
			const turned = [values[at + 3] * tq, values[at + 4] * tq, values[at + 5] * tq, values[at + 6] * tq];
			const length = Math.hypot(...turned) || 1;
			body.turn = turned.map((c) => c / length);
			for (const row of body.rows) {
				if (!row.batch)
					continue;
				const place = row.part ? add(body.place, turn(body.turn, row.place)) : body.place;
				const turned = row.part ? turnBoth(body.turn, row.turn) : body.turn, to = row.slot * INSTANCE, data = row.batch.data;
				data[to] = place[0]; data[to + 1] = place[1]; data[to + 2] = place[2];
				data[to + 3] = turned[0]; data[to + 4] = turned[1]; data[to + 5] = turned[2]; data[to + 6] = turned[3];
				const size = body.there ? row.scale : [0, 0, 0];
				data[to + 7] = size[0]; data[to + 8] = size[1]; data[to + 9] = size[2];
				data[to + 13] = this.picked && this.picked.kind === "body" && this.picked.number === body.number ? 1 : 0;
				batches.add(row.batch);
			}
		}
		for (const batch of batches)
			batch.update();
	}

	/** The box of a body along the axes: { lower, upper }, or null for planes and bodies that are not there. */
	boxOf(body) {
		const lower = [Infinity, Infinity, Infinity], upper = [-Infinity, -Infinity, -Infinity];
		if (!body.there)
			return null;
		for (const row of body.rows) {
			if (!row.vertices)
				continue;
			const place = row.part ? add(body.place, turn(body.turn, row.place)) : body.place;
			const t = row.part ? turnBoth(body.turn, row.turn) : body.turn, s = row.scale, v = row.vertices;
			const axes = [turn(t, [s[0], 0, 0]), turn(t, [0, s[1], 0]), turn(t, [0, 0, s[2]])];
			for (let i = 0; i < v.length; i += 3) {
				for (let k = 0; k < 3; k++) {
					const c = place[k] + v[i] * axes[0][k] + v[i + 1] * axes[1][k] + v[i + 2] * axes[2][k];
					if (c < lower[k]) lower[k] = c;
					if (c > upper[k]) upper[k] = c;
				}
			}
		}
		return lower[0] <= upper[0] ? { lower, upper } : null;
	}

	/** The box of all that moves, as it is now: [lower, upper]; null when nothing is there. */
	boxOfMoving() {
		const lower = [Infinity, Infinity, Infinity], upper = [-Infinity, -Infinity, -Infinity];
		const unite = (point) => point[0] === point[0] && point.forEach((c, k) => { lower[k] = Math.min(lower[k], c); upper[k] = Math.max(upper[k], c); });
		for (const body of this.bodies) {
			const box = body.kind !== "static" && this.boxOf(body);
			if (box)
				[box.lower, box.upper].forEach(unite);
		}
		for (const places of [this.vertices, this.places]) {
			for (let i = 0; places && i < places.length; i += 3)
				unite([places[i], places[i + 1], places[i + 2]]);
		}
		return lower[0] <= upper[0] ? [lower, upper] : null;
	}

	// ---- Deforming bodies ----

	async loadSurface() {
		const track = this.tracks.vertices, count = track.info.count / 3;
		this.triangles = await readNumbers(this.page, "triangles", Uint32Array);
		for (const corner of this.triangles) {
			if (corner >= count)
				throw new PageError("This page is damaged: a triangle names a vertex that is not there.");
		}
		const { piece, count: pieceCount } = pieces(count, this.triangles), colors = new Float32Array(3 * count);
		this.pieceCount = pieceCount;
		for (let i = 0; i < count; i++)
			colors.set(paletteColor(piece[i]), 3 * i);
		this.vertices = new Float32Array(3 * count);
		this.normals = new Float32Array(3 * count);
		this.surface = this.renderer.addCloth(count, this.triangles, colors);
	}

	showSurface(values) {
		const q = this.tracks.vertices.info.quantum, v = this.vertices, [x, y, z] = this.origin;
		for (let i = 0; i < v.length; i += 3) {
			v[i] = values[i] * q - x;
			v[i + 1] = values[i + 1] * q - y;
			v[i + 2] = values[i + 2] * q - z;
		}
		smoothNormals(v, this.triangles, this.normals);
		this.surface.update(v, this.normals);
	}

	// ---- Spheres ----

	async loadSpheres() {
		const track = this.tracks.spheres, radii = await readNumbers(this.page, "radii", Float32Array);
		if (radii.length !== track.info.count / 3)
			throw new PageError("This page is damaged: there are not as many radii as spheres.");
		const colors = new Float32Array(3 * radii.length);
		for (let i = 0; i < radii.length; i++)
			colors.set(paletteColor((Math.imul(i, 2654435761) >>> 8) % 997), 3 * i);
		this.radii = radii;
		this.places = new Float32Array(3 * radii.length);
		this.spheres = this.renderer.addSpheres(radii, colors);
	}

	showSpheres(values) {
		const q = this.tracks.spheres.info.quantum, p = this.places, [x, y, z] = this.origin;
		for (let i = 0; i < p.length; i += 3) {
			const there = values[i] !== ABSENT; // else out of sight
			p[i] = there ? values[i] * q - x : NaN;
			p[i + 1] = there ? values[i + 1] * q - y : NaN;
			p[i + 2] = there ? values[i + 2] * q - z : NaN;
		}
		this.spheres.update(p);
	}

	// ---- Frames ----

	/** Show the frames of a time. Returns false while a frame's block is not unpacked yet (that is begun then). */
	show(time) {
		let all = true;
		for (const [name, track] of Object.entries(this.tracks)) {
			const index = track.at(time);
			if (this.shown[name] === index)
				continue;
			const values = track.frame(index), number = Math.floor(index / track.perBlock);
			if (track.broken.has(number))
				continue; // the picture stays as it is; the reader was told
			if (!values) {
				track.load(number).catch(this.fail);
				all = false;
				continue;
			}
			this.shown[name] = index;
			if (name === "poses")
				this.showBodies(values);
			else if (name === "vertices")
				this.showSurface(values);
			else
				this.showSpheres(values);
			const next = number + 1;
			if (next * track.perBlock < track.frames && !track.blocks.has(next) && !track.broken.has(next))
				track.load(next).catch(this.fail);
		}
		return all;
	}

	/** Draw the bodies of the present frame again, after a pick. */
	refresh() {
		const values = this.tracks.poses && this.tracks.poses.frame(this.shown.poses || 0);
		if (values)
			this.showBodies(values);
	}

	makeGrounds() {
		this.show(this.master.times[0]);
		const planes = this.bodies.filter((body) => body.rows[0].type === "plane" && body.there);
		if (planes.length > 0) {
			this.grounds = planes.map((body) => {
				const normal = turn(body.turn, [0, 0, 1]), high = dot(subtract(this.centre, body.place), normal);
				return { normal, centre: subtract(this.centre, scale(normal, high)), shift: this.origin };
			});
			return;
		}
		const low = this.head.bounds ? Math.min(...[this.head.bounds.lower, this.head.bounds.upper].map((corner) => dot(subtract(corner, this.origin), this.up))) : -this.radius;
		this.grounds = [{ normal: this.up, centre: scale(this.up, low - 0.01 * this.radius), shift: this.origin }];
		this.groundIsDrawnOnly = true;
	}

	// ---- Contacts ----

	get hasContacts() { return !!this.head.contacts || !!this.head.detection; }

	/** The contacts of the frame that is shown: { count, a, b, points, normals, depths }; null while they are not there. */
	async contacts(index) {
		const info = this.head.contacts;
		if (!info)
			return this.findContacts(index);
		if (this.live)
			return this.readContacts(unpack(this.live.frames[index].blocks.get("contacts")).values);
		if (!this.contactCounts)
			this.contactCounts = await readNumbers(this.page, "contact-counts", Int32Array);
		const number = Math.floor(index / info.frames_per_block), first = number * info.frames_per_block;
		if (!this.contactBlock || this.contactBlock.number !== number)
			this.contactBlock = { number, values: unpack(await readBlock(this.page, `contacts-${number}`)).values };
		let at = 0;
		for (let i = first; i < index; i++)
			at += CONTACT_NUMBERS * this.contactCounts[i];
		return this.readContacts(this.contactBlock.values.subarray(at, at + CONTACT_NUMBERS * this.contactCounts[index]));
	}

	readContacts(values) {
		const info = this.head.contacts, quantum = this.tracks.poses.info.quantum, list = [];
		for (let at = 0; at < values.length; at += CONTACT_NUMBERS) {
			const v = values.subarray(at, at + CONTACT_NUMBERS), rowA = this.rows[v[0]], rowB = this.rows[v[1]];
			if (!rowA || !rowB)
				throw new PageError("This page is damaged: a contact names a body that is not there.");
			list.push({ a: rowA.number, b: rowB.number, depth: v[8] * info.depth_quantum,
				point: [2, 3, 4].map((k) => v[k] * quantum - this.origin[k - 2]), normal: unit([5, 6, 7].map((k) => v[k] * info.normal_quantum)) });
		}
		return list;
	}

	/** Contacts that the library finds here, at the poses of a frame. */
	async findContacts(index) {
		const { contacts } = await this.detector.find(await this.tracks.poses.ready(index));
		return contacts.map((contact) => ({ ...contact, point: subtract(contact.point, this.origin) }));
	}

	// ---- Points: contacts of deforming bodies and of spheres ----

	/** Do the frames of a track ("vertices" or "spheres") have points? */
	hasPoints(name) { return !!(this.tracks[name] && this.tracks[name].info.points); }

	get hasAnyPoints() { return this.hasPoints("vertices") || this.hasPoints("spheres"); }

	/** Names the frames that are shown, for points that are to be of them; "" while there are none. */
	get pointsKey() {
		return ["vertices", "spheres"].filter((name) => this.hasPoints(name) && this.shown[name] !== undefined).map((name) => `${name} ${this.shown[name]}`).join();
	}

	/** The points of the frames that are shown: { totals: of each kind, or null where they are not known, list: of { kind, point, normal, depth } }. */
	async readPoints() {
		const all = { totals: null, list: [] };
		for (const name of ["vertices", "spheres"]) {
			const index = this.shown[name];
			if (!this.hasPoints(name) || index === undefined)
				continue;
			const bytes = this.live ? this.live.frames[index].blocks.get(`points-${name}`) : await readBlock(this.page, `points-${name}-${index}`);
			this.addPoints(unpack(bytes).values, this.tracks[name].info, all);
		}
		return all;
	}

	addPoints(values, info, all) {
		const kinds = POINT_LAYERS.length, count = values[1 + kinds], q = info.quantum;
		if (values.length !== (count + 1) * POINT_NUMBERS)
			throw new PageError("This page is damaged: the points of a frame have a wrong size.");
		if (!values[0])
			return;
		all.totals = all.totals || POINT_LAYERS.map(() => 0);
		for (let k = 0; k < kinds; k++)
			all.totals[k] += values[1 + k];
		for (let at = POINT_NUMBERS; at < values.length; at += POINT_NUMBERS) {
			const v = values.subarray(at, at + POINT_NUMBERS);
			if (!POINT_LAYERS[v[0]])
				throw new PageError("This page is damaged: a point is of a kind that the viewer does not know.");
			all.list.push({ kind: v[0], point: [1, 2, 3].map((k) => v[k] * q - this.origin[k - 1]),
				normal: unit([4, 5, 6].map((k) => v[k] * info.points.normal_quantum)), depth: v[7] * info.points.depth_quantum });
		}
	}

	/** Points of the layers that are on, with normals and depths where those are on. */
	addPointOverlays(length, dots, needles, depths) {
		const on = this.layers;
		for (const { kind, point, normal, depth } of this.points.list) {
			const { name, rgb } = POINT_LAYERS[kind];
			if (!on[name])
				continue;
			const line = (to, end) => to.push(...point, ...rgb, 1, ...end, ...rgb, 1);
			dots.push(...point, ...rgb, 1);
			if (on.normals)
				line(needles, add(point, scale(normal, length * 4)));
			if (on.depths && depth > 0)
				line(depths, add(point, scale(normal, -depth * 20)));
		}
	}

	// ---- Overlays ----

	/** Put the layers that are on over the picture. contacts: of this frame. */
	showOverlays(contacts) {
		const on = this.layers, dots = [], needles = [], depths = [], pairs = [], boxes = [];
		const deepest = contacts.reduce((most, contact) => Math.max(most, contact.depth), 0) || 1;
		const length = 0.06 * Math.min(this.radius, 4 * this.typicalExtent());
		const seen = new Set();
		for (const contact of contacts) {
			const color = depthColor(contact.depth / deepest), ends = (to, end, rgba) => to.push(...contact.point, ...rgba, ...end, ...rgba);
			if (on.contacts)
				dots.push(...contact.point, ...color, 1);
			if (on.normals)
				ends(needles, add(contact.point, scale(contact.normal, length * 4)), [0.10, 0.45, 0.85, 1]);
			if (on.depths)
				ends(depths, add(contact.point, scale(contact.normal, -contact.depth * 20)), [...color, 1]);
			const key = contact.a < contact.b ? contact.a * 4294967296 + contact.b : contact.b * 4294967296 + contact.a;
			if (on.pairs && !seen.has(key)) {
				seen.add(key);
				const middle = (number) => this.bodies[number].rows[0].type === "plane" ? contact.point : this.bodies[number].place;
				pairs.push(...middle(contact.a), 0.95, 0.45, 0.10, 0.9, ...middle(contact.b), 0.95, 0.45, 0.10, 0.9);
			}
		}
		this.addPointOverlays(length, dots, needles, depths);
		if (on.boxes)
			this.bodies.forEach((body) => this.addBox(this.boxOf(body), body.kind === "static" ? [0.5, 0.5, 0.5, 0.5] : [0.13, 0.55, 0.45, 0.8], boxes));
		if (this.picked && this.picked.kind === "body" && !on.boxes)
			this.addBox(this.boxOf(this.bodies[this.picked.number]), [0.95, 0.70, 0.10, 1], boxes);
		if (this.head.box_lower)
			this.addBox({ lower: subtract(this.head.box_lower, this.origin), upper: subtract(this.head.box_upper, this.origin) }, [0.45, 0.5, 0.56, 0.7], boxes);
		[["boxes", "lines", boxes], ["pairs", "lines", pairs], ["needles", "lines", needles], ["depths", "lines", depths], ["dots", "dots", dots]]
			.forEach(([name, kind, list]) => this.renderer.setOverlay(name, kind, new Float32Array(list)));
	}

	typicalExtent() {
		if (this.extent === undefined) {
			const boxes = this.bodies.slice(0, 64).filter((body) => body.kind !== "static").map((body) => this.boxOf(body)).filter((box) => box);
			const sizes = boxes.map((box) => norm(subtract(box.upper, box.lower)) / 2).sort((a, b) => a - b);
			this.extent = sizes.length ? sizes[sizes.length >> 1] : this.radius / 10;
		}
		return this.extent;
	}

	addBox(box, rgba, to) {
		if (!box)
			return;
		const corner = (i) => [0, 1, 2].map((k) => (i >> k & 1 ? box.upper : box.lower)[k]);
		for (let i = 0; i < 8; i++) {
			for (let k = 0; k < 3; k++) {
				if (!(i >> k & 1))
					to.push(...corner(i), ...rgba, ...corner(i | 1 << k), ...rgba);
			}
		}
	}
}
