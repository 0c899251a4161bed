//! `gleaner mail project`: ties old mail to what is known by now.

use ::db::transact;
use clap::Args;
use collect::mail as round;
use engine::EnqueueError;
use store::mail;

use crate::{
    error::{Exit, Result},
    session::Session,
};

/// Tie mail to the issues, repositories and people that are known by now
///
/// With `--again` all mail is read anew from its kept bytes: under changed rules, or after a change
/// of `mirror_handling`. The work is done by a running `gleaner serve` or `gleaner work`.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail project
  gleaner mail project --again")]
pub(crate) struct ProjectArgs {
    /// Read all mail again, without fetching it
    #[arg(long)]
    again: bool,
}

/// Give issues of forges the keys that stand in brackets in their titles
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  gleaner mail backfill-keys
  gleaner mail backfill-keys --database sqlite:gleaner.db")]
pub(crate) struct BackfillArgs {}

pub(super) async fn backfill(session: &Session, _args: &BackfillArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let given: Result<u64, ::db::DbError> =
        transact!(engine.db(), |tx| mail::backfill_keys(tx).await);
    let note = format!("{} issues have got a key", given?);
    session.printer.note(&note);
    Ok(Exit::Ok)
}

pub(super) async fn run(session: &Session, args: &ProjectArgs) -> Result<Exit> {
    let engine = session.engine().await?;
    let (again, now) = (args.again, engine.clock().now());
    let enqueued: Result<u64, EnqueueError> = transact!(engine.db(), |tx| {
        let mut count = 0;
        let mut units = vec![round::project_unit().now()];
        if again {
            count = mail::read_again(tx).await?;
            let lists = mail::staged_lists(tx).await?;
            units.extend(
                lists
                    .into_iter()
                    .map(|list| round::resolve_unit(list).now()),
            );
        }
        engine::enqueue_in(tx, &units, now).await?;
        Ok(count)
    });
    let count = enqueued?;
    let note = if args.again {
        format!("{count} mails will be read again, and tied to what is known by now")
    } else {
        "mail will be tied to what is known by now".to_owned()
    };
    session.printer.note(&note);
    Ok(Exit::Ok)
}
