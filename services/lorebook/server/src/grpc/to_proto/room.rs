//! Rows and verdicts larger than an answer: what they can do without.

use host::room::{Field, fit, omission, spare};
use kernel::limits::ANSWER_BYTES_MAX;
use prost::Message as _;
use wire::{lorebook::v1::RowChange, mesh::v1::OperationVerdict};

/// What surrounds a change's rows: its summary and labels.
const HEAD_BYTES: usize = 64 * 1024;

/// Of two rows of one size the earlier one stays: the later one stands in the world.
pub fn row(mut row: RowChange) -> RowChange {
    const FIELDS: [Field<RowChange>; 4] = [
        ("content_diff", |row| &mut row.content_diff),
        ("fields", |row| &mut row.fields),
        ("after", |row| &mut row.after),
        ("before", |row| &mut row.before),
    ];
    row.left_out = fit(&mut row, ANSWER_BYTES_MAX - HEAD_BYTES, &FIELDS);
    row
}

pub fn verdicts(mut verdicts: Vec<OperationVerdict>) -> Vec<OperationVerdict> {
    let bytes = verdicts.iter().map(|verdict| verdict.encoded_len()).sum();
    let sizes: Vec<usize> = verdicts
        .iter()
        .flat_map(|verdict| [verdict.current_name.len(), verdict.current_content.len()])
        .collect();
    for at in spare(bytes, ANSWER_BYTES_MAX - HEAD_BYTES, &sizes) {
        let verdict = &mut verdicts[at / 2];
        let (name, text) = match at % 2 {
            0 => ("current_name", &mut verdict.current_name),
            _ => ("current_content", &mut verdict.current_content),
        };
        text.clear();
        verdict.left_out.push(omission(name, sizes[at]));
    }
    verdicts
}
