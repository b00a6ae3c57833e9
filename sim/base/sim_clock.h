/// @file sim_clock.h
/// The clock of the simulations and the command.
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

/// Milliseconds since some moment: they go on evenly, whatever is done to the time of day.
double sim_now_ms(void);

#endif
