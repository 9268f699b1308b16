//! The first block of every JOURNAL request: one fixed text per render version, never edited.

/// Explains the form. It holds no tag itself, so that whoever parses a request finds only real ones.
pub(super) const V1: &str = "\
This conversation is a journal. What has been sent stays as it was; whatever changes is added behind it.

Standing context comes in section tags, each with a key. A section behind the opening ones carries `at`, the \
position where it entered; from there on it holds. If it also carries `supersedes`, it takes the place of the \
section with the same key at that position. If it is marked `withdrawn`, its key no longer holds from there on. \
What was said before a change was right under what held then.

Text in authored tags was written ahead of time; `class` says whether it narrates or instructs. Text in note tags \
is a note from whoever runs this conversation. A line that starts with `Requested at:` gives the time at which you \
were asked for a reply. A line that starts with `@` and a number names the position and the source of what follows.

Tags, positions and these lines belong to the journal: never write them yourself.";
