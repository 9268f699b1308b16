//! Update masks: which fields a caller changes.

use prost_types::FieldMask;
use tonic::Status;

use crate::status;

/// The paths of the mask in `field`, each one of `known`; with `*`, all of them.
///
/// An empty mask is refused: read as "all", it would clear whatever the caller did not think of.
pub fn paths<'k>(
    field: &str,
    mask: Option<&FieldMask>,
    known: &'k [&'k str],
) -> Result<Vec<&'k str>, Status> {
    let asked = mask.map(|mask| &mask.paths[..]).unwrap_or_default();
    if asked.is_empty() {
        let why = format!("is empty: name the fields ({}), or * for all", known.join(", "));
        return Err(status::invalid(field, why));
    }
    if asked == ["*"] {
        return Ok(known.to_vec());
    }
    let find = |path: &String| {
        let found = known.iter().copied().find(|known| known == path);
        let why = || format!("names {path:?}, which is none of {}", known.join(", "));
        found.ok_or_else(|| status::invalid(field, why()))
    };
    asked.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 2] = ["name", "entries"];

    fn mask(paths: &[&str]) -> FieldMask {
        FieldMask { paths: paths.iter().map(|path| (*path).to_owned()).collect() }
    }

    #[test]
    fn every_field_is_asked_for_by_name() {
        assert_eq!(paths("update_mask", Some(&mask(&["*"])), &KNOWN).expect("all"), KNOWN);
        for empty in [None, Some(mask(&[]))] {
            let status = paths("update_mask", empty.as_ref(), &KNOWN).expect_err("empty");
            let why = "update_mask is empty: name the fields (name, entries), or * for all";
            assert_eq!(status.message(), why);
        }
    }

    #[test]
    fn an_unknown_path_is_named() {
        assert_eq!(
            paths("update_mask", Some(&mask(&["entries"])), &KNOWN).expect("one"),
            ["entries"]
        );
        let status =
            paths("update_mask", Some(&mask(&["name", "id"])), &KNOWN).expect_err("unknown");
        assert!(status.message().contains("\"id\""), "{}", status.message());
    }
}
