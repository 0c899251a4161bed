//! A rolling sample, shown to a second scanner.

use std::collections::BTreeSet;

use facts::license::Findings;
use store::license::{CrossCheck, FileKey};

use super::{Input, Scanned, Scanner};

/// Whether a file is in the sample: by its contents, so that it is in everybody's or in nobody's.
pub(super) fn is_sampled(blob: &str, one_in: u32) -> bool {
    let head = blob
        .get(..8)
        .and_then(|head| u32::from_str_radix(head, 16).ok());
    one_in > 0 && head.is_some_and(|head| head.is_multiple_of(one_in))
}

/// Compares the answers about files with those of a second scanner. One that does not work
/// compares nothing.
pub(super) async fn compare(
    other: &dyn Scanner,
    sample: Vec<(FileKey, Input, Findings)>,
) -> Vec<CrossCheck> {
    let inputs: Vec<Input> = sample.iter().map(|(_, input, _)| input.clone()).collect();
    if inputs.is_empty() {
        return Vec::new();
    }
    let Ok(answers) = other.scan(inputs).await else {
        return Vec::new();
    };
    sample
        .into_iter()
        .zip(answers)
        .filter_map(|((key, input, findings), answer)| {
            let Scanned::Done {
                findings: others, ..
            } = answer
            else {
                return None;
            };
            Some(CrossCheck {
                key,
                path: input.path,
                same_license: operands(&findings) == operands(&others),
                same_holders: holders(&findings) == holders(&others),
                spdx: findings.spdx,
                other_spdx: others.spdx,
            })
        })
        .collect()
}

/// The order of operands is a matter of taste.
fn operands(findings: &Findings) -> BTreeSet<String> {
    let spdx = findings.spdx.as_deref().unwrap_or_default();
    scan::license::expression::identifiers(spdx)
        .into_iter()
        .collect()
}

fn holders(findings: &Findings) -> BTreeSet<String> {
    let names = findings.holders.iter();
    names.map(|one| one.value.to_lowercase()).collect()
}
