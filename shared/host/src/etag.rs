//! Etags: whether the resource that a caller changes is still the one that it read.

use kernel::digest_parts;
use tonic::Status;
use wire::common::v1::Reason;

use crate::status;

/// The etag of a resource, from what changes with it: a revision, or its encoded content.
pub fn etag(parts: &[&[u8]]) -> String {
    digest_parts(parts).to_hex()[..32].to_owned()
}

/// Compares a caller's etag with the present one; an empty one asks for nothing.
pub fn check(kind: &str, id: &str, given: &str, present: &str) -> Result<(), Status> {
    if given.is_empty() || given == present {
        return Ok(());
    }
    let why = format!("{kind} {id} changed: its etag is {present}");
    Err(status::aborted(Reason::EtagMismatch, kind, id, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etag_holds_while_the_content_does() {
        let (before, after) = (etag(&[b"1", b"a"]), etag(&[b"2", b"a"]));
        assert!(check("preset", "p", &before, &before).is_ok());
        assert!(check("preset", "p", "", &before).is_ok());
        let status = check("preset", "p", &before, &after).expect_err("changed");
        assert_eq!(status.code(), tonic::Code::Aborted);
        assert_eq!(status::reason(&status), Some(Reason::EtagMismatch));
    }
}
