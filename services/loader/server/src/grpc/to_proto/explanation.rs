//! A compiled profile becomes the reasons for each of its pieces.

use loader_core::compile::{
    Audit, World,
    audit::{ActivatedLore, Resource},
};
use wire::loader::v1 as pb;

use super::{
    left_out,
    profile::{diagnostics, segment_summary},
};
use crate::profiles::Compiled;

pub fn explanation(compiled: Compiled) -> pb::ExplainProfileResponse {
    let Compiled { profile, lore_diagnostics, .. } = compiled;
    let audit = &profile.audit;
    let segments = profile.segments.iter().zip(&audit.segments);
    let segments = segments.map(|(segment, origin)| pb::ExplainedSegment {
        segment: Some(segment_summary(segment)),
        from: origin.from.iter().map(|piece| source(piece, audit)).collect(),
    });
    left_out::of_explanation(pb::ExplainProfileResponse {
        segments: segments.collect(),
        lore: audit.lore.iter().map(|lore| explained(lore, audit)).collect(),
        diagnostics: diagnostics(profile.diagnostics, lore_diagnostics),
        fingerprint: profile.fingerprint.to_hex(),
        left_out: Vec::new(),
    })
}

/// The resource behind a piece's name.
fn source(piece: &str, audit: &Audit) -> pb::PieceSource {
    let of = |kind: &str, resource: Option<&Resource>| {
        let resource = resource.cloned();
        let (id, name, revision) = resource.map(|r| (r.id, r.name, r.revision)).unwrap_or_default();
        pb::PieceSource {
            piece: piece.to_owned(),
            resource_kind: kind.to_owned(),
            resource_id: id,
            resource_name: name,
            revision,
        }
    };
    match piece.split(':').next() {
        Some("prompt") => of("preset", audit.preset.as_ref()),
        Some("character") => of("character", audit.character.as_ref()),
        Some("user") => of("user", audit.user.as_ref()),
        Some("lore") => of("world", world_of(piece, audit).map(resource).as_ref()),
        Some("rp") => of("owner", None),
        _ => of("loader", None),
    }
}

fn explained(lore: &ActivatedLore, audit: &Audit) -> pb::ExplainedLore {
    let world = world_of(&lore.key, audit);
    let sources = world.iter().flat_map(|world| &world.sources);
    pb::ExplainedLore {
        key: lore.key.clone(),
        world_id: world.map(|world| world.id.to_string()).unwrap_or_default(),
        world_name: world.map(|world| world.name.clone()).unwrap_or_default(),
        binding_sources: sources.map(|source| source.name().to_owned()).collect(),
        reason: lore.reason.clone(),
        position: lore.position.clone(),
        dynamic: lore.dynamic,
        kept: lore.kept,
    }
}

/// An id may hold a colon: the world is the one whose id the key begins with.
fn world_of<'a>(key: &str, audit: &'a Audit) -> Option<&'a World> {
    let rest = key.strip_prefix("lore:")?;
    let is_of = |world: &&World| {
        rest.strip_prefix(world.id.as_str()).is_some_and(|rest| rest.starts_with(':'))
    };
    audit.worlds.iter().filter(is_of).max_by_key(|world| world.id.as_str().len())
}

fn resource(world: &World) -> Resource {
    let (id, name) = (world.id.to_string(), world.name.clone());
    Resource { id, name, revision: world.content_revision.to_string() }
}
