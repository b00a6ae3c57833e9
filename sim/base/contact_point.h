/// @file contact_point.h
/// Points where things touch, for pictures and files: deforming bodies and spheres list theirs
/// alike.
#ifndef SIM_CONTACT_POINT_H
#define SIM_CONTACT_POINT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum sim_contact_kind {
	SIM_CONTACT_IMPACT, ///< of deforming bodies: features that met within the step
	SIM_CONTACT_CLOTH,  ///< of deforming bodies: features that were near as the step began
	SIM_CONTACT_SPHERE, ///< of a sphere with anything
	SIM_CONTACT_KINDS
} sim_contact_kind;

typedef struct sim_contact_point {
	sim_contact_kind kind;
	double point[3];  ///< m
	double normal[3]; ///< unit, towards the first of the two
	double depth;     ///< m, how much nearer the two are than they should be; below 0: farther
} sim_contact_point;

/// A list that grows. Begin with all zero.
typedef struct sim_contact_points {
	sim_contact_point *data; ///< [count]
	int64_t count, room;
} sim_contact_points;

/// The word for a kind: "impact", "cloth", "sphere".
const char *sim_contact_word(sim_contact_kind kind);

/// Add a point. False when memory is short; the list is as it was then.
bool sim_add_contact_point(sim_contact_points *points, const sim_contact_point *point);

/// Free the list; it is empty then.
void sim_free_contact_points(sim_contact_points *points);

#endif
