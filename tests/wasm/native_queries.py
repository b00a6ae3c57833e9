"""python3 native_queries.py PACKAGE QUERIES: ask the native library, by its Python package in the folder PACKAGE, what shapes.mjs asked the module,
and compare the hash of all answers."""

import json
import struct
import sys

sys.path.insert(0, sys.argv[1])
import carom  # noqa: E402

with open(sys.argv[2], encoding="utf-8") as file:
    asked = json.load(file)


def rows(numbers, each):
    return [tuple(numbers[i : i + each]) for i in range(0, len(numbers), each)]


def pose(numbers):
    return tuple(numbers[:3]), tuple(numbers[3:])


meshes = {name: carom.Mesh(rows(asked[name][0], 3), rows(asked[name][1], 3)) for name in ("ring", "cube")}


def shape_of(given):
    if given["mesh"]:
        return meshes[given["mesh"]]
    names = {"radius": "radius", "halfLength": "half_length", "halfExtents": "half_extents", "rounding": "rounding"}
    return carom.Shape(type=given["type"], **{names[name]: value for name, value in given.items() if name in names})


shapes = [shape_of(given) for given in asked["shapes"]]
poses = [[pose(row) for row in rows(asked[name], 7)] for name in ("posesA", "posesB")]
motions = [[(pose(row[:7]), pose(row[7:])) for row in rows(asked[name], 14)] for name in ("motionsA", "motionsB")]
answers = []
for i, (a, b) in enumerate(zip(asked["shapesA"], asked["shapesB"])):
    placed = (poses[0][i], poses[1][i])
    near = carom.distance(shapes[a], shapes[b], *placed)
    meeting = carom.time_of_impact(shapes[a], shapes[b], motions[0][i], motions[1][i], tolerance=0.01)
    contacts = carom.collide(shapes[a], shapes[b], *placed)
    answers += [near.distance, *near.normal, *near.point_a, meeting.time, len(contacts)]
    for contact in contacts:
        answers += [*contact.point, contact.depth]
    answers.append(carom.collide_convex(shapes[asked["roundA"][i]], shapes[asked["roundB"][i]], *placed, margin=0.05).count)
value = 0xCBF29CE484222325
for byte in struct.pack(f"<{len(answers)}d", *answers):
    value = (value ^ byte) * 0x100000001B3 % 2**64
if f"{value:016x}" != asked["hash"]:
    sys.exit(f"the native library answers otherwise: hash {value:016x}, not {asked['hash']}")
print(f"{len(answers)} numbers of shapes without a world: those of the native library, hash {value:016x}")
