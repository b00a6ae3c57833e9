/// @file carom_lammps.h
/// Forces of spheres inside LAMMPS, by Carom: for very uneven radii, where LAMMPS' own neighbour
/// lists are slow. Works with a LAMMPS that was not built for it, through its C interface (fix
/// external). pair_style carom (pair_carom.h) computes the same forces in less time.
///
/// The forces are those of LAMMPS' pair styles gran/hooke, gran/hooke/history and
/// gran/hertz/history (Silbert et al. 2001; Brilliantov et al. 1996), with their parameters and
/// units. Results have equal bits for any number of processes, decomposition and skin. Programs
/// that link LAMMPS are under its licence, the GPL version 2.
#ifndef CAROM_LAMMPS_H
#define CAROM_LAMMPS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Which of LAMMPS' pair styles.
typedef enum carom_lammps_style {
	CAROM_LAMMPS_HOOKE,         ///< gran/hooke: springs along the normal, sliding friction
	CAROM_LAMMPS_HOOKE_HISTORY, ///< gran/hooke/history: with a spring along the surface
	CAROM_LAMMPS_HERTZ_HISTORY, ///< gran/hertz/history: stiffness grows with the overlap
	CAROM_LAMMPS_GRANULAR,      ///< granular: as gran/hooke/history, and rolling friction
} carom_lammps_style;

/// Parameters of a pair style, named as in LAMMPS' documentation, in the script's units.
typedef struct carom_lammps_law {
	carom_lammps_style style;
	double kn, kt;         ///< elastic constants, along the normal and the surface
	double gamman, gammat; ///< damping, along the normal and the surface
	double xmu;            ///< yield criterion (friction)
	/// of granular: spring, damping and friction of rolling; all 0: none
	double kroll, gammaroll, muroll;
} carom_lammps_law;

/// Read a law as a LAMMPS script has it behind `pair_style`: "gran/hooke/history 2e5 NULL 50.0 NULL
/// 0.5 1" (style, Kn, Kt, gamma_n, gamma_t, x_mu, dampflag). NULL for Kt is 2/7 Kn, for gamma_t
/// half of gamma_n; dampflag 0 is gamma_t 0. Or as behind `pair_coeff` of pair_style granular, in
/// this order: "granular hooke 2e5 50.0 damping mass_velocity tangential linear_history 5e4 0.5 0.5
/// rolling sds 1e4 10 0.1" (Kn, gamma_n; Kt, gamma_t as a part of gamma_n, x_mu; and of rolling k,
/// gamma, mu, which may be left out). carom_lammps_attach and fix carom/rigid do not know it.
/// False: error [error_size] says what is wrong. Thread-safe.
bool carom_lammps_read_law(const char *text, carom_lammps_law *law, char *error, int error_size);

/// What a run has cost on this process.
typedef struct carom_lammps_stats {
	int64_t calls;         ///< force computations
	int64_t list_builds;   ///< of these with a new list of neighbours
	int64_t owned, ghosts; ///< spheres in the last call
	int64_t tests;         ///< distances computed, in all calls
	double ms;             ///< milliseconds in all calls
} carom_lammps_stats;

typedef struct carom_lammps carom_lammps;

/// Let Carom compute the forces between spheres from now on. `lammps` is an instance with atoms of
/// style sphere. This gives it the commands `pair_style none`, `neighbor SKIN bin`, `neigh_modify
/// every 1 delay 0 check yes`, `comm_modify vel yes cutoff`, `fix carom all external` and, for laws
/// with history, `fix carom_history all property/atom`: histories move with the atoms and are kept
/// in restart files. skin: a length above 0. Call it on all processes of the instance, with equal
/// arguments. NULL: error [error_size] says why; the instance is as far as the commands have come.
/// A failure within a run prints its reason and ends the program (MPI_Abort).
carom_lammps *carom_lammps_attach(void *lammps, const carom_lammps_law *law, double skin, char *error, int error_size);

carom_lammps_stats carom_lammps_get_stats(const carom_lammps *attached);

/// Forces of spheres are nobody's from now on: give the instance a pair style. NULL does nothing.
/// To be called before the instance is closed.
void carom_lammps_detach(carom_lammps *attached);

#ifdef __cplusplus
}
#endif
#endif
