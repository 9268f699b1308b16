//! Which calls may be sent again: decided by their descriptors, never by their names.

use std::collections::HashMap;

use prost::Message as _;
use prost_types::{FileDescriptorSet, MethodDescriptorProto, method_options::IdempotencyLevel};

/// What a call's method allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Never: the method is unknown here, or its request is a stream that cannot be sent twice.
    Never,
    /// Only while nothing was sent: the method may have effects.
    Unsent,
    /// Whenever the peer was away: `NO_SIDE_EFFECTS` or `IDEMPOTENT`.
    Freely,
}

/// The methods of a descriptor set by path.
#[derive(Debug, Default)]
pub(super) struct Methods(HashMap<String, Repeat>);

// === impl Methods ===

impl Methods {
    pub(super) fn of(descriptors: &[u8]) -> Result<Self, prost::DecodeError> {
        let files = FileDescriptorSet::decode(descriptors)?.file;
        let methods = files.iter().flat_map(|file| {
            file.service.iter().flat_map(move |service| {
                service.method.iter().map(move |method| {
                    let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                    (path, repeat(method))
                })
            })
        });
        Ok(Self(methods.collect()))
    }

    pub(super) fn repeat(&self, path: &str) -> Repeat {
        self.0.get(path).copied().unwrap_or(Repeat::Never)
    }
}

fn repeat(method: &MethodDescriptorProto) -> Repeat {
    if method.client_streaming() {
        return Repeat::Never;
    }
    match method.options.as_ref().map(|options| options.idempotency_level()) {
        Some(IdempotencyLevel::NoSideEffects | IdempotencyLevel::Idempotent) => Repeat::Freely,
        Some(IdempotencyLevel::IdempotencyUnknown) | None => Repeat::Unsent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Repeat) {
        let methods = Methods::of(wire::DESCRIPTORS).expect("our own descriptors");
        assert_eq!(methods.repeat(path), expected);
    }

    #[test]
    fn reads_may_be_sent_again() {
        check("/skald.ledger.v1.SessionService/GetSession", Repeat::Freely);
    }

    #[test]
    fn writes_may_be_sent_again_only_while_they_were_not_sent() {
        check("/skald.ledger.v1.SessionService/CreateSession", Repeat::Unsent);
    }

    #[test]
    fn uploads_and_unknown_methods_are_sent_once() {
        check("/skald.loader.v1.CharacterService/ImportCharacter", Repeat::Never);
        check("/skald.loader.v1.Nothing/Nothing", Repeat::Never);
    }
}
