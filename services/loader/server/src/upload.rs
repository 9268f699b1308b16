//! A file that a client streams: its header, then its bytes, within a limit.

use kernel::{Digest, RequestId, digest_parts};

/// A whole uploaded file.
#[derive(Debug, Clone)]
pub struct Upload {
    pub request_id: Option<RequestId>,
    /// Empty if the client gave none.
    pub file_name: String,
    /// Only the report is wanted.
    pub validate_only: bool,
    pub bytes: Vec<u8>,
}

// === impl Upload ===

impl Upload {
    /// What makes another upload the same request; the request id is not part of it.
    pub fn request_hash(&self) -> Digest {
        let flags = [u8::from(self.validate_only)];
        digest_parts(&[self.file_name.as_bytes(), &flags, &self.bytes])
    }

    /// The file's name, if it has one.
    pub fn named(&self) -> Option<&str> {
        Some(self.file_name.as_str()).filter(|name| !name.is_empty())
    }
}
