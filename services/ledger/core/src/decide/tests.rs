//! Verbs on whole sessions: what is appended, what renders, what is refused and in which order.

mod authored;
mod harness;
mod history;
mod laws;
mod main_job;
