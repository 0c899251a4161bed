//! Patch series as people really send them.

use scan::mail::series::{self, PatchMail, Series};
use scan::mail::subject;

/// A mail of one author: id, subject, minute it was sent, ids it answers (nearest first).
fn mail(id: &str, title: &str, minute: i64, ancestors: &[&str]) -> PatchMail {
    PatchMail {
        id: id.to_owned(),
        author: "a@example.org".to_owned(),
        subject: subject::parse(title),
        date: jiff::Timestamp::from_second(minute * 60).ok(),
        ancestors: ancestors.iter().map(|id| (*id).to_owned()).collect(),
        has_diff: !title.contains(" 0/"),
    }
}

/// Cover letters and patches of each series, the same in both orders of arrival.
fn shape(mails: &[PatchMail]) -> Vec<(usize, usize)> {
    let shape = |mails: &[PatchMail]| -> Vec<(usize, usize)> {
        let count = |one: &Series| (usize::from(one.cover.is_some()), one.patches.len());
        series::group(mails).iter().map(count).collect()
    };
    let mut reversed = mails.to_vec();
    reversed.reverse();
    assert_eq!(shape(mails), shape(&reversed));
    shape(mails)
}

#[test]
fn deep_threads_and_extra_patches() {
    let mut mails = vec![
        mail("0", "[PATCH 0/2] both", 0, &[]),
        mail("1", "[PATCH 1/2] one", 0, &["0"]),
        mail("2", "[PATCH 2/2] two", 1, &["1", "0"]),
    ];
    assert_eq!(shape(&mails), [(1, 2)]);
    mails.push(mail("3", "[PATCH 3/n] one more", 90, &["0"]));
    assert_eq!(shape(&mails), [(1, 3)]);
    assert!(series::group(&mails)[0].is_complete());
}

#[test]
fn a_missing_cover_letter_still_joins_its_patches() {
    let mails = [
        mail("1", "[PATCH 1/3] one", 0, &["lost"]),
        mail("2", "[PATCH 2/3] two", 30, &["lost"]),
        mail("3", "[PATCH 3/3] three", 60, &["lost"]),
    ];
    assert_eq!(shape(&mails), [(0, 3)]);
}

#[test]
fn the_same_number_again_is_another_attempt() {
    let spam = [
        mail("a", "[PATCH v2 1/4] x", 0, &[]),
        mail("b", "[PATCH v2 1/4] x", 0, &[]),
        mail("c", "[PATCH v2 1/4] x", 1, &[]),
    ];
    assert_eq!(shape(&spam), [(0, 1), (0, 1), (0, 1)]);
    let unlabelled = [
        mail("1", "[PATCH 1/2] one", 0, &[]),
        mail("2", "[PATCH 2/2] two", 0, &["1"]),
        mail("3", "[PATCH 1/2] one", 300, &["1"]),
        mail("4", "[PATCH 2/2] two", 300, &["3", "1"]),
    ];
    assert_eq!(shape(&unlabelled), [(0, 2), (0, 2)]);
    let found = series::group(&unlabelled);
    assert_eq!(found[1].previous, Some(0));
}

#[test]
fn versions_are_chained_by_answer_or_by_title() {
    let mails = [
        mail("a0", "[RFC PATCH 0/1] grand plan", 0, &[]),
        mail("a1", "[RFC PATCH 1/1] step", 0, &["a0"]),
        mail("b0", "[PATCH v2 0/1] grand plan", 1000, &[]),
        mail("b1", "[PATCH v2 1/1] step", 1000, &["b0"]),
        mail("c0", "[PATCH v3 0/1] a better name", 2000, &["b0"]),
        mail("c1", "[PATCH v3 1/1] another step", 2000, &["c0", "b0"]),
        mail("d0", "[PATCH v3 RESEND 0/1] a better name", 3000, &[]),
        mail("x", "[PATCH] unrelated", 4000, &[]),
    ];
    let found = series::group(&mails);
    let chains: Vec<(u32, Option<usize>, usize)> = found
        .iter()
        .map(|one| (one.version, one.previous, one.chain))
        .collect();
    assert!(found[0].is_rfc && found[3].is_resend);
    assert_eq!(
        chains[..4],
        [
            (1, None, 0),
            (2, Some(0), 0),
            (3, Some(1), 0),
            (3, Some(2), 0)
        ]
    );
    assert_eq!(found[4].previous, None);
}

#[test]
fn authors_and_answers_do_not_mix() {
    let mut other = mail("2", "[PATCH 2/2] two", 0, &["1"]);
    other.author = "b@example.org".to_owned();
    let mails = [
        mail("1", "[PATCH 1/2] one", 0, &[]),
        other,
        mail("r", "Re: [PATCH 1/2] one", 1, &["1"]),
        mail("f", "Fwd: [PATCH 2/2] two", 1, &["1"]),
    ];
    assert_eq!(shape(&mails), [(0, 1), (0, 1)]);
}
