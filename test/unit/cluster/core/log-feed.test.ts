// Goal: the completion of a group's end runs once, when the end is durable, regardless of other appends (C4, C17).
// Method: appends that the test completes one by one.
import { expect, it } from 'vitest';
import { toGroupId, toLogIndex, toRevision, toTerm } from '#base';
import { type BatchId, type LogWriter, NO_CHECKPOINT } from '#storage';
import { LogFeed } from '../../../../src/cluster/core/log-feed.ts';

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
