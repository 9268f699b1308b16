//! The statements of presets, characters and users that differ in their names alone.

use crate::store::Kind;

/// The statements of one kind of resource.
pub(super) struct Statements {
    /// By id.
    pub revision: &'static str,
    pub count: &'static str,
    /// By id.
    pub delete: &'static str,
    /// Behind a name and an id.
    pub page: &'static str,
    /// Takes an id out of every selection.
    pub clear: &'static str,
    /// The sessions that run at a time and have selected an id.
    pub running: &'static str,
}

macro_rules! statements {
    ($table:literal, $id:literal, $summary:literal) => {
        Statements {
            revision: concat!(
                "select revision from ",
                $table,
                " where tenant = $1 and subject = $2 and ",
                $id,
                " = $3"
            ),
            count: concat!(
                "select count(*) as count from ",
                $table,
                " where tenant = $1 and subject = $2"
            ),
            delete: concat!(
                "delete from ",
                $table,
                " where tenant = $1 and subject = $2 and ",
                $id,
                " = $3"
            ),
            page: concat!(
                "select ",
                $id,
                " as id, ",
                $summary,
                " from ",
                $table,
                " where tenant = $1 and subject = $2 and (name > $3 or (name = $3 and ",
                $id,
                " > $4)) order by name, ",
                $id,
                " limit $5"
            ),
            clear: concat!(
                "update selections set ",
                $id,
                " = null, revision = revision + 1 where tenant = $1 and subject = $2 and ",
                $id,
                " = $3"
            ),
            running: concat!(
                "select session_id from leases join selections using (tenant, subject, session_id)",
                " where tenant = $1 and subject = $2 and expires_at > $3 and ",
                $id,
                " = $4 order by session_id"
            ),
        }
    };
}

const PRESETS: Statements = statements!("presets", "preset_id", "name, hash, revision, created_at");
const CHARACTERS: Statements =
    statements!("characters", "character_id", "name, hash, spec, container, revision, created_at");
const USERS: Statements = statements!("users", "user_id", "name, revision, created_at");

pub(super) const fn of(kind: Kind) -> &'static Statements {
    match kind {
        Kind::Preset => &PRESETS,
        Kind::Character => &CHARACTERS,
        Kind::User => &USERS,
    }
}
