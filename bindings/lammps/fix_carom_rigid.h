/// fix carom/rigid: each atom of its group is a concave mesh. It finds contacts by Carom, adds
/// forces and torques, integrates, and carries orientations and springs with the atoms.
#ifndef CAROM_LAMMPS_FIX_CAROM_RIGID_H
#define CAROM_LAMMPS_FIX_CAROM_RIGID_H

#include "rigid_walls.h"
#include <fix.h>
#include <mpi.h>
#include <string>
#include <vector>

namespace LAMMPS_NS {

class FixCaromRigid : public Fix {
  public:
	FixCaromRigid(class LAMMPS *lammps, int count, char **words);
	~FixCaromRigid() override;
	int setmask() override;
	void init() override;
	void setup_pre_exchange() override { pre_exchange(); }
	void setup(int vflag) override;
	void initial_integrate(int) override;
	void pre_exchange() override;
	void post_force(int) override;
	void final_integrate() override;
	void grow_arrays(int places) override;
	void copy_arrays(int from, int to, int) override;
	void set_arrays(int i) override;
	int pack_exchange(int i, double *numbers) override;
	int unpack_exchange(int i, double *numbers) override;
	int pack_forward_comm(int count, int *list, double *numbers, int, int *) override;
	void unpack_forward_comm(int count, int first, double *numbers) override;
	void write_restart(FILE *file) override;
	void restart(char *data) override;
	int pack_restart(int i, double *numbers) override;
	void unpack_restart(int i, int nth) override;
	int size_restart(int i) override;
	int maxsize_restart() override;
	double compute_vector(int i) override;
	double compute_array(int i, int k) override;
	double memory_usage() override;

  private:
	struct mesh_file {
		std::string name, path;
		double scale = 1, density = 0; // 0: masses are the atoms'
	};
	/// What a restart file keeps of a wall.
	struct wall_state {
		double at[3], velocity[3]; // of a wall that variables move
		double step;               // of `at`
	};
	struct wall {
		std::string path;
		double scale = 1;
		enum { STILL, VELOCITY, VARIABLES, ROTATE } motion = STILL;
		double numbers[7]{};      // of VELOCITY: 3; of ROTATE: point, axis, period
		std::string variables[3]; // displacement along x, y, z
		wall_state state{};
	};
	rigid_scene *scene = nullptr;
	std::vector<mesh_file> meshes;
	std::vector<int> mesh_of_type; // [ntypes+1] in meshes; -1: none
	std::vector<wall> walls;
	std::vector<rigid_wall_motion> motions;
	std::vector<double> loads; // [walls][RIGID_LOAD]
	bool loads_known = false;  // of the last step
	double origin;             // step from which walls move
	int contacts = 8;          // of a pair
	bool random = false;
	int seed = 0;
	std::string orient[4]; // names of atom-style variables w, x, y, z; empty: not given
	carom_lammps_law law{};
	double **turns = nullptr; // [nmax][RIGID_TURN] rigid_turn
	rigid_touches touches{};
	std::vector<double *> row_pointers;
	double largest = 0; // radius of any body
	bigint listed = -1; // step of the last list
	int listed_own = -1, listed_ghosts = -1;

	void read_words(int count, char **words);
	int read_law(int count, char **words);
	int read_mesh(int at, int count, char **words);
	int read_type(int at, int count, char **words);
	int read_wall(int at, int count, char **words);
	int read_motion(wall &w, int at, int count, char **words);
	int read_orient(int at, int count, char **words);
	int read_contacts(int at, int count, char **words);
	double number(const char *word) const;
	double above_zero(const char *word, const char *what) const;
	std::string variable_name(const char *word, bool of_atoms) const;
	void want(int at, int more, int count, char **words) const;
	void load_files();
	[[noreturn]] void fail(const std::string &what) const;      // on all processes
	[[noreturn]] void fail_here(const std::string &what) const; // on this one
	void check_surroundings() const;
	void check_reach() const;
	void check_sides() const;
	void check_body(int i) const;
	void find_largest();
	rigid_turn *turn(int i) const { return reinterpret_cast<rigid_turn *>(turns[i]); }
	bool is_body(int i) const;
	void kick(int i);
	const rigid_form *form(int i) const;
	void receive_new();
	void begin_body(int i, const double *given);
	void take_spins();
	void move_wall(size_t k);
	void sum_loads();
	void displace_wall(wall &w, rigid_wall_motion &m);
	void show_rows();
	rigid_atoms atoms() const;
	int unpack(int i, const double *numbers);
};

} // namespace LAMMPS_NS

#endif
