//! Grouping the patches of authors into series.

use db::{Timestamp, Tx};
use engine::RunError;
use scan::mail::{
    series::{PatchMail, Series, group},
    subject,
};
use store::mail::{self, NewSeries, PatchRow, SeriesMember};

/// Tells the series of some authors anew.
pub(super) async fn regroup(tx: &mut Tx, authors: &[String]) -> Result<(), RunError> {
    let mails: Vec<PatchMail> = mail::patches_of(tx, authors)
        .await?
        .into_iter()
        .map(patch_mail)
        .collect();
    let mut series: Vec<NewSeries> = Vec::new();
    for mails in mails.chunk_by(|one, next| one.author == next.author) {
        let found = group(mails);
        let new = found.iter();
        series.extend(new.filter_map(|one| new_series(one, &found, mails)));
    }
    series.sort_by(|a, b| a.key.cmp(&b.key));
    series.dedup_by(|a, b| a.key == b.key);
    Ok(mail::replace_series(tx, authors, &series).await?)
}

fn patch_mail(row: PatchRow) -> PatchMail {
    PatchMail {
        id: row.message_id,
        author: row.author,
        subject: subject::parse(&row.subject),
        date: row
            .sent_at
            .and_then(|at| jiff::Timestamp::from_microsecond(at.as_micros()).ok()),
        ancestors: row.ancestors,
        has_diff: row.has_diff,
    }
}

fn key(series: &Series, mails: &[PatchMail]) -> Option<String> {
    let first = series.members().next()?;
    mails.get(first).map(|mail| mail.id.clone())
}

fn new_series(one: &Series, all: &[Series], mails: &[PatchMail]) -> Option<NewSeries> {
    let key_of = |at: usize| all.get(at).and_then(|series| key(series, mails));
    let id = |at: usize| mails.get(at).map(|mail| mail.id.clone());
    let own = key(one, mails)?;
    let mut members: Vec<SeriesMember> = Vec::new();
    let cover = one.cover.map(|at| (0, at));
    let sent = one.patches.iter().map(|(number, at)| (*number, *at));
    for (number, at) in cover.into_iter().chain(sent) {
        members.push(SeriesMember {
            number: number.into(),
            message_id: id(at)?,
            inherited: false,
        });
    }
    for (number, at) in &one.inherited {
        if !one.patches.contains_key(number) {
            members.push(SeriesMember {
                number: (*number).into(),
                message_id: id(*at)?,
                inherited: true,
            });
        }
    }
    let author = &mails.get(one.members().next()?)?.author;
    Some(NewSeries {
        author: author.clone(),
        title: one.title.clone(),
        version: one.version.into(),
        is_rfc: one.is_rfc,
        is_resend: one.is_resend,
        total: one.total.map(i64::from),
        is_complete: one.is_complete(),
        cover: one.cover.and_then(id),
        sent_at: one
            .date
            .map(|date| Timestamp::from_micros(date.as_microsecond())),
        previous: one.previous.and_then(key_of),
        chain: key_of(one.chain).unwrap_or_else(|| own.clone()),
        key: own,
        members,
    })
}
