//! The door from outside: who gets in, what hidden features look like, how it ends, and what peers pass on.

#[path = "door/ending.rs"]
mod ending;
#[path = "door/gate.rs"]
mod gate;
#[path = "door/messages.rs"]
mod messages;
#[path = "door/peers.rs"]
mod peers;
#[path = "door/web.rs"]
mod web;
#[path = "door/world.rs"]
mod world;
