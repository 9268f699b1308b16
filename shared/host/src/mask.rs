//! Update masks: which fields a caller changes.

use prost_types::FieldMask;
use tonic::Status;

use crate::status;

/// The paths of `update_mask`, each one of `known`; without a mask, or with `*`, all of them.
pub fn paths<'k>(mask: Option<&FieldMask>, known: &'k [&'k str]) -> Result<Vec<&'k str>, Status> {
    let asked = mask.map(|mask| &mask.paths[..]).unwrap_or_default();
    if asked.is_empty() || asked == ["*"] {
        return Ok(known.to_vec());
    }
    let find = |path: &String| {
        let found = known.iter().copied().find(|known| known == path);
        let why = || format!("names {path:?}, which is none of {}", known.join(", "));
        found.ok_or_else(|| status::invalid("update_mask", why()))
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
    fn no_mask_is_every_field() {
        assert_eq!(paths(None, &KNOWN).expect("all"), KNOWN);
        assert_eq!(paths(Some(&mask(&[])), &KNOWN).expect("all"), KNOWN);
        assert_eq!(paths(Some(&mask(&["*"])), &KNOWN).expect("all"), KNOWN);
    }

    #[test]
    fn an_unknown_path_is_named() {
        assert_eq!(paths(Some(&mask(&["entries"])), &KNOWN).expect("one"), ["entries"]);
        let status = paths(Some(&mask(&["name", "id"])), &KNOWN).expect_err("unknown");
        assert!(status.message().contains("\"id\""), "{}", status.message());
    }
}
