#!/usr/bin/env python3
"""Reads models of carom export as another program would, without its code, and says what is wrong with them.

usage: read_model.py gltf FILE [POSES.raw BODIES] | usda FILE [POSES.raw BODIES] | same A.gltf B.glb

POSES.raw: doubles, 7 for each body of each frame, as recording.h5 has them. Prints the number of triangles that a viewer shows, of nodes
or prims, and of frames."""

import base64
import json
import math
import re
import struct
import sys
from array import array


def check(sound, text):
    if not sound:
        sys.exit(f"{sys.argv[2]}: {text}")


def read_gltf(path):
    data = open(path, "rb").read()
    if path.endswith(".glb"):
        magic, version, length, size, kind = struct.unpack_from("<5I", data)
        check((magic, version, length, kind) == (0x46546C67, 2, len(data), 0x4E4F534A) and size % 4 == 0, "the head of the file")
        document = json.loads(data[20:20 + size])
        length, kind = struct.unpack_from("<2I", data, 20 + size)
        check(kind == 0x004E4942 and len(data) == 28 + size + length, "the part with the numbers")
        return document, data[28 + size:]
    document = json.loads(data)
    return document, base64.b64decode(document["buffers"][0].pop("uri").split(",")[1], validate=True)


def accessor(document, numbers, index):
    """The values of an accessor as rows; its bounds are compared."""
    a = document["accessors"][index]
    view = document["bufferViews"][a["bufferView"]]
    columns = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[a["type"]]
    check(view["byteLength"] == 4 * columns * a["count"] and view["byteOffset"] % 4 == 0, f"accessor {index}: its view has another length")
    check(view["byteOffset"] + view["byteLength"] <= len(numbers), f"accessor {index}: beyond the buffer")
    values = array({5126: "f", 5125: "I"}[a["componentType"]])
    values.frombytes(numbers[view["byteOffset"]:view["byteOffset"] + view["byteLength"]])
    check(all(map(math.isfinite, values)), f"accessor {index}: a number that is not finite")
    for name, best in (("min", min), ("max", max)):
        for k, value in enumerate(a.get(name, ())):
            check(math.isclose(value, best(values[k::columns]), rel_tol=1e-6, abs_tol=1e-30), f"accessor {index}: {name}")
    return [tuple(values[i:i + columns]) for i in range(0, len(values), columns)]


def read_poses(path, bodies):
    values = array("d")
    values.frombytes(open(path, "rb").read())
    return [[tuple(values[7 * (f * bodies + b):7 * (f * bodies + b) + 7]) for b in range(bodies)] for f in range(len(values) // 7 // bodies)]


def same_pose(place, turn, pose):
    """A turn is that of a quaternion and of its negative."""
    sign = math.copysign(1, sum(a * b for a, b in zip(turn, pose[3:])))
    return all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6) for a, b in zip((*place, *(sign * q for q in turn)), pose))


def gltf(path, poses=None, bodies=0):
    document, numbers = read_gltf(path)
    check(document["asset"]["version"] == "2.0" and document["buffers"][0]["byteLength"] == len(numbers), "the buffer has another length")
    for i in range(len(document["accessors"])):
        accessor(document, numbers, i)
    triangles = 0
    for node in document["nodes"]:
        for surface in document["meshes"][node["mesh"]]["primitives"] if "mesh" in node else []:
            corners = accessor(document, numbers, surface["indices"])
            places = accessor(document, numbers, surface["attributes"]["POSITION"])
            check(max(corners)[0] < len(places) and len(corners) % 3 == 0, "a triangle names a vertex that is not there")
            check(surface["material"] < len(document["materials"]), "a material that is not there")
            triangles += len(corners) // 3
    children = [child for node in document["nodes"] for child in node.get("children", [])]
    tops = document["scenes"][0]["nodes"]
    check(sorted([*children, *tops]) == list(range(len(document["nodes"]))), "the nodes are no tree")
    moving, frames = {}, 1
    for channel in document.get("animations", [{"channels": []}])[0]["channels"]:
        sampler = document["animations"][0]["samplers"][channel["sampler"]]
        times = [t for t, in accessor(document, numbers, sampler["input"])]
        values = accessor(document, numbers, sampler["output"])
        check(times == sorted(set(times)), "times that do not grow")
        width = len(document["nodes"][channel["target"]["node"]].get("weights", ())) or len(values) // len(times)
        check(len(values) == width * len(times), "a channel has as many values as times")
        moving[channel["target"]["node"], channel["target"]["path"]] = values
        frames = max(frames, len(times))
    names = {node["name"]: i for i, node in enumerate(document["nodes"])}
    for frame, there in enumerate(poses or ()):
        for body in range(bodies):
            node = names[f"body {body}"]
            place = moving.get((node, "translation"), [document["nodes"][node]["translation"]] * len(poses))[frame]
            turn = moving.get((node, "rotation"), [document["nodes"][node]["rotation"]] * len(poses))[frame]
            check(same_pose(place, turn, there[body]), f"body {body} in frame {frame} is at {place} {turn}, and not at {there[body]}")
    print(triangles, len(document["nodes"]), frames)


# ---- USD as text: the part of its grammar that is written ----

TOKEN = re.compile(r'\s*(?:("[^"\n]*")|(<[^>]*>)|(-?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf|nan)\b)|([A-Za-z_][\w:.]*(?:\[\])?)|([=(){}\[\],:]))')


class Usda:
    def __init__(self, text):
        check(text.startswith("#usda 1.0\n"), "the first line")
        self.tokens, at = [], 10
        text = text.rstrip()
        while at < len(text):
            found = TOKEN.match(text, at)
            check(found, f"not understood: {text[at:at + 40]!r}")
            self.tokens.append(found.group(0).strip())
            at = found.end()
        self.i = 0
        self.prims = {}
        self.head = self.metadata()
        while self.i < len(self.tokens):
            self.prim("")

    def next(self, wanted=None):
        check(self.i < len(self.tokens), "ends early")
        token = self.tokens[self.i]
        self.i += 1
        check(wanted is None or token == wanted, f"'{token}' where '{wanted}' should be")
        return token

    def peek(self):
        return self.tokens[self.i] if self.i < len(self.tokens) else None

    def metadata(self):
        found = {}
        if self.peek() == "(":
            self.next("(")
            while self.peek() != ")":
                name = self.next()
                if name == "prepend":
                    name = self.next()
                self.next("=")
                found[name] = self.value()
            self.next(")")
        return found

    def value(self):
        token = self.next()
        if token in "([":
            end, items = {"(": ")", "[": "]"}[token], []
            while self.peek() != end:
                items.append(self.value())
                if self.peek() != end:
                    self.next(",")
            self.next(end)
            return tuple(items) if token == "(" else items
        if token == "{":
            samples = []
            while self.peek() != "}":
                time = float(self.next())
                self.next(":")
                samples.append((time, self.value()))
                self.next(",")
            self.next("}")
            check([t for t, _ in samples] == sorted({t for t, _ in samples}), "time samples that do not grow")
            return samples
        if token[0] in '"<':
            return token
        check(re.match(r"-?\d", token), f"'{token}' is no value")
        return float(token)

    def prim(self, above):
        check(self.next() in ("def", "class"), "a prim begins with def or class")
        kind = self.next()
        path = f"{above}/{self.next().strip(chr(34))}"
        check(path not in self.prims, f"{path} is there twice")
        attributes = self.prims[path] = {"kind": kind, **self.metadata()}
        self.next("{")
        while self.peek() != "}":
            if self.peek() in ("def", "class"):
                self.prim(path)
                continue
            if self.peek() == "uniform":
                self.next()
            of, name = self.next(), self.next()
            check(re.match(r"(int|float|point3f|color3f|double3|quatf|token)(\[\])?$", of), f"{path}: there is no type {of}")
            self.next("=")
            attributes[name] = self.value()
        self.next("}")


def usda(path, poses=None, bodies=0):
    usd = Usda(open(path).read())
    check(usd.head["upAxis"] in ('"Y"', '"Z"') and f"/{usd.head['defaultPrim'].strip(chr(34))}" in usd.prims, "the head")
    triangles, frames = 0, 1
    for name, prim in usd.prims.items():
        mesh = prim
        if "references" in prim:
            check(prim["references"].strip("<>") in usd.prims, f"{name} refers to what is not there")
            mesh = usd.prims[prim["references"].strip("<>")]
        for samples in (value for key, value in prim.items() if key.endswith(".timeSamples")):
            frames = max(frames, len(samples))
            check(samples[-1][0] <= usd.head["endTimeCode"], f"{name} goes on after the end")
        if prim["kind"] == "Mesh" and not name.startswith("/shapes/"):
            points = mesh.get("points") or prim["points.timeSamples"][0][1]
            check(set(mesh["faceVertexCounts"]) == {3} and len(mesh["faceVertexIndices"]) == 3 * len(mesh["faceVertexCounts"]), f"{name}: faces")
            check(max(mesh["faceVertexIndices"]) < len(points), f"{name}: a triangle names a vertex that is not there")
            check(all(len(at) == len(points) for _, at in prim.get("points.timeSamples", ())), f"{name}: the number of points changes")
            triangles += len(mesh["faceVertexCounts"])
        if prim["kind"] == "Points":
            widths = dict(prim.get("widths.timeSamples", ()))
            check(all(len(at) == len(widths.get(time, prim.get("widths"))) for time, at in prim["points.timeSamples"]), f"{name}: widths")
        if "xformOpOrder" in prim:
            check(all(op.strip('"') in prim or op.strip('"') + ".timeSamples" in prim for op in prim["xformOpOrder"]), f"{name}: xformOpOrder")
    for frame, there in enumerate(poses or ()):
        for body in range(bodies):
            prim = usd.prims[f"/run/body_{body}"]
            place, turn = (prim[f"xformOp:{op}.timeSamples"][frame][1] if f"xformOp:{op}.timeSamples" in prim else prim[f"xformOp:{op}"]
                           for op in ("translate", "orient"))
            check(same_pose(place, (*turn[1:], turn[0]), there[body]), f"body {body} in frame {frame} is at {place} {turn}")
    print(triangles, len(usd.prims), frames)


if sys.argv[1] == "same":
    (a, a_numbers), (b, b_numbers) = read_gltf(sys.argv[2]), read_gltf(sys.argv[3])
    check(a == b and a_numbers == b_numbers, f"is not {sys.argv[3]}")
else:
    bodies = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    {"gltf": gltf, "usda": usda}[sys.argv[1]](sys.argv[2], read_poses(sys.argv[3], bodies) if bodies else None, bodies)
