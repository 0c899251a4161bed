//! Which dumps there are, and which of them together are everything.
//!
//! Shards are created once and never changed: whoever comes second takes what is there. A dump
//! counts when its `dump.json` is there, which names every shard with its hash.

use serde::{Deserialize, Serialize};

use super::{DumpError, shard::span};
use crate::objects::{Created, Objects};

/// Above all dumps.
pub const DUMPS: &str = "data_dumps/python_distribution_data";
/// The most that a `dump.json` may have.
const MOST_MANIFEST: u64 = 64 << 20;

/// Changes with numbers above `from` and up to `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Range {
    /// Above this.
    pub from: i64,
    /// Up to this.
    pub to: i64,
}

/// One file of a dump.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardFile {
    /// Its name among the objects.
    pub name: String,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

/// A shard, as it is told beside its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Its number.
    pub shard: u32,
    /// How many rows it has.
    pub rows: u64,
    /// The least and the greatest serial of its rows.
    pub serials: Option<(i64, i64)>,
    /// The oldest and the newest extractor of its rows.
    pub extractors: Option<(i64, i64)>,
    /// Rows as JSON.
    pub json: ShardFile,
    /// The same rows as Parquet.
    pub parquet: ShardFile,
}

/// A dump that is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dump {
    /// Of this layout; 1.
    pub format: u32,
    /// Which changes.
    #[serde(flatten)]
    pub range: Range,
    /// How many rows.
    pub rows: u64,
    /// The least and the greatest serial.
    pub serials: Option<(i64, i64)>,
    /// The oldest and the newest extractor.
    pub extractors: Option<(i64, i64)>,
    /// In the order of their numbers.
    pub shards: Vec<Shard>,
}

impl Range {
    /// The directory of its dump.
    pub fn directory(self) -> String {
        format!("{DUMPS}/{}-{}", self.from, self.to)
    }

    /// A file of a shard, by its ending.
    pub fn shard(self, number: u32, ending: &str) -> String {
        let directory = self.directory();
        format!("{directory}/python_distribution_data{number:04}.{ending}")
    }

    /// The file that makes its dump complete.
    pub fn manifest(self) -> String {
        format!("{}/dump.json", self.directory())
    }

    /// The part of a full dump that falls to one shard of many.
    pub fn part(self, shard: u32, shards: u32) -> Self {
        let at = |shard: u32| {
            let width = i128::from(self.to - self.from);
            let part = width * i128::from(shard) / i128::from(shards.max(1));
            self.from + i64::try_from(part).unwrap_or(i64::MAX)
        };
        Self {
            from: at(shard),
            to: at(shard + 1),
        }
    }

    fn parse(name: &str) -> Option<Self> {
        let (from, to) = name.split_once('-')?;
        let range = Self {
            from: from.parse().ok()?,
            to: to.parse().ok()?,
        };
        (range.from >= 0 && range.from < range.to).then_some(range)
    }
}

impl Dump {
    /// Puts shards together.
    pub fn of(range: Range, shards: Vec<Shard>) -> Self {
        let (mut rows, mut serials, mut extractors) = (0, None, None);
        for shard in &shards {
            rows += shard.rows;
            serials = span(serials, shard.serials);
            extractors = span(extractors, shard.extractors);
        }
        Self {
            format: 1,
            range,
            rows,
            serials,
            extractors,
            shards,
        }
    }

    /// Makes the dump count. If another was faster, its word holds: the shards are the same.
    pub async fn publish(&self, objects: &Objects) -> Result<Created, DumpError> {
        let text = serde_json::to_vec_pretty(self).map_err(std::io::Error::from)?;
        Ok(objects.create(&self.range.manifest(), text).await?)
    }

    /// Reads the word of a dump; none if it is not complete.
    pub async fn read(objects: &Objects, range: Range) -> Result<Option<Self>, DumpError> {
        let name = range.manifest();
        let Some(text) = objects.get(&name, MOST_MANIFEST).await? else {
            return Ok(None);
        };
        let dump: Self = serde_json::from_slice(&text).map_err(|error| DumpError::Damaged {
            name: name.clone(),
            why: error.to_string(),
        })?;
        if dump.range != range || dump.format != 1 {
            let why = "it tells of another dump, or is of a newer format".to_owned();
            return Err(DumpError::Damaged { name, why });
        }
        Ok(Some(dump))
    }
}

/// The ranges of all dumps that are complete.
pub async fn ranges(objects: &Objects) -> Result<Vec<Range>, DumpError> {
    let listed = objects.list(DUMPS).await?;
    let complete = listed.iter().filter_map(|object| {
        let rest = object.name.strip_prefix(DUMPS)?.strip_prefix('/')?;
        Range::parse(rest.strip_suffix("/dump.json")?)
    });
    Ok(complete.collect())
}

/// The ranges that together are everything: the newest full dump, and what follows it without a
/// gap or an overlap. Empty if there is no full dump.
pub fn chain(ranges: &[Range]) -> Vec<Range> {
    let mut chain = Vec::new();
    let mut end = 0;
    // Of several that begin at the same number the one that reaches furthest tells all that the
    // others tell.
    while let Some(next) = ranges
        .iter()
        .filter(|range| range.from == end)
        .max_by_key(|range| range.to)
    {
        chain.push(*next);
        end = next.to;
    }
    chain
}

/// Where the next incremental dump begins; none without a full one.
pub fn end(chain: &[Range]) -> Option<i64> {
    chain.last().map(|last| last.to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(pairs: &[(i64, i64)]) -> Vec<Range> {
        pairs.iter().map(|&(from, to)| Range { from, to }).collect()
    }

    #[test]
    fn the_newest_full_dump_and_what_follows_it_are_everything() {
        let all = ranges(&[(0, 10), (10, 14), (14, 20), (0, 16), (16, 19), (19, 25)]);
        assert_eq!(chain(&all), ranges(&[(0, 16), (16, 19), (19, 25)]));
        assert_eq!(chain(&ranges(&[(10, 14)])), []);
        assert_eq!(chain(&ranges(&[(0, 5), (6, 9)])), ranges(&[(0, 5)]));
        assert_eq!(end(&[]), None);
    }

    #[test]
    fn shards_share_a_range_without_gap_or_overlap() {
        for (to, shards) in [(1_000_003, 256), (3, 256), (i64::MAX, 7)] {
            let whole = Range { from: 0, to };
            let mut end = 0;
            for shard in 0..shards {
                let part = whole.part(shard, shards);
                assert_eq!(part.from, end);
                assert!(part.to >= part.from);
                end = part.to;
            }
            assert_eq!(end, to);
        }
    }

    #[test]
    fn only_ranges_are_read_as_ranges() {
        assert_eq!(Range::parse("0-7"), Some(Range { from: 0, to: 7 }));
        for wrong in ["", "7", "7-7", "9-7", "-1-7", "a-b", "0-7-9"] {
            assert_eq!(Range::parse(wrong), None, "{wrong}");
        }
    }
}
