//! Changesets over large entries and evaluations of long answers: what they can do without.

use host::room::{fit, omission, spare};
use kernel::limits::ANSWER_BYTES_MAX;
use prost::Message as _;
use wire::proposal::v1::{Changeset, Evaluation, ProposedOperation};

/// A text beside an operation.
type Field = (&'static str, fn(&mut ProposedOperation) -> &mut String);

const FIELDS: [Field; 3] = [
    ("current_name", |beside| &mut beside.current_name),
    ("current_content", |beside| &mut beside.current_content),
    ("diff", |beside| &mut beside.diff),
];

/// What is proposed stays whole: its own limits keep it well below an answer's.
pub fn changeset(mut changeset: Changeset) -> Changeset {
    let bytes = changeset.encoded_len();
    let mut sizes = Vec::with_capacity(changeset.operations.len() * FIELDS.len());
    for beside in &mut changeset.operations {
        sizes.extend(FIELDS.map(|(_, field)| field(beside).len()));
    }
    for at in spare(bytes, ANSWER_BYTES_MAX, &sizes) {
        let beside = &mut changeset.operations[at / FIELDS.len()];
        let (name, field) = FIELDS[at % FIELDS.len()];
        field(beside).clear();
        beside.left_out.push(omission(name, sizes[at]));
    }
    changeset
}

pub fn evaluation(mut evaluation: Evaluation) -> Evaluation {
    evaluation.left_out =
        fit(&mut evaluation, ANSWER_BYTES_MAX, &[("rejected", |judged| &mut judged.rejected)]);
    evaluation
}
