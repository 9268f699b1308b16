//! What fires and what does not: reported bugs of other engines with their right answers, and the
//! rules of reference A4 to A11 one by one.

mod hostile;
mod keys;
mod laws;
mod passes;
mod placing;
mod scene;
mod timed;
mod tokens;
