//! A damaged file is refused with a reason, never with a panic and never with a wrong answer.

use std::{collections::BTreeMap, path::Path};

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use proptest::{prelude::*, test_runner::Config};
use store::{
    datasets::{Dataset, Writer},
    dumps::{DumpRow, ShardReader, ShardWriter},
};

fn sample(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let entries = (0..500_u32).map(|number| {
        let key = format!("name{:03}\0project-{}", number / 2, number % 2);
        let value = format!("{number}:").repeat(number as usize % 40);
        (key.into_bytes(), value.into_bytes())
    });
    let entries: BTreeMap<_, _> = entries.collect();
    let mut writer = Writer::create(path).unwrap();
    for (key, value) in &entries {
        writer.push(key, value).unwrap();
    }
    writer.finish().unwrap();
    entries
}

/// Everything that can be asked of a file; whatever is answered must be true.
fn ask(path: &Path, truth: &BTreeMap<Vec<u8>, Vec<u8>>) -> bool {
    let Ok(dataset) = Dataset::open(path) else {
        return false;
    };
    let mut whole = true;
    for (key, value) in truth {
        match dataset.get(key) {
            Ok(found) => assert_eq!(found.as_ref(), Some(value)),
            Err(_) => whole = false,
        }
    }
    whole &= dataset.verify().is_ok();
    let _ = dataset.prefix(b"name1", None, 100);
    let _ = dataset.names("name", 300);
    let _ = dataset.similar("nume001", 2, 10);
    whole
}

#[test]
fn a_whole_file_answers_all_questions() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("set");
    let truth = sample(&path);
    assert!(ask(&path, &truth));
    let dataset = Dataset::open(&path).unwrap();
    assert_eq!((dataset.len(), dataset.verify().unwrap()), (500, 500));
    assert_eq!(dataset.get(b"name001").unwrap(), None);
    assert_eq!(
        dataset.names("name00", 3),
        ["name000", "name001", "name002"]
    );
    assert_eq!(dataset.names("nome", 3), [""; 0]);
    assert_eq!(dataset.similar("nam042", 1, 9).unwrap(), ["name042"]);
    let both = dataset.prefix(b"name042\0", None, 9).unwrap();
    assert_eq!(both.len(), 2);
    let second = dataset.prefix(b"name042\0", Some(&both[0].0), 9).unwrap();
    assert_eq!(second, both[1..]);

    // The same entries give the same bytes, and an empty file is a file.
    let again = place.path().join("again");
    sample(&again);
    assert!(std::fs::read(&path).unwrap() == std::fs::read(&again).unwrap());
    Writer::create(&again).unwrap().finish().unwrap();
    assert!(Dataset::open(&again).unwrap().is_empty());
    // Keys must come in order.
    let mut writer = Writer::create(&again).unwrap();
    writer.push(b"b", b"").unwrap();
    assert!(writer.push(b"a", b"").is_err());
}

proptest! {
    #![proptest_config(Config { cases: 512, ..Config::default() })]

    #[test]
    fn whatever_changes_in_a_file_is_noticed(
        at in any::<prop::sample::Index>(), byte in 1..=255_u8, cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        thread_local!(static SAMPLE: (tempfile::TempDir, BTreeMap<Vec<u8>, Vec<u8>>, Vec<u8>) = {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("set");
            let truth = sample(&path);
            let bytes = std::fs::read(&path).unwrap();
            (place, truth, bytes)
        });
        SAMPLE.with(|(place, truth, bytes)| {
            let path = place.path().join("damaged");
            let mut bytes = bytes.clone();
            let at = at.index(bytes.len());
            bytes[at] ^= byte;
            if let Some(cut) = cut {
                let cut = cut.index(bytes.len());
                bytes.truncate(cut);
            }
            std::fs::write(&path, &bytes).unwrap();
            assert!(!ask(&path, truth), "byte {at}");
        });
    }
}

#[test]
fn a_shard_that_is_cut_short_or_damaged_is_told() {
    let place = tempfile::tempdir().unwrap();
    let mut writer = ShardWriter::create(place.path()).unwrap();
    let path = writer.json_path.clone();
    let row = |seq: i64| DumpRow {
        seq,
        filename: format!("f{seq}"),
        modules: vec!["a \"quoted\"\nname".to_owned(), "ü".to_owned()],
        ..DumpRow::default()
    };
    for seq in 0..50 {
        writer.push(row(seq)).unwrap();
    }
    let parquet = writer.parquet_path.clone();
    assert_eq!(writer.finish().unwrap().rows, 50);
    let count = |path: &Path| {
        let mut rows = ShardReader::open(path, "shard")?;
        let mut count = 0;
        while let Some(found) = rows.next()? {
            assert_eq!(found, row(count));
            count += 1;
        }
        Ok::<_, store::dumps::DumpError>(count)
    };
    assert_eq!(count(&path).unwrap(), 50);
    let parquet = SerializedFileReader::new(std::fs::File::open(parquet).unwrap()).unwrap();
    let found: Vec<_> = parquet
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(found.len(), 50);
    let fields: BTreeMap<_, _> = found[3]
        .get_column_iter()
        .collect::<Vec<_>>()
        .into_iter()
        .map(|(name, field)| (name.clone(), field.to_string()))
        .collect();
    assert_eq!(
        (fields["filename"].as_str(), fields["seq"].as_str()),
        ("\"f3\"", "3")
    );
    assert_eq!(
        (fields["sha256"].as_str(), fields["extras"].as_str()),
        ("null", "[]")
    );
    assert!(
        fields["modules"].ends_with(", \"ü\"]"),
        "{}",
        fields["modules"]
    );

    // Any parser can read it whole.
    let bytes = std::fs::read(&path).unwrap();
    let mut text = String::new();
    let mut gzip = flate2::read::GzDecoder::new(bytes.as_slice());
    std::io::Read::read_to_string(&mut gzip, &mut text).unwrap();
    let all: Vec<DumpRow> = serde_json::from_str(&text).unwrap();
    assert_eq!(all.len(), 50);

    for keep in [0, 1, 20, bytes.len() / 2, bytes.len() - 9] {
        std::fs::write(&path, &bytes[..keep]).unwrap();
        let error = count(&path).unwrap_err().to_string();
        assert!(error.contains("`shard` is damaged"), "{error}");
    }
}
