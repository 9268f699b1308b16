//! Pages of lists: how many, from where on, and tokens that belong to one list only.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use kernel::{
    digest_parts,
    limits::{PAGE_BYTES_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX},
};
use tonic::Status;
use wire::common::v1::Reason;

use crate::status::{self, Refusal};

/// The list that a token continues: the method, and everything of the request that filters or orders it.
///
/// The owner belongs in it, too, so that a token shown to somebody else is no token.
#[derive(Debug, Clone, Copy)]
pub struct Listing<'a>(pub &'a [&'a str]);

/// Ends a page at its size or at 1 MiB, whichever comes first; but one item always fits.
#[derive(Debug)]
pub struct Filling {
    items_left: usize,
    bytes_left: usize,
    empty: bool,
}

/// Bytes of the token's head, which binds it to its listing.
const SEAL_BYTES: usize = 12;

/// The size of a page: 0 is the default, and more than the most is the most.
pub fn page_size(asked: i32) -> Result<usize, Status> {
    match usize::try_from(asked) {
        Err(_) => Err(status::invalid("page_size", "is negative")),
        Ok(0) => Ok(PAGE_SIZE_DEFAULT),
        Ok(size) => Ok(size.min(PAGE_SIZE_MAX)),
    }
}

// === impl Listing ===

impl Listing<'_> {
    /// The token of the page that begins after `position`, in the words of the service.
    pub fn token(self, position: &str) -> String {
        let mut bytes = self.seal(position).to_vec();
        bytes.extend_from_slice(position.as_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Where a page begins: nothing for the first one, whose token is empty.
    pub fn position(self, token: &str) -> Result<Option<String>, Status> {
        if token.is_empty() {
            return Ok(None);
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| altered())?;
        let (seal, position) = bytes.split_at_checked(SEAL_BYTES).ok_or_else(altered)?;
        let position = str::from_utf8(position).map_err(|_| altered())?;
        if seal != self.seal(position) { Err(altered()) } else { Ok(Some(position.to_owned())) }
    }

    fn seal(self, position: &str) -> [u8; SEAL_BYTES] {
        let parts: Vec<&[u8]> =
            self.0.iter().chain([&position]).map(|part| part.as_bytes()).collect();
        let mut seal = [0; SEAL_BYTES];
        seal.copy_from_slice(&digest_parts(&parts).as_bytes()[..SEAL_BYTES]);
        seal
    }
}

fn altered() -> Status {
    let why = "is not of this list: it was made for another filter, or altered";
    Refusal::new(Reason::PageTokenInvalid, format!("page_token {why}"))
        .field("page_token", why)
        .into()
}

// === impl Filling ===

impl Filling {
    pub fn new(page_size: usize) -> Self {
        Self { items_left: page_size, bytes_left: PAGE_BYTES_MAX, empty: true }
    }

    /// Whether an item of this encoded length still belongs to the page; false ends it.
    pub fn takes(&mut self, bytes: usize) -> bool {
        let fits = self.items_left > 0 && (self.empty || bytes <= self.bytes_left);
        if fits {
            self.items_left -= 1;
            self.bytes_left = self.bytes_left.saturating_sub(bytes);
            self.empty = false;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: Listing = Listing(&["skald.ledger.v1.SessionService/ListSessions", "acme", "ada"]);

    #[track_caller]
    fn refused(list: Listing, token: &str) {
        let status = list.position(token).expect_err("not of this list");
        assert_eq!(status::reason(&status), Some(Reason::PageTokenInvalid));
    }

    #[test]
    fn a_token_leads_back_to_its_position() {
        for position in ["", "s-1", "2026-11-30T05:00:00Z/дракон"] {
            let token = LIST.token(position);
            assert_eq!(LIST.position(&token).expect("ours").as_deref(), Some(position));
        }
    }

    #[test]
    fn no_token_is_the_first_page() {
        assert_eq!(LIST.position("").expect("the first"), None);
    }

    #[test]
    fn a_token_of_another_list_is_refused() {
        let token = LIST.token("s-1");
        refused(Listing(&["skald.ledger.v1.SessionService/ListSessions", "acme", "bob"]), &token);
        refused(Listing(&["skald.ledger.v1.SessionService/ListSessions", "acmeada"]), &token);
    }

    #[test]
    fn an_altered_token_is_refused() {
        let token = LIST.token("s-1");
        refused(LIST, "s-1");
        refused(LIST, "AAAA");
        refused(LIST, &token[1..]);
        refused(LIST, &format!("{token}AA"));
    }

    #[test]
    fn sizes_are_defaulted_and_capped() {
        assert_eq!(page_size(0).expect("the default"), PAGE_SIZE_DEFAULT);
        assert_eq!(page_size(7).expect("asked"), 7);
        assert_eq!(page_size(i32::MAX).expect("capped"), PAGE_SIZE_MAX);
        assert_eq!(page_size(-1).expect_err("negative").code(), tonic::Code::InvalidArgument);
    }

    #[test]
    fn a_page_ends_at_its_size_or_at_its_bytes_but_is_never_empty() {
        let taken = |size, bytes| {
            let mut page = Filling::new(size);
            (0..10).take_while(|_| page.takes(bytes)).count()
        };
        assert_eq!(taken(3, 10), 3);
        assert_eq!(taken(9, PAGE_BYTES_MAX / 2), 2);
        assert_eq!(taken(9, PAGE_BYTES_MAX * 2), 1);
    }
}
