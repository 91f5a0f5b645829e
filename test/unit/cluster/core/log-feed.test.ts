// Goal: the completion of a group's end runs once, when the end is durable, regardless of other appends (C4, C17). A
// group whose rows cannot be used does not keep the log. Method: appends that the test completes one by one; the log of
// a node on a disk in memory.
import { describe, expect, it } from 'vitest';
import { toGroupId, toLogIndex, toRevision, toTerm } from '#base';
import { type BatchId, DirectLog, type LogWriter, NO_CHECKPOINT, type RecoveredGroup } from '#storage';
import { LogFeed } from '../../../../src/cluster/core/log-feed.ts';
import { MemoryDisk } from '../../../support/memory-disk.ts';
import { entryOf, GROUP, IDENTITY, SEGMENT_BYTES, segments, TERM } from '../../../support/small-log.ts';

const MARK = { ...NO_CHECKPOINT, index: toLogIndex(7), term: toTerm(2), revision: toRevision(6) };

class Stage {
  readonly told: string[] = [];
  #batch: BatchId = 0;
  readonly #feed = new LogFeed(
    { append: () => (this.#batch += 1) } as unknown as LogWriter,
    () => 1,
    () => 0,
  );

  append(): BatchId {
    this.#feed.checkpoint(toGroupId(1), MARK);
    return this.#flush();
  }

  end(group: number): BatchId {
    this.#feed.tombstone(toGroupId(group), () => this.told.push(`${group} has ended`));
    return this.#flush();
  }

  persisted(through: BatchId): void {
    this.#feed.persisted(through, () => undefined);
  }

  #flush(): BatchId {
    this.#feed.flush();
    return this.#batch;
  }
}

it('the end of a group is reported when it is durable, not when an earlier append is', () => {
  const stage = new Stage();
  const earlier = stage.append();
  const end = stage.end(3);
  stage.persisted(earlier);
  expect(stage.told).toEqual([]);
  stage.persisted(end);
  expect(stage.told).toEqual(['3 has ended']);
});

it('the end of a group is reported once, with any number of appends in progress', () => {
  const stage = new Stage();
  stage.append();
  stage.append();
  stage.end(3);
  stage.end(4);
  stage.persisted(stage.append());
  expect(stage.told).toEqual(['3 has ended', '4 has ended']);
});

describe('the log of a database that is not open', () => {
  const OTHER = toGroupId(8);
  const LIMIT = SEGMENT_BYTES / 4;

  interface Opened {
    readonly disk: MemoryDisk;
    readonly feed: LogFeed;
    readonly found: RecoveredGroup | undefined;
    readonly flush: () => void;
  }

  function opened(disk: MemoryDisk): Opened {
    let flush: () => void = () => undefined;
    const options = { identity: IDENTITY, segmentBytes: SEGMENT_BYTES, disk };
    const { log, recovered } = DirectLog.open('wal', options, { schedule: (work) => void (flush = work) });
    const feed = new LogFeed(
      log,
      () => 1,
      () => 0,
    );
    return { disk, feed, found: recovered.groups.get(GROUP), flush: () => flush() };
  }

  /** Another group fills several segments, and has applied everything. */
  function fill({ feed, flush }: Opened): void {
    const hardState = { term: TERM, vote: 1 };
    for (let index = 0; index < 100; index += 10) {
      const entries = Array.from({ length: 10 }, (_, place) => entryOf(index + place + 1, 1, 600));
      const checkpoint = { ...NO_CHECKPOINT, index: toLogIndex(index), term: TERM, revision: toRevision(index) };
      feed.found({ group: OTHER, hardState, checkpoint, entries });
      feed.flush();
      flush();
    }
    feed.checkpoint(OTHER, { ...NO_CHECKPOINT, index: toLogIndex(100), term: TERM, revision: toRevision(100) });
    feed.flush();
    flush();
  }

  /** A log in whose first segment the group has entries after its checkpoint. */
  function withEntries(count: number): Opened {
    const first = opened(new MemoryDisk());
    const entries = Array.from({ length: count }, (_, place) => entryOf(place + 1, 1, 600));
    first.feed.found({ group: GROUP, hardState: { term: TERM, vote: 3 }, checkpoint: NO_CHECKPOINT, entries });
    first.feed.flush();
    first.flush();
    const next = opened(first.disk);
    fill(next);
    return next;
  }

  it('is written again, so that older segments are removed', () => {
    const { disk, feed, found, flush } = withEntries(5);
    expect(segments(disk)[0]).toBe(1);
    if (found !== undefined) feed.carry(found, LIMIT);
    flush();
    expect(segments(disk)[0]).toBeGreaterThan(2);
    expect(opened(disk).found).toEqual(found);
    expect(found?.entries).toHaveLength(5);
  });

  it('stays where it is when it does not fit into a batch', () => {
    const { disk, feed, found, flush } = withEntries(10);
    if (found !== undefined) feed.carry(found, LIMIT);
    flush();
    expect(segments(disk)[0]).toBe(1);
    expect(opened(disk).found).toEqual(found);
  });
});
