//! Base64 as card makers write it: with or without padding, url-safe, broken over lines.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// Encodes with padding, the form that every reader accepts.
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes, and says whether anything but strict base64 had to be accepted. Whatever is not a
/// digit is skipped and the first `=` ends the text, as in Node's decoder (reference D).
pub fn decode(text: &[u8]) -> (Vec<u8>, bool) {
    match STANDARD.decode(text) {
        Ok(bytes) => (bytes, false),
        Err(_) => (decode_leniently(text), true),
    }
}

fn decode_leniently(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut buffer, mut bits) = (0_u32, 0);
    for digit in text.iter().take_while(|&&c| c != b'=').filter_map(|&c| digit(c)) {
        buffer = (buffer << 6) | digit;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((buffer >> bits) as u8);
            buffer &= (1 << bits) - 1;
        }
    }
    bytes
}

fn digit(c: u8) -> Option<u32> {
    Some(
        match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        }
        .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, bytes: &[u8], repaired: bool) {
        assert_eq!(decode(text.as_bytes()), (bytes.to_vec(), repaired));
    }

    #[test]
    fn strict_text_needs_no_repair() {
        check("+/8=", b"\xfb\xff", false);
        check("", b"", false);
    }

    #[test]
    fn sloppy_text_decodes_to_the_same() {
        check("+/8", b"\xfb\xff", true);
        check("-_8", b"\xfb\xff", true);
        check("-_\r\n 8=", b"\xfb\xff", true);
        check("\"+/8=\"junk", b"\xfb\xff", true);
    }

    proptest::proptest! {
        #[test]
        fn what_is_encoded_decodes(bytes: Vec<u8>) {
            proptest::prop_assert_eq!(decode(encode(&bytes).as_bytes()), (bytes.clone(), false));
            let unpadded = encode(&bytes).replace('=', "").replace('+', "-").replace('/', "_");
            proptest::prop_assert_eq!(decode(unpadded.as_bytes()).0, bytes);
        }
    }
}
