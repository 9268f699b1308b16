//! A descriptor set taken apart into its files, whose bytes stay as the compiler wrote them.

use prost::{Message, bytes::Bytes};
use prost_types::FileDescriptorProto;

/// The files of a set, in its order.
#[derive(Debug)]
pub(super) struct Descriptors(Vec<File>);

#[derive(Debug)]
struct File {
    name: String,
    services: Vec<String>,
    /// Kept as they are: decoding and encoding again would lose custom options.
    encoded: Bytes,
}

/// `FileDescriptorSet` with its files left encoded; on the wire the two are the same.
#[derive(Message)]
struct EncodedSet {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    file: Vec<Bytes>,
}

// === impl Descriptors ===

impl Descriptors {
    /// Panics on bytes that are no descriptor set: they were built into this binary.
    pub(super) fn decode(bytes: &'static [u8]) -> Self {
        let set = EncodedSet::decode(Bytes::from_static(bytes)).expect("a descriptor set");
        Self(set.file.into_iter().map(File::decode).collect())
    }

    /// Every service with the file that defines it.
    pub(super) fn services(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|file| {
            file.services.iter().map(|service| (file.name.as_str(), service.as_str()))
        })
    }

    /// The set of those files that `keep` keeps.
    pub(super) fn encode(&self, keep: impl Fn(&str) -> bool) -> Vec<u8> {
        let kept = self.0.iter().filter(|file| keep(&file.name));
        EncodedSet { file: kept.map(|file| file.encoded.clone()).collect() }.encode_to_vec()
    }
}

// === impl File ===

impl File {
    fn decode(encoded: Bytes) -> Self {
        let file = FileDescriptorProto::decode(encoded.clone()).expect("a file descriptor");
        let qualified = |service: &prost_types::ServiceDescriptorProto| {
            format!("{}.{}", file.package(), service.name())
        };
        let services = file.service.iter().map(qualified).collect();
        Self { name: file.name().to_owned(), services, encoded }
    }
}
