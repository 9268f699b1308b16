//! Skald from outside: one file per promise, then the scenarios, the command line, and the house's own rules.

mod commits;
mod corpus;
mod golden;
mod promise_1_durable;
mod promise_1_handed_on;
mod promise_1_killed;
mod promise_1_left;
mod promise_1_store_away;
mod promise_2_damaged;
mod promise_2_shown;
mod promise_3_prefix;
mod promise_4_inert;
mod promise_5_lore;
mod promise_6_refused;
mod promise_6_said;
mod promise_6_window;
mod promise_7_anothers;
mod promise_7_door;
mod promise_7_hidden;
mod promise_8_breakout;
mod promise_8_wire;
mod races;
mod scenario;
mod starting;
mod tidy;
mod unknown_values;
