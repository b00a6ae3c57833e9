// node layouts.mjs PACKAGE SOURCE: the layouts and words of carom.js are those of the headers, member by member, and carom.d.ts has them all.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [folder, source] = process.argv.slice(2);
const { LAYOUTS, WORDS, layoutOf } = await import(pathToFileURL(`${folder}/carom.js`));
const headers = readdirSync(`${source}/include/carom`).filter((name) => name.endsWith('.h')).map((name) => readFileSync(`${source}/include/carom/${name}`, 'utf8')).join('\n')
	.replace(/\/\/.*$/gm, '').replace(/\s+/g, ' ');
const constant = (text) => /^\d+$/.test(text) ? text : headers.match(new RegExp(`#define ${text} (\\d+)`))[1];
const types = readFileSync(`${folder}/carom.d.ts`, 'utf8');
const camel = (name) => name.replace(/_(\w)/g, (all, letter) => letter.toUpperCase());
const bodyOf = (what, name) => {
	const found = headers.match(new RegExp(`typedef ${what} carom_${name} \\{(.*?)\\} carom_${name};`));
	assert.ok(found, `there is no ${what} carom_${name}`);
	return found[1];
};

// Which words belong to which enumeration.
const enumerations = { shape_type: 'SHAPE', body_kind: 'KIND', mesh_sides: 'SIDES', broad_phase: 'BROAD', temporal: 'TEMPORAL', contact_normal: 'NORMAL', contact_kind: 'CONTACT',
	event_kind: 'EVENT', sweep_kind: 'FEATURES', sweep_status: 'IMPACT', toi_status: 'TOI', proximity_type: 'NEAR', feature: 'FEATURE', sweep_method: 'METHOD', sweep_volume: 'VOLUME',
	sweep_build: 'BUILD', sweep_test: 'TEST', mesh_build: 'TREES', sphere_method: 'SPHERES', tree_upkeep: 'UPKEEP' };
assert.deepEqual(Object.values(enumerations).sort(), Object.keys(WORDS).sort());
const laboratory = ['sweep_method', 'sweep_test', 'sphere_method']; // whose last words need the laboratory, or a device
for (const [name, key] of Object.entries(enumerations)) {
	const values = bodyOf('enum', name).match(/CAROM_\w+/g), words = WORDS[key];
	if (!laboratory.includes(name))
		assert.equal(words.length, values.length, `${key} has not the words of carom_${name}`);
	words.forEach((word, i) => assert.ok(values[i].toLowerCase().replace(/_/g, '-').endsWith(`-${word}`), `${values[i]} is "${word}"`));
	assert.ok(words.every((word) => types.includes(`"${word}"`)), `carom.d.ts lacks a word of ${key}`);
}

// What a member of C is in a layout.
function typeOf(type, isPointer, count) {
	const vectors = { carom_vec3: 'f64*3', carom_quat: 'f64*4', carom_pose: 'f64*7', carom_motion: 'f64*14' }, short = type.replace('carom_', '');
	const scalars = { bool: 'bool', int: 'i32', int32_t: 'i32', uint32_t: 'u32', int64_t: 'i64', uint64_t: 'u64', size_t: 'size', float: 'f32', double: 'f64', carom_body_id: 'id', carom_scalar: 'i32' };
	if (isPointer)
		return type === 'char' ? 'text' : 'ptr';
	if (type === 'char')
		return `chars*${count}`;
	return vectors[type] || (scalars[type] || enumerations[short] || short) + (count ? `*${count}` : '');
}

for (const [name, text] of Object.entries(LAYOUTS)) {
	const wanted = bodyOf('struct', name).split(';').map((line) => line.trim()).filter(Boolean).flatMap((line) => {
		const [, type, declarators] = line.match(/^(?:const )?(?:struct )?(\w+) (.*)$/);
		return declarators.split(',').map((declarator) => {
			const [, star, member, count] = declarator.trim().match(/^(\*?)\s*(\w+)(?:\[(\w+)\])?$/);
			return `${member}:${typeOf(type, star === '*', count && constant(count))}`;
		});
	});
	assert.deepEqual(text.trim().split(/\s+/).map((member) => member.replace(/^-/, '').replace(/=\w+/, '')), wanted, `the layout of carom_${name}`);
}

// Each record has an interface with all of its members in carom.d.ts.
const interfaces = { mesh_report: 'MeshReport', mesh_gap: 'MeshGap', shape: 'Shape', sweep_def: 'SweepSettings', world_def: 'WorldSettings', body_def: 'BodyDef', contact: 'Contact', pair: 'Pair',
	event: 'PairEvent', body_pair: 'BodyPair', body_event: 'BodyPairEvent', impact: 'WorldImpact', shape_impact: 'ShapeImpact', body_impact: 'BodyImpact', surface_contact: 'SurfaceContact', surface_shape_contact: 'SurfaceShapeContact',
	sphere_contact: 'SphereContact', sphere_group: 'SphereGroup', stats: 'Stats', ray_hit: 'RayHit', closest_point: 'ClosestPoint', replay_result: 'Replay', snapshot_difference: 'SnapshotDifference',
	sweep_hit: 'Impact', sweep_candidate: 'Candidate', sweep_crossing: 'Crossing', crossing: 'BodyCrossing', velocity_hit: 'VelocityHit', sweep_way_apart: 'WayApart', proximity_pair: 'NearPair', query_filter: 'QueryFilter', shape_hit: 'ShapeHit', closest_body: 'ClosestBody', closest_pair: 'ClosestPair', mesh_def: 'MeshSettings', mass: 'Mass', tree_info: 'TreeInfo',
	mesh_point: 'MeshPoint', separation: 'Separation', toi: 'TimeOfImpact', sweep_mesh_def: 'SurfaceSettings', sweep_stats: 'SweepStats', proximity_def: 'ProximitySettings',
	proximity_shape_pair: 'NearShape', spheres_def: 'SpheresSettings', sphere_stats: 'SphereStats', triangle_point: 'TrianglePoints', edge_point: 'EdgePoints' };
const hidden = { proximity_pair: ['distance2'] };
for (const [name, title] of Object.entries(interfaces)) {
	let text = '', next = title;
	while (next) { // with the members that it inherits
		const found = types.match(new RegExp(`export interface ${next}(?: extends (\\w+))? \\{(.*?)\\n?\\}`, 's'));
		assert.ok(found, `carom.d.ts has no ${next}`);
		text += found[2];
		next = found[1];
	}
	for (const member of layoutOf(name).members) {
		if (!member.isInner && !(hidden[name] || []).includes(member.name))
			assert.match(text, new RegExp(`\\b${camel(member.name)}\\??:`), `carom.d.ts: ${title} has no ${member.name}`);
	}
}
// carom.js writes the library's texts: it knows every conversion that they have.
const folders = readdirSync(`${source}/src`, { withFileTypes: true }).filter((each) => each.isDirectory() && each.name !== 'vulkan');
let conversions = 0;
for (const { name } of folders) {
	for (const file of readdirSync(`${source}/src/${name}`).filter((each) => /\.[ch]$/.test(each))) {
		for (const [text] of readFileSync(`${source}/src/${name}/${file}`, 'utf8').matchAll(/"(?:[^"\\\n]|\\.)*"/g)) {
			for (const [conversion] of text.matchAll(/%[-+ #0-9.*]*(?:ll|l|z|h|j|t)?[a-zA-Z%]/g)) {
				assert.match(conversion, /^%(?:0\d+)?(?:\.\d+)?(?:[scgdu%]|ll[dux]|zu)$/, `${name}/${file}: formatText of carom.js does not know ${conversion}`);
				conversions++;
			}
		}
	}
}
assert.ok(conversions > 500);

// Each class has what carom.d.ts says that it has.
const module = await import(pathToFileURL(`${folder}/carom.js`)), classes = [...types.matchAll(/^(?:export|declare) class (\w+)(?: extends (\w+))? \{\n(.*?)\n\}/gms)];
for (const [, name, base, text] of classes) {
	for (const [, member] of name === 'CaromError' ? [] : text.matchAll(/^\t(?:readonly )?(\w+)[(:]/gm)) {
		const found = [module[name], ...classes.filter(([, , from]) => from === name).map(([, each]) => module[each])].find((each) => each);
		assert.ok(member in found.prototype, `carom.js: ${name} has no ${member} (${base || 'no base'})`);
	}
}
console.log(`${Object.keys(LAYOUTS).length} layouts, ${Object.keys(WORDS).length} enumerations: those of the headers`);
