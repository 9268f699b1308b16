//! What a compile must do: the seed's acceptance lines, SillyTavern's placement, reported bugs, laws.

mod acceptance;
mod breakout;
mod budget;
mod bugs;
mod cards;
mod corpus;
mod in_chat;
mod journal;
mod support;
