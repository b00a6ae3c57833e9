"""Names of other packages on top of Carom: one import to move over.

- ``from carom.compat import CollisionManager`` for trimesh.collision.CollisionManager
- ``from carom.compat import RaycastingScene`` for open3d.t.geometry.RaycastingScene (needs NumPy)
- ``import carom.compat as fcl`` for the calls of python-fcl that have a counterpart

What differs is said at each class; docs/guide/python.md has the list.
"""

from __future__ import annotations

import carom

__all__ = [
    "BVHModel", "Box", "Capsule", "CollisionData", "CollisionManager", "CollisionObject", "CollisionRequest", "CollisionResult", "Cone",
    "Contact", "ContactData", "ContinuousCollisionRequest", "ContinuousCollisionResult", "Convex", "Cylinder", "DistanceData",
    "DistanceRequest", "DistanceResult", "DynamicAABBTreeCollisionManager", "Ellipsoid", "Halfspace", "Plane", "RaycastingScene",
    "Sphere", "Transform", "collide", "continuousCollide", "defaultCollisionCallback", "defaultDistanceCallback", "distance",
]


def _as_mesh(mesh):
    """A carom.Mesh from one, or from anything with vertices and faces (trimesh), as their arrays are."""
    return mesh if isinstance(mesh, carom.Mesh) else carom.Mesh(mesh.vertices, mesh.faces, centre="auto")


def _at(mesh, transform):
    """The pose of a mesh whose vertices, as they were given, are at a pose (None: where they are)."""
    if not any(mesh.centre):
        return transform
    pose = carom.BodyDef().pose if transform is None else carom.BodyDef(pose=transform).pose
    return _compose(pose, carom.Pose(mesh.centre, (0.0, 0.0, 0.0, 1.0)))


def _add_mesh(world, mesh, **settings):
    """Add a body that has a mesh where its vertices, as they were given, are."""
    if not any(mesh.centre):
        return world.add_body(shape=mesh, **settings)
    return world.add_body(parts=[(mesh, carom.Pose(mesh.centre, (0.0, 0.0, 0.0, 1.0)))], **settings)


def _as_array(vector):
    """A vector as the other packages give it: an array of NumPy, or a tuple where that is not installed."""
    try:
        import numpy
    except ImportError:
        return tuple(vector)
    return numpy.array(vector)


def _in_order(names):
    """Names as a sorted tuple, also where some are numbers and some are texts."""
    try:
        return tuple(sorted(names))
    except TypeError:
        return tuple(sorted(names, key=lambda name: (type(name).__name__, repr(name))))


def _end_on_a(contact):
    """The end of a contact on body A: see carom.Contact."""
    if contact.kind not in (carom.ContactKind.VERTEX_B, carom.ContactKind.EDGE_B):
        return contact.point
    return tuple(place - contact.depth * part for place, part in zip(contact.point, contact.normal))


# ---- trimesh.collision ----


class ContactData:
    """A contact, with the names of its objects."""

    def __init__(self, names, contact):
        self.names = set(names)
        self.depth = contact.depth
        self.point = _as_array(contact.point)
        self.normal = _as_array(contact.normal)
        self._features = dict(zip(names, (contact.feature_a, contact.feature_b)))

    def index(self, name):
        """The feature of the named object: see carom.ContactKind."""
        return self._features[name]


class DistanceData:
    """What defaultDistanceCallback of python-fcl works on: request, result, and done. trimesh has a class of this name too, whose
    objects a CollisionManager makes: two nearest points, with names, distance, point(name) and index(name)."""

    def __init__(self, request=None, result=None):
        self.request, self.result, self.done = request or DistanceRequest(), result or DistanceResult(), False


class _NearestPoints(DistanceData):
    """Two nearest points. A negative distance tells how deep the two overlap; trimesh tells 0 or -1."""

    def __init__(self, names, distance, points, places):
        self.names = set(names)
        self.distance = distance
        self._places = dict(zip(names, places))
        self._points = dict(zip(names, points))

    def point(self, name):
        """The nearest point of the named object."""
        return _as_array(self._points[name])

    def index(self, name):
        """The number of the named object's triangle that is nearest to its point."""
        mesh, pose = self._places[name]
        return carom.shape_closest_point(mesh, self._points[name], pose).triangle


class CollisionManager:
    """As trimesh.collision.CollisionManager, on a carom.World.

    Closed meshes are solid: an object inside another collides with it. Contacts are those of a step (at most 8 for each two objects),
    not one for each two triangles. Names that are not found raise KeyError, not ValueError. Where there is nothing to be near to, the
    distance is inf, and names and data are None.
    """

    def __init__(self):
        self._world = carom.World()
        self._ids = {}  # by name
        self._names = {}  # by id
        self._meshes = {}

    def add_object(self, name, mesh, transform=None):
        """Add an object, or put another one in the place of the one of that name."""
        if name in self._ids:
            self.remove_object(name)
        made = _as_mesh(mesh)
        body = _add_mesh(self._world, made, pose=transform)
        self._ids[name], self._names[body], self._meshes[name] = body, name, made

    def remove_object(self, name):
        """Take an object out."""
        self._world.remove_body(self._ids[name])
        del self._names[self._ids.pop(name)], self._meshes[name]

    def set_transform(self, name, transform):
        """Put an object at a pose: a matrix of 4 x 4, or what carom takes for one."""
        self._world.set_pose(self._ids[name], transform)

    def _place(self, name):
        """The mesh of an object and the mesh's pose."""
        mesh = self._meshes[name]
        return mesh, _at(mesh, self._world.get_pose(self._ids[name]))

    def _contacts(self, contacts, own_name):
        """Names and contact of each, where own_name stands for body A's without an id."""
        return [((own_name if contact.body_a == 0 else self._names[contact.body_a], self._names[contact.body_b]), contact)
                for contact in contacts]

    def in_collision_single(self, mesh, transform=None, return_names=False, return_data=False):
        """Does a mesh collide with any object? With names, and contacts, if they are wanted."""
        made = _as_mesh(mesh)
        contacts = self._contacts(self._world.collide_shape(made, _at(made, transform)), "__external")
        return _answer(bool(contacts), {names[1] for names, _ in contacts}, contacts, return_names, return_data)

    def in_collision_internal(self, return_names=False, return_data=False):
        """Do any two objects collide?"""
        self._world.step()
        contacts = self._contacts(self._world.contacts, None)
        return _answer(bool(contacts), {_in_order(names) for names, _ in contacts}, contacts, return_names, return_data)

    def in_collision_other(self, other_manager, return_names=False, return_data=False):
        """Does any object collide with one of another manager? Pairs are (own name, other name)."""
        pairs, data = set(), []
        for name in other_manager._ids:
            for names, contact in self._contacts(self._world.collide_shape(*other_manager._place(name)), name):
                pairs.add((names[1], name))
                data.append((names, contact))
        return _answer(bool(pairs), pairs, data, return_names, return_data)

    def min_distance_single(self, mesh, transform=None, return_name=False, return_data=False):
        """The distance of a mesh to the nearest object."""
        made = _as_mesh(mesh)
        place = _at(made, transform)
        near = self._world.closest_body(made, place)
        if near is None:
            return _distance_answer(carom.inf, None, None, return_name, return_data)
        name = self._names[near.body]
        data = _NearestPoints(
            ("__external", name), near.distance, (near.on_shape, near.on_body), ((made, place), self._place(name)))
        return _distance_answer(near.distance, name, data, return_name, return_data)

    def min_distance_internal(self, return_names=False, return_data=False):
        """The least distance of two objects."""
        near = self._world.closest_pair()
        if near is None:
            return _distance_answer(carom.inf, None, None, return_names, return_data)
        names = (self._names[near.body_a], self._names[near.body_b])
        data = _NearestPoints(names, near.distance, (near.on_a, near.on_b), [self._place(name) for name in names])
        return _distance_answer(near.distance, _in_order(names), data, return_names, return_data)

    def min_distance_other(self, other_manager, return_names=False, return_data=False):
        """The least distance of an object to one of another manager."""
        best, names = None, None
        for name in other_manager._ids:
            limit = carom.inf if best is None else max(best.distance, 0)
            near = self._world.closest_body(*other_manager._place(name), limit)
            if near and (best is None or near.distance < best.distance):
                best, names = near, (self._names[near.body], name)
        if best is None:
            return _distance_answer(carom.inf, None, None, return_names, return_data)
        places = (self._place(names[0]), other_manager._place(names[1]))
        data = _NearestPoints(names, best.distance, (best.on_body, best.on_shape), places)
        return _distance_answer(best.distance, names, data, return_names, return_data)


def _answer(found, names, contacts, return_names, return_data):
    data = [ContactData(pair, contact) for pair, contact in contacts] if return_data else None
    parts = [found] + ([names] if return_names else []) + ([data] if return_data else [])
    return parts[0] if len(parts) == 1 else tuple(parts)


def _distance_answer(distance, names, data, return_names, return_data):
    parts = [distance] + ([names] if return_names else []) + ([data] if return_data else [])
    return parts[0] if len(parts) == 1 else tuple(parts)


# ---- open3d.t.geometry.RaycastingScene ----


class RaycastingScene:
    """As open3d.t.geometry.RaycastingScene, in double.

    Answers are NumPy arrays, t_hit and distances of doubles. A point is inside where an odd number of closed meshes hold it, as Open3D
    has it; no rays are sampled, so nsamples changes nothing. count_intersections counts each triangle around an edge that a ray goes through.
    """

    INVALID_ID = 4294967295

    def __init__(self, nthreads=0):
        self._world = carom.World(context=carom.Context(thread_count=nthreads))
        self._numbers = {0: self.INVALID_ID}
        self._meshes = []
        self._corners = []  # of each mesh, (m, 3, 3)

    def add_triangles(self, vertex_positions, triangle_indices=None):
        """Add a mesh; the answer is its number. One argument: an object with vertices and triangles."""
        if triangle_indices is None:
            vertex_positions, triangle_indices = vertex_positions.vertices, vertex_positions.triangles
        import numpy

        mesh = carom.Mesh(vertex_positions, triangle_indices, centre="auto", context=self._world.context)
        self._meshes.append(mesh)
        self._corners.append(numpy.asarray(vertex_positions, dtype=float)[numpy.asarray(triangle_indices).astype(numpy.int64)])
        self._numbers[_add_mesh(self._world, mesh, kind="static")] = len(self._meshes) - 1
        return len(self._meshes) - 1

    def _geometry_ids(self, bodies):
        import numpy

        unique, where = numpy.unique(bodies, return_inverse=True)
        return numpy.array([self._numbers[int(body)] for body in unique], dtype=numpy.uint32)[where]

    @staticmethod
    def _rows(values, columns):
        """Rows of numbers, and the shape that the answers have."""
        import numpy

        values = numpy.asarray(values, dtype=float)
        if values.shape[-1] != columns:
            raise ValueError(f"the last dimension is {values.shape[-1]}; it must be {columns}")
        return values.reshape(-1, columns), values.shape[:-1]

    @staticmethod
    def create_rays_pinhole(fov_deg, center, eye, up, width_px, height_px):
        """Rays (height_px, width_px, 6) of a camera at eye that looks at center. The rows of the picture go along up, as Open3D has it."""
        import numpy

        eye = numpy.asarray(eye, dtype=float)
        ahead = numpy.asarray(center, dtype=float) - eye
        ahead /= numpy.linalg.norm(ahead)
        right = numpy.cross(up, ahead)
        right /= numpy.linalg.norm(right)
        along_up = numpy.cross(ahead, right)
        focal = 0.5 * width_px / numpy.tan(numpy.radians(0.5 * fov_deg))
        x = (numpy.arange(width_px) + 0.5 - 0.5 * width_px) / focal
        y = (numpy.arange(height_px) + 0.5 - 0.5 * height_px) / focal
        rays = numpy.empty((height_px, width_px, 6))
        rays[..., :3] = eye
        rays[..., 3:] = ahead + x[None, :, None] * right + y[:, None, None] * along_up
        return rays

    def cast_rays(self, rays, nthreads=0):
        """The nearest hits: t_hit, geometry_ids, primitive_ids, primitive_uvs, primitive_normals."""
        import numpy

        rows, shape = self._rows(rays, 6)
        hits = numpy.asarray(self._world.cast_rays(rows))
        missed = hits["body"] == 0
        return {
            "t_hit": numpy.where(missed, numpy.inf, hits["t"]).reshape(shape),
            "geometry_ids": self._geometry_ids(hits["body"]).reshape(shape),
            "primitive_ids": numpy.where(missed, self.INVALID_ID, hits["triangle"]).astype(numpy.uint32).reshape(shape),
            "primitive_uvs": numpy.stack([hits["u"], hits["v"]], axis=-1).reshape(*shape, 2),
            "primitive_normals": hits["normal"].reshape(*shape, 3),
        }

    def test_occlusions(self, rays, tnear=0.0, tfar=float("inf"), nthreads=0):
        """Does each ray hit anything between tnear and tfar?"""
        import numpy

        rows, shape = self._rows(rays, 6)
        limits = numpy.broadcast_to([tnear, tfar], (len(rows), 2))
        return numpy.asarray(self._world.cast_rays_any(numpy.hstack([rows, limits]))).reshape(shape)

    def count_intersections(self, rays, nthreads=0):
        """How many triangles each ray hits."""
        import numpy

        rows, shape = self._rows(rays, 6)
        first, _ = self._world.cast_rays_all(rows)
        return numpy.diff(numpy.asarray(first)).astype(numpy.int32).reshape(shape)

    def list_intersections(self, rays, nthreads=0):
        """All hits: those of ray i are ray_splits[i] to ray_splits[i + 1] - 1 of ray_ids, t_hit, geometry_ids, primitive_ids, primitive_uvs."""
        import numpy

        rows, _ = self._rows(rays, 6)
        first, hits = (numpy.asarray(part) for part in self._world.cast_rays_all(rows))
        return {
            "ray_splits": first,
            "ray_ids": numpy.repeat(numpy.arange(len(rows)), numpy.diff(first)),
            "t_hit": hits["t"],
            "geometry_ids": self._geometry_ids(hits["body"]),
            "primitive_ids": hits["triangle"].astype(numpy.uint32),
            "primitive_uvs": numpy.stack([hits["u"], hits["v"]], axis=-1),
        }

    def compute_closest_points(self, query_points, nthreads=0):
        """The nearest surface points: points, geometry_ids, primitive_ids, primitive_uvs, primitive_normals."""
        import numpy

        rows, shape = self._rows(query_points, 3)
        closest = numpy.asarray(self._world.closest_points(rows))
        geometry_ids = self._geometry_ids(closest["body"])
        return {
            "points": closest["point"].reshape(*shape, 3),
            "geometry_ids": geometry_ids.reshape(shape),
            "primitive_ids": closest["triangle"].astype(numpy.uint32).reshape(shape),
            "primitive_uvs": self._uvs(geometry_ids, closest["triangle"], closest["point"]).reshape(*shape, 2),
            "primitive_normals": closest["normal"].reshape(*shape, 3),
        }

    def _uvs(self, geometry_ids, triangles, points):
        """Weights of the second and the third corner in points of triangles (Ericson, Real-Time Collision Detection, 2005, 3.4)."""
        import numpy

        uvs = numpy.zeros((len(points), 2))
        for number, corners in enumerate(self._corners):
            where = geometry_ids == number
            a, b, c = numpy.moveaxis(corners[triangles[where]], 1, 0)
            u, v, w = b - a, c - a, points[where] - a
            uu, uv, vv, wu, wv = (numpy.einsum("ij,ij->i", *pair) for pair in ((u, u), (u, v), (v, v), (w, u), (w, v)))
            area = uu * vv - uv * uv
            area = numpy.where(area > 0, area, numpy.inf)
            uvs[where] = numpy.stack([(vv * wu - uv * wv) / area, (uu * wv - uv * wu) / area], axis=-1)
        return uvs

    def compute_signed_distance(self, query_points, nthreads=0, nsamples=1):
        """Distances to the surface, negative inside."""
        import numpy

        rows, shape = self._rows(query_points, 3)
        distances = numpy.asarray(self._world.closest_points(rows))["distance"].copy()
        if len(self._meshes) > 1:
            distances = numpy.where(self._is_inside(rows), -abs(distances), abs(distances))
        return distances.reshape(shape)

    def _is_inside(self, rows):
        """Does an odd number of meshes hold each point?"""
        import numpy

        inside = numpy.zeros(len(rows), dtype=bool)
        for mesh in self._meshes:
            inside ^= numpy.asarray(carom.shape_closest_points(mesh, rows, _at(mesh, None), context=self._world.context))["distance"] < 0
        return inside

    def compute_distance(self, query_points, nthreads=0):
        """Distances to the surface."""
        import numpy

        rows, shape = self._rows(query_points, 3)
        return numpy.abs(numpy.asarray(self._world.closest_points(rows))["distance"]).reshape(shape)

    def compute_occupancy(self, query_points, nthreads=0, nsamples=1):
        """1 inside, 0 outside."""
        import numpy

        return (self.compute_signed_distance(query_points) < 0).astype(numpy.float32)


# ---- python-fcl ----


class Transform:
    """A rotation (matrix of 3 x 3, or quaternion w, x, y, z as FCL has it) and a translation, in either order of being left out."""

    def __init__(self, *values):
        rotation, translation = (1, 0, 0, 0), (0, 0, 0)
        for value in values:
            if isinstance(value, Transform):  # a copy
                self.pose = value.pose
                return
            if len(value) == 3 and not hasattr(value[0], "__len__"):
                translation = value
            else:
                rotation = value
        if len(rotation) == 3:
            rows = [[*map(float, row), float(part)] for row, part in zip(rotation, translation)]
            self.pose = carom.BodyDef(pose=[*rows, [0, 0, 0, 1]]).pose
        else:
            w, x, y, z = rotation
            self.pose = carom.Pose(tuple(map(float, translation)), (float(x), float(y), float(z), float(w)))

    def getTranslation(self):
        """Where it moves the origin to."""
        return _as_array(self.pose.position)

    def setTranslation(self, translation):
        """Move it without turning it."""
        self.pose = self.pose.replace(position=tuple(map(float, translation)))

    def getQuatRotation(self):
        """The quaternion w, x, y, z."""
        x, y, z, w = self.pose.orientation
        return _as_array((w, x, y, z))

    def setQuatRotation(self, rotation):
        """Turn it by a quaternion w, x, y, z."""
        self.pose = Transform(tuple(map(float, rotation)), self.pose.position).pose

    def getRotation(self):
        """The matrix of 3 x 3."""
        x, y, z, w = self.pose.orientation
        rows = ((1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
                (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
                (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)))
        return _as_array(rows)

    def setRotation(self, rotation):
        """Turn it by a matrix of 3 x 3."""
        self.pose = Transform(rotation, self.pose.position).pose


class CollisionObject:
    """A geometry at a transform."""

    def __init__(self, geometry, transform=None):
        self.geometry = geometry
        self.transform = transform or Transform()

    def setTransform(self, transform):
        """Put it elsewhere."""
        self.transform = transform

    def setTranslation(self, translation):
        """Move it without turning it."""
        self.transform = Transform(self.transform)
        self.transform.setTranslation(translation)

    def setRotation(self, rotation):
        """Turn it by a matrix of 3 x 3."""
        self.transform = Transform(self.transform)
        self.transform.setRotation(rotation)

    def setQuatRotation(self, rotation):
        """Turn it by a quaternion w, x, y, z."""
        self.transform = Transform(self.transform)
        self.transform.setQuatRotation(rotation)

    def getTransform(self):
        """A copy of its transform."""
        return Transform(self.transform)

    def getTranslation(self):
        """Where it is."""
        return self.transform.getTranslation()

    def getRotation(self):
        """How it is turned: a matrix of 3 x 3."""
        return self.transform.getRotation()

    def getQuatRotation(self):
        """How it is turned: a quaternion w, x, y, z."""
        return self.transform.getQuatRotation()


def _times(p, q):
    """The product of two quaternions x, y, z, w: q first, then p."""
    (a, b, c, d), (x, y, z, w) = p, q
    return (d * x + a * w + b * z - c * y, d * y - a * z + b * w + c * x, d * z + a * y - b * x + c * w, d * w - a * x - b * y - c * z)


def _compose(pose, inner):
    """The pose of a frame that is at inner in the frame at pose."""
    x, y, z, w = pose.orientation
    turned = _times(_times(pose.orientation, (*inner.position, 0.0)), (-x, -y, -z, w))
    return carom.Pose(tuple(a + b for a, b in zip(pose.position, turned)), _times(pose.orientation, inner.orientation))


def _half_space_pose(normal, offset):
    """The pose that puts the half space z <= 0 to normal * x <= offset, and the normal's length."""
    length = sum(part * part for part in normal) ** 0.5
    if not length > 0:
        raise ValueError("the normal of a plane must not be zero")
    x, y, z = (float(part) / length for part in normal)
    offset = float(offset) / length
    if z < -0.999999:
        turn = (1.0, 0.0, 0.0, 0.0)
    else:  # from (0, 0, 1) to the normal, the shorter way
        size = (x * x + y * y + (1 + z) ** 2) ** 0.5
        turn = (-y / size, x / size, 0.0, (1 + z) / size)
    return carom.Pose((offset * x, offset * y, offset * z), turn)


class _Geometry:
    _inner = None  # the pose of the shape in the object's frame, where it is not the identity

    def __init__(self, shape):
        self.shape = shape

    def _sides(self, pose):
        """Shapes and poses in the world: an object is their intersection."""
        return [(self.shape, pose if self._inner is None else _compose(pose, self._inner))]


class Sphere(_Geometry):
    """Sphere(radius)"""

    def __init__(self, radius):
        super().__init__(carom.Shape(type="sphere", radius=radius))
        self.radius = radius


class Box(_Geometry):
    """Box(x, y, z): the lengths of its sides."""

    def __init__(self, x, y, z):
        super().__init__(carom.Shape(type="box", half_extents=(x / 2, y / 2, z / 2)))
        self.side = _as_array((x, y, z))


class Ellipsoid(_Geometry):
    """Ellipsoid(a, b, c): its half axes."""

    def __init__(self, a, b, c):
        super().__init__(carom.Shape(type="ellipsoid", half_extents=(a, b, c)))
        self.radii = _as_array((a, b, c))


class Capsule(_Geometry):
    """Capsule(radius, lz): lz is the length of its segment along z."""

    def __init__(self, radius, lz):
        super().__init__(carom.Shape(type="capsule", radius=radius, half_length=lz / 2))
        self.radius, self.lz = radius, lz


class Cylinder(_Geometry):
    """Cylinder(radius, lz)"""

    def __init__(self, radius, lz):
        super().__init__(carom.Shape(type="cylinder", radius=radius, half_length=lz / 2))
        self.radius, self.lz = radius, lz


class Cone(_Geometry):
    """Cone(radius, lz)"""

    def __init__(self, radius, lz):
        super().__init__(carom.Shape(type="cone", radius=radius, half_length=lz / 2))
        self.radius, self.lz = radius, lz


class Halfspace(_Geometry):
    """Halfspace(n, d): all points x with n * x <= d."""

    def __init__(self, n=(0, 0, 1), d=0):
        super().__init__(carom.Shape(type="plane"))
        self.n, self.d = _as_array(n), d
        self._inner = _half_space_pose(n, d)


class Plane(_Geometry):
    """Plane(n, d): all points x with n * x = d, an infinite sheet. It meets what lies on both of its sides."""

    def __init__(self, n=(0, 0, 1), d=0):
        super().__init__(carom.Shape(type="plane"))
        self.n, self.d = _as_array(n), d
        self._halves = (_half_space_pose(n, d), _half_space_pose([-part for part in n], -d))

    def _sides(self, pose):
        return [(self.shape, _compose(pose, half)) for half in self._halves]


class Convex(_Geometry):
    """Convex(verts, num_faces, faces): the convex hull of the vertices. FCL takes the faces as they are given; here they are not read."""

    def __init__(self, verts, num_faces=0, faces=()):
        super().__init__(carom.Shape(type="hull", mesh=carom.Mesh.hull(verts)))
        self.num_faces, self.faces = num_faces, faces


class BVHModel(_Geometry):
    """A mesh; it is made by endModel, and is solid where it is closed (FCL's is its surface)."""

    def __init__(self):
        super().__init__(None)
        self._parts = []

    def beginModel(self, num_tris=0, num_vertices=0):
        """Begin again."""
        self._parts = []

    def addSubModel(self, vertices, triangles):
        """The arrays of the mesh; one pair for each model."""
        self._parts.append((vertices, triangles))

    def endModel(self):
        """Make the mesh."""
        if len(self._parts) != 1:
            raise ValueError(f"a model has one pair of arrays ({len(self._parts)} given)")
        self.shape = carom.Mesh(*self._parts[0], centre="auto")
        self._inner = _at(self.shape, None)


class CollisionRequest:
    """How many contacts are wanted, and whether."""

    def __init__(self, num_max_contacts=1, enable_contact=False, num_max_cost_sources=1, enable_cost=False):
        if enable_cost:
            raise NotImplementedError("costs are not computed")
        self.num_max_contacts, self.enable_contact = num_max_contacts, enable_contact
        self.num_max_cost_sources, self.enable_cost = num_max_cost_sources, enable_cost


class Contact:
    """A contact: normal is from o1 to o2, as FCL has it; pos lies on o1."""

    def __init__(self, o1, o2, contact, sign):
        self.o1, self.o2 = o1, o2
        self.pos = _as_array(_end_on_a(contact))
        self.normal = _as_array([-sign * part for part in contact.normal])
        self.penetration_depth = contact.depth


class CollisionResult:
    """is_collision and contacts."""

    def __init__(self):
        self.is_collision, self.contacts = False, []


class DistanceRequest:
    """Are nearest points wanted? They are told in any case."""

    def __init__(self, enable_nearest_points=False, enable_signed_distance=False):
        self.enable_nearest_points, self.enable_signed_distance = enable_nearest_points, enable_signed_distance


class DistanceResult:
    """min_distance and nearest_points, the first object's first."""

    def __init__(self):
        self.min_distance, self.nearest_points = carom.inf, None


class CollisionData:
    """What defaultCollisionCallback works on: request, result, and done."""

    def __init__(self, request=None, result=None):
        self.request, self.result, self.done = request or CollisionRequest(), result or CollisionResult(), False


class ContinuousCollisionRequest:
    """How near to the time of contact the answer must be (toc_err). The other numbers are FCL's, and not read."""

    def __init__(self, num_max_iterations=10, toc_err=1e-4, ccd_motion_type=None, gjk_solver_type=None, ccd_solver_type=None):
        self.num_max_iterations, self.toc_err = num_max_iterations, toc_err
        self.ccd_motion_type, self.gjk_solver_type, self.ccd_solver_type = ccd_motion_type, gjk_solver_type, ccd_solver_type


class ContinuousCollisionResult:
    """is_collide and time_of_contact, in [0, 1]."""

    def __init__(self):
        self.is_collide, self.time_of_contact = False, 1.0


def _pairs_of_sides(o1, o2, pose1=None, pose2=None):
    """The pairs of shapes with their poses that must all overlap for the objects to meet."""
    sides1 = o1.geometry._sides(pose1 or o1.transform.pose)
    return [(*one, *two) for one in sides1 for two in o2.geometry._sides(pose2 or o2.transform.pose)]


def _deepest_sides(o1, o2):
    """Of those pairs the one that is farthest apart or overlaps least, and its separation."""
    pairs = _pairs_of_sides(o1, o2)
    found = [carom.distance(a, b, pose_a, pose_b) for a, pose_a, b, pose_b in pairs]
    return max(zip(pairs, found), key=lambda pair: pair[1].distance)


def collide(o1, o2, request=None, result=None):
    """The number of contacts found; result gets them, and has at most request.num_max_contacts of them in all."""
    request, result = request or CollisionRequest(), result or CollisionResult()
    pairs = _pairs_of_sides(o1, o2)
    if not all(carom.overlap(a, b, pose_a, pose_b) for a, pose_a, b, pose_b in pairs):
        return 0
    result.is_collision = True
    if not request.enable_contact:
        return 1
    a, pose_a, b, pose_b = pairs[0] if len(pairs) == 1 else _deepest_sides(o1, o2)[0]
    found = sorted(carom.collide(a, b, pose_a, pose_b), key=lambda contact: -contact.depth)
    found = found[:max(0, request.num_max_contacts - len(result.contacts))]
    result.contacts += [Contact(o1.geometry, o2.geometry, contact, 1) for contact in found]
    return len(found)


def distance(o1, o2, request=None, result=None):
    """The distance of two objects. Overlap: negative with enable_signed_distance, else 0 (FCL: -1). result keeps the least."""
    request, result = request or DistanceRequest(), result or DistanceResult()
    separation = _deepest_sides(o1, o2)[1]
    found = separation.distance if request.enable_signed_distance else max(separation.distance, 0.0)
    if found < result.min_distance:
        result.min_distance = found
        result.nearest_points = (separation.point_a, separation.point_b)
    return found


def continuousCollide(o1, tf1_end, o2, tf2_end, request=None, result=None):
    """The first time in [0, 1] at which two objects meet on their ways from their transforms to these ends; 1 where they do not.

    Origins go straight, turns are by the shorter way, and at a steady speed. Never later than the true time.
    """
    request, result = request or ContinuousCollisionRequest(), result or ContinuousCollisionResult()
    starts, ends = _pairs_of_sides(o1, o2), _pairs_of_sides(o1, o2, tf1_end.pose, tf2_end.pose)
    way = sum(abs(part) for o, end in ((o1, tf1_end), (o2, tf2_end)) for part in _difference(end.pose.position, o.transform.pose.position))
    tolerance = max(1e-9, request.toc_err * way)
    times = []
    for (a, a0, b, b0), (_, a1, _, b1) in zip(starts, ends):
        toi = carom.time_of_impact(a, b, (a0, a1), (b0, b1), tolerance=tolerance)
        times.append((toi.time, toi.status != carom.ToiStatus.APART))
    result.is_collide = all(meets for _, meets in times)
    result.time_of_contact = max(time for time, _ in times) if result.is_collide else 1.0
    return result.time_of_contact


def _difference(a, b):
    return [x - y for x, y in zip(a, b)]


def defaultCollisionCallback(o1, o2, cdata):
    """Collide two objects into cdata.result. True ends the search: where there are as many contacts as the request wants."""
    if cdata.done:
        return True
    collide(o1, o2, cdata.request, cdata.result)
    wanted = cdata.request.num_max_contacts if cdata.request.enable_contact else 1
    cdata.done = cdata.result.is_collision and (not cdata.request.enable_contact or len(cdata.result.contacts) >= wanted)
    return cdata.done


def defaultDistanceCallback(o1, o2, cdata):
    """The distance of two objects into cdata.result. The answer is (done, the least distance so far)."""
    if not cdata.done:
        distance(o1, o2, cdata.request, cdata.result)
        cdata.done = cdata.result.min_distance <= 0 and not cdata.request.enable_signed_distance
    return cdata.done, cdata.result.min_distance


class DynamicAABBTreeCollisionManager:
    """Many objects. Transforms count as they were at the last setup() or update(); registering an object takes its own.

    Callbacks get each pair once, those whose boxes may meet, in the order of registering; FCL's order is another one.
    """

    def __init__(self):
        self._world = carom.World()
        self._objects = {}  # by id, in the order of registering
        self._ids = {}  # by the object's id()
        self._endless = set()  # ids of objects without a box

    # ---- Objects ----

    def registerObject(self, obj):
        """Add an object; one that is there already stays."""
        if id(obj) in self._ids:
            return
        endless = isinstance(obj.geometry, (Halfspace, Plane))
        shape, pose = obj.geometry._sides(obj.transform.pose)[0]
        body = self._world.add_body(shape=shape, pose=pose, kind="static" if endless else "kinematic")
        self._objects[body], self._ids[id(obj)] = obj, body
        if endless:
            self._endless.add(body)

    def registerObjects(self, objs):
        """Add objects."""
        for obj in objs:
            self.registerObject(obj)

    def unregisterObject(self, obj):
        """Take an object out; KeyError where it is not in."""
        body = self._ids.pop(id(obj))
        self._world.remove_body(body)
        self._endless.discard(body)
        del self._objects[body]

    def clear(self):
        """Take all objects out."""
        for obj in self.getObjects():
            self.unregisterObject(obj)

    def getObjects(self):
        """The objects, in the order of registering."""
        return list(self._objects.values())

    def empty(self):
        """Are there none?"""
        return not self._objects

    def size(self):
        """How many there are."""
        return len(self._objects)

    def setup(self):
        """Take the present transforms of all objects."""
        self.update()

    def update(self, arg=None):
        """Take the present transforms: of one object, of a list of them, or of all."""
        objs = self.getObjects() if arg is None else [arg] if isinstance(arg, CollisionObject) else arg
        for obj in objs:
            self._world.set_pose(self._ids[id(obj)], obj.geometry._sides(obj.transform.pose)[0][1])

    # ---- Pairs ----

    def _box(self, body, margin):
        box = self._world.get_aabb(body)
        return [part - margin for part in box.lower] + [part + margin for part in box.upper]

    def _near(self, boxes):
        """The ids of bodies in each of these boxes, and of those without a box."""
        if not boxes:
            return []
        first, bodies = self._world.overlap_aabbs(boxes)
        first, bodies = list(first), list(bodies)
        order = {body: number for number, body in enumerate(self._objects)}
        return [sorted(self._endless.union(bodies[first[i]:first[i + 1]]), key=order.get) for i in range(len(boxes))]

    def _own_pairs(self, margin):
        """Pairs of own objects whose boxes come within the margin of each other."""
        finite = [body for body in self._objects if body not in self._endless]
        order = {body: number for number, body in enumerate(self._objects)}
        for body, near in zip(finite, self._near([self._box(body, margin) for body in finite])):
            for other in near:
                if order[body] < order[other] or other in self._endless:
                    yield self._objects[body], self._objects[other]

    def _pairs_with(self, obj, margin):
        """Own objects near to another one."""
        one = DynamicAABBTreeCollisionManager()
        one.registerObject(obj)
        yield from self._pairs_of_managers(one, margin)

    def _pairs_of_managers(self, other, margin):
        """Pairs (own, other's) whose boxes come within the margin of each other; objects of the other without a box meet all."""
        finite = [body for body in other._objects if body not in other._endless]
        for body, near in zip(finite, self._near([other._box(body, margin) for body in finite])):
            for own in near:
                yield self._objects[own], other._objects[body]
        for body in other._endless:
            for own, obj in self._objects.items():
                if own not in self._endless:
                    yield obj, other._objects[body]

    # ---- Questions ----

    def collide(self, *args):
        """collide(cdata, callback): own pairs. collide(obj or manager, cdata, callback): pairs with it. callback(o1, o2, cdata): is it over?"""
        *other, cdata, callback = args
        if not other:
            pairs = self._own_pairs(0.0)
        elif isinstance(other[0], DynamicAABBTreeCollisionManager):
            pairs = self._pairs_of_managers(other[0], 0.0)
        else:
            pairs = self._pairs_with(other[0], 0.0)
        for o1, o2 in pairs:
            if callback(o1, o2, cdata):
                return

    def distance(self, *args):
        """distance(cdata, callback), distance(obj or manager, cdata, callback): callback(o1, o2, cdata) tells (is it over, least distance)."""
        *other, cdata, callback = args
        seen, margin, least = set(), 0.0, carom.inf
        # Boxes grow until the least distance is within the margin, or all pairs were seen.
        while True:
            if not other:
                pairs, most = self._own_pairs(margin), self.size() * (self.size() - 1) // 2
            elif isinstance(other[0], DynamicAABBTreeCollisionManager):
                pairs, most = self._pairs_of_managers(other[0], margin), self.size() * other[0].size()
            else:
                pairs, most = self._pairs_with(other[0], margin), self.size()
            for o1, o2 in pairs:
                if (id(o1), id(o2)) in seen:
                    continue
                seen.add((id(o1), id(o2)))
                over, least_now = callback(o1, o2, cdata)
                least = min(least, least_now)
                if over:
                    return
            if len(seen) >= most or least <= margin or margin > 1e11:
                return
            margin = least if least < carom.inf else max(1.0, 10 * margin)
