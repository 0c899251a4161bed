//! The second pass over what has not changed, half a year later.

use db::testing::both;
use sim::File;

use crate::whole_round::{CADENCE, DAY, PARTS, Round, of_size, package_json};

const GITHUB: &str = "github.com";

both! {
    const PARTS: &[db::Part] = PARTS;

    async fn what_was_kept_outlasts_the_cadence(db: TestDb) {
        let mut round = Round::new(&db, of_size(60)).await;
        let still = round.watch(GITHUB, vec![package_json("", "clover")]).await;
        let busy = round.watch(GITHUB, vec![package_json("", "daisy")]).await;
        round.run().await;
        round.hand.advance(CADENCE + 20 * DAY);
        // A process that begins anew tidies up with the first answer that it keeps.
        round.restarts();
        let more = vec![package_json("", "daisy"), File::new("README.md", "more")];
        round.server.world().plant(GITHUB, &busy.path, more).unwrap();
        round.ask_again(&[&busy]).await;
        round.server.journal().clear();
        round.ask_again(&[&still]).await;
        round.all_is_told(&[&still]).await;
        let asked = round.server.journal().requests(GITHUB);
        let about = |part: &str| -> Vec<Option<u16>> {
            let ours = asked.iter().filter(|one| one.path.contains(part));
            ours.map(|one| one.status).collect()
        };
        assert_eq!(about("/git/trees/"), [Some(304)], "{asked:?}");
        assert_eq!(about("/releases"), [Some(304)], "{asked:?}");
        assert!(about("/git/blobs/").is_empty() && about("graphql").is_empty(), "{asked:?}");
    }
}
