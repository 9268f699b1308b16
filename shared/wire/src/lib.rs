//! Generated code only: messages, clients and servers of `proto/`, and their descriptors.
//!
//! Nothing is written by hand here but the module tree; conversions live at each server's edge.

/// The descriptor set of every file of `proto/`, imports and comments included.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

macro_rules! packages {
    ($($domain:ident = $package:literal;)*) => {$(
        pub mod $domain {
            pub mod v1 {
                tonic::include_proto!($package);
            }
        }
    )*};
}

packages! {
    common = "skald.common.v1";
    ledger = "skald.ledger.v1";
    loader = "skald.loader.v1";
    lorebook = "skald.lorebook.v1";
    mesh = "skald.mesh.v1";
    proposal = "skald.proposal.v1";
}
