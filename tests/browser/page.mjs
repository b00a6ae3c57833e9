// A page of carom export as Node sees it: its head, and its blocks by the viewer's own functions, taken out of the page itself.
import { readFileSync } from 'node:fs';
import vm from 'node:vm';

export function readPage(path) {
	const text = readFileSync(path, 'utf8');
	const head = JSON.parse(text.match(/<script id="carom-head" type="application\/json">(.*?)<\/script>/s)[1]);
	const viewer = text.match(/<script>\n"use strict";\n\(\(\) => \{\n(.*?)\/\/ Meshes of shapes/s)[1];
	const page = { blocks: new Map(), ended: true, read: true, wake: [] };
	for (const [, name, size, data] of text.matchAll(/<script type="application\/octet-stream" data-name="([^"]+)" data-size="(\d+)">([^<]*)<\/script>/g))
		page.blocks.set(name, { text: data, size: +size });
	const context = vm.createContext({ DecompressionStream, DataView, Uint8Array, Int32Array, Float32Array, Float64Array, Map, Promise, Error, atob, Math });
	const codec = vm.runInContext(`(() => { ${viewer}; return { Track, readNumbers, readBlock, unpack, ABSENT, readTable, PageError }; })()`, context);
	return { text, head, page, ...codec };
}

/** All frames of a track. */
export async function readTrack(read, name) {
	const track = new read.Track(read.page, name, read.head.tracks[name], await read.readNumbers(read.page, `${name}-times`, Float64Array));
	const frames = [];
	for (let i = 0; i < track.frames; i++)
		frames.push((await track.ready(i)).slice());
	return { track, frames };
}
