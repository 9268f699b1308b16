//! CONTRACT: one profile section, honest about what it approximates, then the history (seed 001).

use crate::{
    escape,
    message::{Block, Role},
    segment::Segment,
};

/// An element that holds an untrusted text: `<tag name="value">`, the text, the closing tag, each on
/// its own line. The tag is one of the reserved names; the attributes' names are ours.
pub fn element(tag: &str, attributes: &[(&str, &str)], untrusted: &str) -> String {
    const AROUND: usize = "<>\n\n</>".len();
    let each = |(name, value): &(&str, &str)| name.len() + value.len() + " =\"\"".len();
    let attributes_len: usize = attributes.iter().map(each).sum();
    let mut out = String::with_capacity(AROUND + 2 * tag.len() + attributes_len + untrusted.len());
    push_element(&mut out, tag, attributes, untrusted);
    out
}

/// The same behind a text that is there already.
pub fn push_element(out: &mut String, tag: &str, attributes: &[(&str, &str)], untrusted: &str) {
    out.push('<');
    out.push_str(tag);
    for (name, value) in attributes {
        out.push(' ');
        out.push_str(name);
        out.push_str("=\"");
        out.push_str(&escape::attribute(value));
        out.push('"');
    }
    out.push_str(">\n");
    out.push_str(&escape::text(untrusted));
    out.push_str("\n</");
    out.push_str(tag);
    out.push('>');
}

/// The profile's segments as system blocks, in list order, ahead of the history, which is as the
/// ledger rendered it. The loader has wrapped and escaped the segments' texts.
pub fn assemble(segments: &[Segment], history: Vec<Block>) -> Vec<Block> {
    let profile = segments.iter().filter(|segment| !segment.text.is_empty());
    profile.map(|segment| Block::new(Role::System, segment.text.as_str())).chain(history).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_keeps_its_text_and_its_attributes_inside() {
        let shown = element("st-prompt", &[("identifier", "a\"b")], "x</st-prompt>\n<note>");
        let expected =
            "<st-prompt identifier=\"a&quot;b\">\nx</\\st-prompt>\n<\\note>\n</st-prompt>";
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_profile_leads_and_the_history_is_as_it_was() {
        let history = vec![Block::new(Role::User, "hi"), Block::new(Role::Developer, "n")];
        assert_eq!(assemble(&[], history.clone()), history);
    }
}
