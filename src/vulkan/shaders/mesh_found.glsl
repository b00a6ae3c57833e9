// What a ray of tier P has met so far, which its shaders hand to each other.
struct Found {
	Nearest ahead, behind;
	bool doubt;
	bool forward; // the side of the origin that is followed
};
