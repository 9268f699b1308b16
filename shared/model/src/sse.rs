//! Reads server-sent events out of bytes that arrive in any cut.

use kernel::limits::MODEL_LINE_BYTES_MAX;

use crate::Error;

/// A reader between two pieces of input; what it holds is bounded by the longest line.
#[derive(Debug, Default)]
pub(crate) struct SseReader {
    line: Vec<u8>,
    data: Option<String>,
    /// The last byte was a carriage return, so that a line feed now belongs to it.
    after_return: bool,
}

// === impl SseReader ===

impl SseReader {
    /// Takes the next bytes and gives the events that they complete: each one its `data` lines, joined
    /// by line feeds. (Both providers repeat an event's name inside its data.)
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, Error> {
        let mut events = Vec::new();
        for &byte in bytes {
            let joined = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if joined => {}
                b'\n' | b'\r' => events.extend(self.end_line()?),
                _ if self.line.len() >= MODEL_LINE_BYTES_MAX => {
                    return Err(Error::TooLarge(MODEL_LINE_BYTES_MAX));
                }
                _ => self.line.push(byte),
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Result<Option<String>, Error> {
        let line = String::from_utf8(std::mem::take(&mut self.line))
            .map_err(|_| Error::Malformed("a line of the event stream is not UTF-8".into()))?;
        let line = line.strip_prefix('\u{feff}').unwrap_or(&line);
        if line.is_empty() {
            return Ok(self.data.take());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                None => self.data = Some(value.to_owned()),
                Some(data) if data.len() + value.len() < MODEL_LINE_BYTES_MAX => {
                    data.push('\n');
                    data.push_str(value);
                }
                Some(_) => return Err(Error::TooLarge(MODEL_LINE_BYTES_MAX)),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same events whatever the cut of the input.
    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        for step in 1..=input.len().max(1) {
            let mut reader = SseReader::default();
            let mut found = Vec::new();
            for piece in input.as_bytes().chunks(step) {
                found.extend(reader.push(piece).expect("readable"));
            }
            assert_eq!(found, expected, "cut every {step} bytes");
        }
    }

    #[test]
    fn an_event_ends_at_an_empty_line() {
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
    }

    #[test]
    fn every_line_ending_counts_once() {
        check("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &["a", "b", "c"]);
    }

    #[test]
    fn several_data_lines_are_one_event() {
        check("data: a\ndata: b\n\n", &["a\nb"]);
    }

    #[test]
    fn comments_other_fields_and_a_byte_order_mark_are_passed_over() {
        check("\u{feff}: hello\nevent: x\nid: 1\ndata:a\nretry: 5\n\n", &["a"]);
    }

    #[test]
    fn letters_of_several_bytes_survive_any_cut() {
        check("data: 恐龙é\n\n", &["恐龙é"]);
    }

    #[test]
    fn an_unfinished_event_is_not_given_out() {
        check("data: a\n\ndata: b\n", &["a"]);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let endless = vec![b'x'; MODEL_LINE_BYTES_MAX + 1];
        assert_eq!(SseReader::default().push(&endless), Err(Error::TooLarge(MODEL_LINE_BYTES_MAX)));
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        assert!(matches!(SseReader::default().push(b"data: \xff\n"), Err(Error::Malformed(_))));
    }
}
