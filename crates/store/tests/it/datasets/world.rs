//! A small index whose files change, in a database and in a model of it.

use std::collections::BTreeMap;

use db::{Db, DbError, Timestamp, sql, testing::TestDb, transact};
use store::{
    datasets::{Builder, Workshop},
    dumps::{self, Dump, DumpError, DumpRow, Range},
    objects::Objects,
    pypi,
};

pub(crate) struct World {
    pub(crate) db: Db,
    pub(crate) objects: Objects,
    pub(crate) place: tempfile::TempDir,
    /// What the numbered rows of the database say.
    pub(crate) model: BTreeMap<(String, String), DumpRow>,
}

impl World {
    pub(crate) fn new(test: &TestDb) -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("scratch")).unwrap();
        Self {
            db: (**test).clone(),
            objects: Objects::directory(place.path().join("objects")).unwrap(),
            place,
            model: BTreeMap::new(),
        }
    }

    pub(crate) fn shop(&self) -> Workshop {
        let mut shop = Workshop::new(self.place.path().join("scratch"));
        // So that sorting has to set aside.
        shop.memory = 20_000;
        shop
    }

    /// Writes a file as it is now and numbers the change.
    pub(crate) async fn set(&mut self, row: DumpRow) {
        let now = Timestamp::from_micros(1_700_000_000_000_000);
        let json = |texts: &[String]| serde_json::to_string(texts).unwrap();
        let (row_in, kind) = (&row, row.dist_type.clone());
        let written: Result<(), DbError> = transact!(self.db, |tx| {
            tx.execute(sql!(
                "INSERT INTO pypi_files (unnumbered, project, version, filename, kind, url, size,
                    sha256, requires_python, yanked, removed, quarantined, serial, extracted,
                    extractor_version, requires_dist, extras, import_names, modules, tags, warnings,
                    first_seen, changed_at)
                 VALUES (TRUE, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
                    $16, $17, $18, $19, '[]', $20, $20)
                 ON CONFLICT (project, filename) DO UPDATE SET unnumbered = TRUE,
                    version = excluded.version, yanked = excluded.yanked,
                    removed = excluded.removed, quarantined = excluded.quarantined,
                    extractor_version = excluded.extractor_version,
                    extracted = excluded.extracted,
                    requires_dist = excluded.requires_dist, modules = excluded.modules,
                    import_names = excluded.import_names",
                row_in.project.as_str(),
                row_in.version.as_str(),
                row_in.filename.as_str(),
                kind.as_str(),
                row_in.url.as_str(),
                row_in.size,
                row_in.sha256.clone(),
                row_in.requires_python.clone(),
                row_in.yanked.clone(),
                row_in.removed,
                row_in.quarantined,
                row_in.serial,
                row_in.extracted.as_str(),
                row_in.extractor,
                json(&row_in.requires_dist),
                json(&row_in.extras),
                json(&row_in.import_names),
                json(&row_in.modules),
                json(&row_in.tags),
                now
            ))
            .await?;
            pypi::number(tx, 100).await?;
            Ok(())
        });
        written.unwrap();
        let seq = pypi::last_seq(&self.db).await.unwrap();
        let key = (row.project.clone(), row.filename.clone());
        self.model.insert(key, DumpRow { seq, ..row });
    }

    pub(crate) async fn full_dump(
        &self,
        objects: &Objects,
        shards: u32,
    ) -> Result<Dump, DumpError> {
        let to = pypi::last_seq(&self.db).await?;
        self.finish_full_dump(objects, Range { from: 0, to }, shards)
            .await
    }

    pub(crate) async fn finish_full_dump(
        &self,
        objects: &Objects,
        range: Range,
        shards: u32,
    ) -> Result<Dump, DumpError> {
        let scratch = self.place.path().join("scratch");
        let shards = dumps::plan(objects, range, shards).await?;
        let mut all = Vec::new();
        for number in 0..shards {
            let shard = dumps::shard(&self.db, objects, range, number, shards, &scratch);
            all.push(shard.await?);
        }
        dumps::complete(&self.db, objects, range, all, &scratch).await
    }

    pub(crate) async fn incremental(&self, objects: &Objects) -> Result<Option<Dump>, DumpError> {
        let scratch = self.place.path().join("scratch");
        dumps::incremental(&self.db, objects, &scratch).await
    }

    /// The hashes of the three files, built from the model without any dump.
    pub(crate) fn expected(&self) -> BTreeMap<String, String> {
        let place = tempfile::tempdir().unwrap();
        let mut builder = Builder::new(place.path(), 1 << 20);
        for row in self.model.values() {
            builder.push(row.clone()).unwrap();
        }
        let built = builder.finish(None).unwrap();
        let files = built.files().into_iter();
        files
            .map(|(name, written)| (name.to_owned(), written.sha256.clone()))
            .collect()
    }
}

pub(crate) fn file(project: &str, version: &str, modules: &[&str], requires: &[&str]) -> DumpRow {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let filename = format!("{project}-{version}-py3-none-any.whl");
    DumpRow {
        url: format!("https://files.example.org/{filename}"),
        filename,
        project: project.to_owned(),
        version: version.to_owned(),
        dist_type: "wheel".to_owned(),
        sha256: Some("ab".repeat(32)),
        requires_dist: texts(requires),
        modules: texts(modules),
        import_names: texts(&modules[..modules.len().min(1)]),
        tags: vec!["py3-none-any".to_owned()],
        size: Some(1234),
        serial: Some(7),
        extracted: "ok".to_owned(),
        extractor: Some(1),
        ..DumpRow::default()
    }
}
