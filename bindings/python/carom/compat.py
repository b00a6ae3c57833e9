"""Names of other packages on top of Carom: one import to move over.

- ``from carom.compat import CollisionManager`` for trimesh.collision.CollisionManager
- ``from carom.compat import RaycastingScene`` for open3d.t.geometry.RaycastingScene (needs NumPy)
- ``import carom.compat as fcl`` for the calls of python-fcl that have a counterpart

What differs is said at each class; docs/guide/python.md has the list.
"""

from __future__ import annotations

import carom

__all__ = [
    "BVHModel", "Box", "Capsule", "CollisionManager", "CollisionObject", "CollisionRequest", "CollisionResult", "Cone", "Contact",
    "ContactData", "Cylinder", "DistanceData", "DistanceRequest", "DistanceResult", "Ellipsoid", "Halfspace", "RaycastingScene",
    "Sphere", "Transform", "collide", "distance",
]


def _as_mesh(mesh):
    """A carom.Mesh from one, or from anything with vertices and faces (trimesh), as their arrays are."""
    return mesh if isinstance(mesh, carom.Mesh) else carom.Mesh(mesh.vertices, mesh.faces)


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
        body = self._world.add_body(shape=made, pose=transform)
        self._ids[name], self._names[body], self._meshes[name] = body, name, made

    def remove_object(self, name):
        """Take an object out."""
        self._world.remove_body(self._ids[name])
        del self._names[self._ids.pop(name)], self._meshes[name]

    def set_transform(self, name, transform):
        """Put an object at a pose: a matrix of 4 x 4, or what carom takes for one."""
        self._world.set_pose(self._ids[name], transform)

    def _place(self, name):
        """The mesh of an object and its pose."""
        return self._meshes[name], self._world.get_pose(self._ids[name])

    def _contacts(self, contacts, own_name):
        """Names and contact of each, where own_name stands for body A's without an id."""
        return [((own_name if contact.body_a == 0 else self._names[contact.body_a], self._names[contact.body_b]), contact)
                for contact in contacts]

    def in_collision_single(self, mesh, transform=None, return_names=False, return_data=False):
        """Does a mesh collide with any object? With names, and contacts, if they are wanted."""
        contacts = self._contacts(self._world.collide_shape(_as_mesh(mesh), transform), "__external")
        return _answer(bool(contacts), {names[1] for names, _ in contacts}, contacts, return_names, return_data)

    def in_collision_internal(self, return_names=False, return_data=False):
        """Do any two objects collide?"""
        self._world.step()
        contacts = self._contacts(self._world.contacts, None)
        return _answer(bool(contacts), {_in_order(names) for names, _ in contacts}, contacts, return_names, return_data)

    def in_collision_other(self, other_manager, return_names=False, return_data=False):
        """Does any object collide with one of another manager? Pairs are (own name, other name)."""
        pairs, data = set(), []
        for name, body in other_manager._ids.items():
            pose = other_manager._world.get_pose(body)
            for names, contact in self._contacts(self._world.collide_shape(other_manager._meshes[name], pose), name):
                pairs.add((names[1], name))
                data.append((names, contact))
        return _answer(bool(pairs), pairs, data, return_names, return_data)

    def min_distance_single(self, mesh, transform=None, return_name=False, return_data=False):
        """The distance of a mesh to the nearest object."""
        made = _as_mesh(mesh)
        near = self._world.closest_body(made, transform)
        if near is None:
            return _distance_answer(carom.inf, None, None, return_name, return_data)
        name = self._names[near.body]
        data = DistanceData(
            ("__external", name), near.distance, (near.on_shape, near.on_body), ((made, transform), self._place(name)))
        return _distance_answer(near.distance, name, data, return_name, return_data)

    def min_distance_internal(self, return_names=False, return_data=False):
        """The least distance of two objects."""
        near = self._world.closest_pair()
        if near is None:
            return _distance_answer(carom.inf, None, None, return_names, return_data)
        names = (self._names[near.body_a], self._names[near.body_b])
        data = DistanceData(names, near.distance, (near.on_a, near.on_b), [self._place(name) for name in names])
        return _distance_answer(near.distance, _in_order(names), data, return_names, return_data)

    def min_distance_other(self, other_manager, return_names=False, return_data=False):
        """The least distance of an object to one of another manager."""
        best, names = None, None
        for name, body in other_manager._ids.items():
            limit = carom.inf if best is None else max(best.distance, 0)
            near = self._world.closest_body(other_manager._meshes[name], other_manager._world.get_pose(body), limit)
            if near and (best is None or near.distance < best.distance):
                best, names = near, (self._names[near.body], name)
        if best is None:
            return _distance_answer(carom.inf, None, None, return_names, return_data)
        places = (self._place(names[0]), other_manager._place(names[1]))
        data = DistanceData(names, best.distance, (best.on_body, best.on_shape), places)
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

    def add_triangles(self, vertex_positions, triangle_indices=None):
        """Add a mesh; the answer is its number. One argument: an object with vertices and triangles."""
        if triangle_indices is None:
            vertex_positions, triangle_indices = vertex_positions.vertices, vertex_positions.triangles
        mesh = carom.Mesh(vertex_positions, triangle_indices, context=self._world.context)
        self._meshes.append(mesh)
        self._numbers[self._world.add_body(shape=mesh, kind="static")] = len(self._meshes) - 1
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
        """The nearest surface points: points, geometry_ids, primitive_ids, primitive_normals."""
        import numpy

        rows, shape = self._rows(query_points, 3)
        closest = numpy.asarray(self._world.closest_points(rows))
        return {
            "points": closest["point"].reshape(*shape, 3),
            "geometry_ids": self._geometry_ids(closest["body"]).reshape(shape),
            "primitive_ids": closest["triangle"].astype(numpy.uint32).reshape(shape),
            "primitive_normals": closest["normal"].reshape(*shape, 3),
        }

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
            inside ^= numpy.asarray(carom.shape_closest_points(mesh, rows, context=self._world.context))["distance"] < 0
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


class _Geometry:
    def __init__(self, shape):
        self.shape = shape


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
    """Halfspace(): z <= 0 of its transform. FCL's takes a normal and a distance."""

    def __init__(self):
        super().__init__(carom.Shape(type="plane"))


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
        self.shape = carom.Mesh(*self._parts[0])


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


def collide(o1, o2, request=None, result=None):
    """The number of contacts, at most request.num_max_contacts; result gets them."""
    request, result = request or CollisionRequest(), result or CollisionResult()
    a, b = o1.geometry.shape, o2.geometry.shape
    if not request.enable_contact:
        result.is_collision = carom.overlap(a, b, o1.transform.pose, o2.transform.pose)
        return int(result.is_collision)
    contacts = carom.collide(a, b, o1.transform.pose, o2.transform.pose)
    found = sorted(contacts, key=lambda contact: -contact.depth)[:request.num_max_contacts]
    result.is_collision = len(found) > 0
    result.contacts += [Contact(o1.geometry, o2.geometry, contact, 1) for contact in found]
    return len(found)


def distance(o1, o2, request=None, result=None):
    """The distance of two objects. Overlap: negative with enable_signed_distance, else 0 (FCL: -1)."""
    request, result = request or DistanceRequest(), result or DistanceResult()
    separation = carom.distance(o1.geometry.shape, o2.geometry.shape, o1.transform.pose, o2.transform.pose)
    result.min_distance = separation.distance if request.enable_signed_distance else max(separation.distance, 0.0)
    result.nearest_points = (separation.point_a, separation.point_b)
    return result.min_distance
