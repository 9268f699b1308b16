//! SHA-256 over bytes and over lists of parts whose borders count.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 value; shown and stored as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest([u8; 32]);

/// Makes the commitment to a guessable content unguessable; erased together with the content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Salt([u8; 16]);

/// A text that is not 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 hexadecimal digits")]
pub struct InvalidDigest;

/// A value that is not 16 bytes, or a text that is not 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a salt is 16 bytes")]
pub struct InvalidSalt;

/// Hashes one run of bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// SHA-256 of salt and content.
pub fn commit(salt: Salt, content: &[u8]) -> Digest {
    Digest(Sha256::new().chain_update(salt.0).chain_update(content).finalize().into())
}

/// Hashes parts with their lengths, so that `["a", "bc"]` and `["ab", "c"]` differ.
pub fn digest_parts(parts: &[&[u8]]) -> Digest {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    Digest(hasher.finalize().into())
}

/// As [`digest_parts`] of these parts and of `last` joined by `separator`, without joining it.
pub fn digest_parts_joined<'p>(
    parts: &[&[u8]],
    last: impl Iterator<Item = &'p str> + Clone,
    separator: &str,
) -> Digest {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let count = last.clone().count();
    let bytes = last.clone().map(str::len).sum::<usize>();
    let bytes = bytes + separator.len() * count.saturating_sub(1);
    hasher.update((bytes as u64).to_be_bytes());
    for (at, piece) in last.enumerate() {
        if at > 0 {
            hasher.update(separator);
        }
        hasher.update(piece);
    }
    Digest(hasher.finalize().into())
}

// === impl Digest ===

impl Digest {
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub fn from_slice(bytes: &[u8]) -> Result<Self, InvalidDigest> {
        bytes.try_into().map(Self).map_err(|_| InvalidDigest)
    }

    pub fn from_hex(text: &str) -> Result<Self, InvalidDigest> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| InvalidDigest)?;
        Ok(Self(bytes))
    }

    pub fn to_hex(self) -> String {
        self.with_hex(str::to_owned)
    }

    /// Lends the digits without allocating them.
    fn with_hex<T>(self, read: impl FnOnce(&str) -> T) -> T {
        let mut digits = [0; 64];
        let written = hex::encode_to_slice(self.0, &mut digits);
        debug_assert!(written.is_ok(), "two digits for each byte");
        read(str::from_utf8(&digits).unwrap_or_default())
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_hex(|digits| serializer.serialize_str(digits))
    }
}

// === impl Salt ===

impl Salt {
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The salt of one place; the same parts give the same salt.
    pub fn derived(parts: &[&[u8]]) -> Self {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest_parts(parts).0[..16]);
        Self(bytes)
    }

    pub fn from_slice(bytes: &[u8]) -> Result<Self, InvalidSalt> {
        bytes.try_into().map(Self).map_err(|_| InvalidSalt)
    }
}

impl TryFrom<String> for Salt {
    type Error = InvalidSalt;
    fn try_from(text: String) -> Result<Self, InvalidSalt> {
        let mut bytes = [0; 16];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| InvalidSalt)?;
        Ok(Self(bytes))
    }
}

impl From<Salt> for String {
    fn from(salt: Salt) -> String {
        hex::encode(salt.0)
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(…)")
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;
    fn try_from(text: String) -> Result<Self, InvalidDigest> {
        Self::from_hex(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_hex()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_hex(|digits| f.write_str(digits))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_joined_part_hashes_as_if_it_had_been_joined() {
        for pieces in [&[][..], &[""], &["a"], &["", "b", ""], &["one", "two"]] {
            let joined = pieces.join("\n\n");
            let expected = digest_parts(&[b"key", joined.as_bytes()]);
            let found = digest_parts_joined(&[b"key"], pieces.iter().copied(), "\n\n");
            assert_eq!(found, expected, "{pieces:?}");
        }
    }
}
