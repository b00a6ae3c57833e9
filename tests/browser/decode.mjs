// node decode.mjs PAGE FOLDER [POSES]: the tracks of a page are those of the run in FOLDER, within half a quantum. POSES: raw doubles of
// /poses of recording.h5 [frames, bodies, 7], where something has written them.
import { existsSync, readFileSync } from 'node:fs';
import assert from 'node:assert/strict';
import { readPage, readTrack } from './page.mjs';

const [path, folder, poses] = process.argv.slice(2);
const read = readPage(path);

/** Largest difference of quantised numbers from floats, as part of the quantum. */
function worst(values, floats, quantum) {
	let most = 0;
	for (let i = 0; i < floats.length; i++)
		most = Math.max(most, Math.abs(values[i] * quantum - floats[i]) / quantum);
	return most;
}

/** Vertices of a binary PLY file of ours. */
function readPly(file) {
	const bytes = readFileSync(file), end = bytes.indexOf('end_header\n') + 11, count = +bytes.toString('latin1', 0, end).match(/element vertex (\d+)/)[1];
	return new Float32Array(bytes.buffer.slice(bytes.byteOffset + end, bytes.byteOffset + end + 12 * count));
}

/** The numbers of an array of a .vtp file of ours: centres as floats, ids as whole numbers. */
function readVtp(file, name = 'centre', Numbers = Float32Array) {
	const bytes = readFileSync(file), mark = '<AppendedData encoding="raw">\n_', data = bytes.indexOf(mark) + mark.length;
	const offset = +bytes.toString('latin1', 0, data).match(new RegExp(`Name="${name}"[^>]*offset="(\\d+)"`))[1], size = Number(bytes.readBigUInt64LE(data + offset));
	const first = bytes.byteOffset + data + offset + 8;
	return new Numbers(bytes.buffer.slice(first, first + size));
}

/** The points of a file of carom run --contacts: [kind, x, y, z, nx, ny, nz, depth] each. */
function readCsv(file) {
	const kinds = ['impact', 'cloth', 'sphere'];
	return readFileSync(file, 'utf8').trim().split('\n').slice(1).map((line) => line.split(',').map((cell, i) => i === 0 ? kinds.indexOf(cell) : +cell));
}

/** The points of a frame are those of its file. Returns their number. */
async function checkPoints(name, info, frame, file) {
	const { values } = read.unpack(await read.readBlock(read.page, `points-${name}-${frame}`)), source = readCsv(file);
	const totals = [0, 1, 2].map((kind) => source.filter((row) => row[0] === kind).length);
	assert.deepEqual([...values.subarray(0, 8)], [1, ...totals, source.length, 0, 0, 0]);
	assert.equal(values.length, 8 * (source.length + 1));
	source.forEach((row, i) => {
		const v = values.subarray(8 * (i + 1), 8 * (i + 2)), near = (from, end, quantum) => worst(v.subarray(from, end), row.slice(from, end), quantum) <= 0.51;
		assert.equal(v[0], row[0]);
		assert.ok(near(1, 4, info.quantum) && near(4, 7, info.points.normal_quantum) && near(7, 8, info.points.depth_quantum), `frame ${frame}: point ${i}`);
	});
	return totals;
}

/** The sums of the kinds over all frames of a track; fileOf: of a frame. */
async function checkAllPoints(name, info, frames, fileOf) {
	const sums = [0, 0, 0];
	for (let i = 0; i < frames; i++)
		(await checkPoints(name, info, i, fileOf(i))).forEach((n, k) => { sums[k] += n; });
	done.push(`${sums[0]} impacts, ${sums[1]} cloth points, ${sums[2]} sphere points`);
}

const done = [];
if (read.head.tracks.vertices) {
	const { track, frames } = await readTrack(read, 'vertices');
	for (let i = 0; i < frames.length; i++) {
		const source = readPly(`${folder}/frames/frame_${String(i * track.info.every).padStart(6, '0')}.ply`);
		assert.equal(source.length, frames[i].length);
		assert.ok(worst(frames[i], source, track.info.quantum) <= 0.5, `frame ${i} of vertices`);
	}
	done.push(`${frames.length} frames of vertices`);
	if (track.info.points)
		await checkAllPoints('vertices', track.info, frames.length, (i) => `${folder}/frames/contacts_${String(i * track.info.every).padStart(6, '0')}.csv`);
}
if (read.head.tracks.spheres) {
	const { track, frames } = await readTrack(read, 'spheres'), every = read.head.spheres_every;
	const files = [...readFileSync(`${folder}/spheres.pvd`, 'utf8').matchAll(/file="([^"]+)"/g)].map((match) => match[1]);
	for (let i = 0; i < frames.length; i++) {
		const file = `${folder}/${files[i * track.info.every]}`, all = readVtp(file), ids = readVtp(file, 'id', Uint32Array), shown = [], kept = [];
		ids.forEach((id, k) => { // in recordings of library calls spheres come and go
			if (id % every)
				return;
			shown.push(...frames[i].subarray(3 * id / every, 3 * id / every + 3));
			kept.push(all[3 * k], all[3 * k + 1], all[3 * k + 2]);
		});
		assert.equal(kept.length, frames[i].filter((value) => value !== read.ABSENT).length);
		assert.ok(worst(shown, kept, track.info.quantum) <= 0.5, `frame ${i} of spheres`);
	}
	done.push(`${frames.length} frames of spheres`);
	if (track.info.points)
		await checkAllPoints('spheres', track.info, frames.length, (i) => `${folder}/${files[i * track.info.every].replace('spheres_', 'contacts_').replace('.vtp', '.csv')}`);
}
if (read.head.tracks.poses && poses && existsSync(poses)) {
	const { track, frames } = await readTrack(read, 'poses'), bytes = readFileSync(poses), width = bytes.length / 8 / track.info.recorded_frames;
	const source = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
	let absent = 0;
	assert.equal(width, track.info.count); // a row for each body: the scene has no parts
	frames.forEach((values, i) => {
		for (let at = 0; at < width; at += 7) {
			const pose = source.subarray(i * track.info.every * width + at, i * track.info.every * width + at + 7), sign = pose[6] < 0 ? -1 : 1;
			if (Number.isNaN(pose[0])) {
				assert.equal(values[at], read.ABSENT);
				absent++;
				continue;
			}
			assert.ok(worst(values.subarray(at, at + 3), pose.subarray(0, 3), track.info.quantum) <= 0.5, `frame ${i}: a place`);
			assert.ok(worst(values.subarray(at + 3, at + 7), pose.subarray(3).map((c) => sign * c), track.info.turn_quantum) <= 0.5, `frame ${i}: a turn`);
		}
	});
	done.push(`${frames.length} frames of poses, ${absent} of bodies that are not there yet`);
}
if (read.head.contacts) {
	const counts = await read.readNumbers(read.page, 'contact-counts', Int32Array), perBlock = read.head.contacts.frames_per_block;
	for (let first = 0; first < counts.length; first += perBlock) {
		const block = read.unpack(await read.readBlock(read.page, `contacts-${first / perBlock}`));
		assert.equal(block.values.length, 9 * counts.slice(first, first + perBlock).reduce((sum, n) => sum + n, 0));
	}
	done.push(`${counts.reduce((sum, n) => sum + n, 0)} contacts`);
}
console.log(done.join(', '));
