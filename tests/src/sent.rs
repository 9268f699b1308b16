//! A request as it was sent: its record and its blocks, each whole.

use wire::ledger::v1::{BlockPart, ReplayState, RequestRecord, get_request_response::Part};

/// What GetRequest answers, parts joined.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Sent {
    pub record: RequestRecord,
    pub blocks: Vec<BlockPart>,
}

// === impl Sent ===

impl Sent {
    pub fn push(&mut self, part: Option<Part>) {
        match part {
            Some(Part::Record(record)) => self.record = record,
            Some(Part::Block(part)) => {
                match self.blocks.last_mut().filter(|last| last.index == part.index) {
                    Some(last) => {
                        assert!(last.more, "a block that goes on says so");
                        last.text.push_str(&part.text);
                        last.origins.extend(part.origins);
                        last.more = part.more;
                    }
                    None => self.blocks.push(part),
                }
            }
            None => {}
        }
    }

    /// Role and text of each block.
    pub fn messages(&self) -> Vec<(&str, &str)> {
        self.blocks.iter().map(|block| (block.role.as_str(), block.text.as_str())).collect()
    }

    /// Everything that the model read.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.blocks.iter().map(|block| block.text.as_str()).collect();
        texts.join("\n")
    }

    pub fn contains(&self, text: &str) -> bool {
        self.blocks.iter().any(|block| block.text.contains(text))
    }

    /// Whether these are the very bytes that were sent.
    pub fn is_exact(&self) -> bool {
        self.record.replay() == ReplayState::Exact
    }

    /// Whether this request begins with all of an earlier one.
    pub fn extends(&self, earlier: &Self) -> bool {
        self.messages().starts_with(&earlier.messages())
    }
}
