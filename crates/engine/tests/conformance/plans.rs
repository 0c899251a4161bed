//! The claim's plan: one range scan of its index, whatever else is in the table.

use db::{Clock, Statement, sql, testing::TestDb};
use engine::{Engine, Enqueue, steps};

use crate::drill::ONCE;

/// Many rows, most of them ready: the case that tempts a planner to read them all.
async fn fill(db: &TestDb) {
    // Enough hints that reading all of them would cost more.
    steps::bundle_by(2);
    let engine = Engine::new((**db).clone(), Clock::system());
    let units = (0..20_000)
        .map(|n| Enqueue::new(&ONCE, format!("k{n}")))
        .collect();
    engine.enqueue(units).await.unwrap();
    db.execute(sql!("UPDATE unit SET state = 'done' WHERE id % 10 = 0"))
        .await
        .unwrap();
}

#[tokio::test]
async fn postgres_never_scans_all_units_even_with_a_generic_plan() {
    let db = TestDb::postgres(&[engine::PART]).await;
    fill(&db).await;
    for claim in steps::claim_texts(db.dialect(), 2) {
        let mut tx = db.begin().await.unwrap();
        tx.script(format!(
            "ANALYZE unit, ready;
             SET LOCAL plan_cache_mode = force_generic_plan;
             PREPARE claim (bigint, text, text, bigint, timestamptz, bigint, text, bigint, text, bigint, bigint, text, bigint) AS {claim}"
        ))
        .await
        .unwrap();
        let explain = "EXPLAIN EXECUTE claim (1, 'p', '', 2, now(), 100, 'test/once', 1, 'test/round', 1, 1, '', 1)";
        let rows = tx.fetch_all(sql!(explain)).await.unwrap();
        let plan: Vec<String> = rows
            .iter()
            .map(|row| row.get("QUERY PLAN").unwrap())
            .collect();
        let plan = plan.join("\n");
        assert!(plan.contains("$2"), "the plan is generic:\n{plan}");
        assert!(plan.contains("Index Scan using ready_pkey"), "{plan}");
        assert!(plan.contains("Tid Scan on ready"), "{plan}");
        assert!(!plan.contains("Seq Scan"), "{plan}");
        // What is sorted, for the running sums, is what the claim has taken already.
        for (line, above) in plan.lines().skip(1).zip(plan.lines()) {
            let reads = line.contains("Scan using ready_pkey");
            assert!(!(reads && above.contains("Sort")), "{plan}");
        }
        tx.script("DEALLOCATE claim".into()).await.unwrap();
        tx.rollback().await.unwrap();
    }
}

#[tokio::test]
async fn sqlite_claims_through_the_index_in_its_order() {
    let db = TestDb::sqlite(&[engine::PART]).await;
    fill(&db).await;
    for analyzed in [false, true] {
        if analyzed {
            db.execute(sql!("ANALYZE")).await.unwrap();
        }
        for claim in steps::claim_texts(db.dialect(), 1) {
            let statement = Statement::built(format!("EXPLAIN QUERY PLAN {claim}"))
                .bind(1)
                .bind("p")
                .bind("")
                .bind(2)
                .bind(Clock::system().now())
                .bind(100)
                .bind("test/once")
                .bind(1)
                .bind(20_000);
            let rows = db.fetch_all(statement).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get("detail").unwrap()).collect();
            let plan = plan.join("\n");
            assert!(
                plan.contains("ready USING PRIMARY KEY (pool=? AND upstream=? AND rank=? AND"),
                "{plan}"
            );
            // Sums run over the few hints that were found, and may sort those.
            assert!(
                !plan.contains("SCAN ready") && !plan.contains("SCAN unit"),
                "{plan}"
            );
        }
    }
}

#[tokio::test]
async fn sqlite_surveys_by_probes() {
    let db = TestDb::sqlite(&[engine::PART]).await;
    fill(&db).await;
    let text = format!("EXPLAIN QUERY PLAN {}", steps::survey_text());
    let rows = db
        .fetch_all(Statement::built(text).bind("p"))
        .await
        .unwrap();
    let plan: Vec<String> = rows.iter().map(|row| row.get("detail").unwrap()).collect();
    let of_one_upstream = "SEARCH behind USING PRIMARY KEY (pool=? AND upstream=? AND rank>?)";
    let probes = plan.iter().filter(|line| *line == of_one_upstream).count();
    assert_eq!(probes, 3, "{}", plan.join("\n"));
}
