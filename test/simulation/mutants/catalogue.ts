/**
 * Small ways to break the node, each of which the simulation must notice. As data: which file, which text of it (exactly
 * once), what instead, and what that breaks. `anchor` names a real bug of the same kind elsewhere.
 */

export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Mutant extends Edit {
  readonly name: string;
  readonly breaks: string;
  /** What has to be broken as well, because either of two places keeps the promise. */
  readonly and?: Edit;
  readonly anchor?: string;
  /** How many nodes it takes; one when it is not said. */
  readonly nodes?: number;
  /** Whether traps do better than the faults of the seeds. */
  readonly aimed?: boolean;
  /** Seeds that have the rare faults that it takes; they are tried first. */
  readonly first?: readonly number[];
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'append-without-sync',
    file: 'src/storage/wal.ts',
    find: '      file.write(batch.bytes, this.#end.offset);\n      file.sync();',
    replace: '      file.write(batch.bytes, this.#end.offset);',
    breaks: 'a batch is reported as durable before it is',
    anchor: 'NATS #7564',
  },
  {
    name: 'persisted-before-append',
    file: 'src/storage/group-commit.ts',
    find: '    const { bytes } = this.#wal.append(messages);\n    onPersisted(through, { bytes, elapsedMs: this.#monotonicMs() - startedMs });',
    replace:
      '    onPersisted(through, { bytes: 0, elapsedMs: this.#monotonicMs() - startedMs });\n    this.#wal.append(messages);',
    breaks: 'what is queued is reported as durable before it is written',
    anchor: 'etcd #14370',
  },
  {
    name: 'failed-sync-swallowed',
    file: 'src/storage/wal.ts',
    find: '      file.write(batch.bytes, this.#end.offset);\n      file.sync();',
    replace:
      '      file.write(batch.bytes, this.#end.offset);\n      try {\n        file.sync();\n      } catch {\n        file.sync();\n      }',
    breaks: 'a failed sync is tried again, and the second one lies',
    anchor: 'fsyncgate',
  },
  {
    name: 'last-batch-not-written-again',
    file: 'src/storage/wal-recovery.ts',
    find: '    if (isLast) settle(file, bytes, { lastFrom, end: last.offset });',
    replace: '    if (isLast) void settle;',
    breaks: 'what a log reports when it is opened may be on no disk',
  },
  {
    name: 'segment-named-before-sync',
    file: 'src/storage/wal-segment.ts',
    find: '    file.write(summary.bytes, SECTOR_BYTES);\n    file.sync();',
    replace: '    file.write(summary.bytes, SECTOR_BYTES);',
    breaks: 'a segment has its name before its header is on disk',
  },
  {
    name: 'segment-name-not-synced',
    file: 'src/storage/wal-segment.ts',
    find: '    disk.rename(file.path, path);\n    disk.syncDirectory(directory);',
    replace: '    disk.rename(file.path, path);',
    breaks: 'a whole segment is lost with its name',
  },
  {
    name: 'guard-not-checked',
    file: 'src/storage/wal-scanner.ts',
    find: '  if (context.isLast && last.seq < context.syncedThrough) {',
    replace: '  if (context.isLast && last.seq < context.syncedThrough && last.seq < 0) {',
    breaks: 'a log that lost acknowledged batches whole passes for a shorter one',
    first: [184, 464, 489, 589, 724],
  },
  {
    name: 'record-checksum-ignored',
    file: 'src/storage/wal-scanner.ts',
    find: '  return view.getUint32(at + RECORD_OFFSET.crc, true) === checksum(bytes, at + RECORD_OFFSET.chain, end);',
    replace:
      '  return view.getUint32(at + RECORD_OFFSET.crc, true) === checksum(bytes, at + RECORD_OFFSET.chain, end) || true;',
    breaks: 'a flipped bit in an entry is taken for what was written',
    anchor: 'NATS #7549',
    first: [111, 406, 410, 644, 748, 875],
  },
  {
    name: 'damage-taken-for-torn',
    file: 'src/storage/wal-scanner.ts',
    find: "  if (proof === undefined) return { kind: 'torn', offset: last.offset, found: damage.found };",
    replace: "  if (proof !== 'never') return { kind: 'torn', offset: last.offset, found: damage.found };",
    breaks: 'the log is cut off at the first damage, acknowledged or not',
    anchor: 'NATS #7549',
  },
  {
    name: 'checkpoint-without-file-sync',
    file: 'src/cluster/checkpoint.ts',
    find: '    await this.#ports.syncStore();',
    replace: '    await Promise.resolve();',
    breaks: 'the log forgets what the store does not hold',
  },
  {
    name: 'checkpoint-marks-taken-late',
    file: 'src/cluster/checkpoint.ts',
    find: '      if (group.isOpen && mark.index > group.logStart) this.#ports.record(group, mark);',
    replace: '      if (group.isOpen && mark.index > group.logStart) this.#ports.record(group, group.written);',
    breaks: 'a checkpoint claims rows that were written after its sync began',
  },
  {
    name: 'holes-not-verified',
    file: 'src/cluster/recovery.ts',
    find: '  const isWhole = applied.index === checkpoint.index || (await machines.verify(kv, group, checkpoint));',
    replace: '  const isWhole = applied.index >= checkpoint.index || (await machines.verify(kv, group, checkpoint));',
    breaks: 'rows that a power failure lost are taken for applied',
  },
  {
    name: 'rebuild-not-synced',
    file: 'src/cluster/recovery.ts',
    find: '  await machines.rebuild(new SyncedStore(kv, syncStore), group, checkpoint);',
    replace: '  await machines.rebuild(new SyncedStore(kv, () => Promise.resolve()), group, checkpoint);',
    breaks: 'a second power failure finds half of a rebuilt database',
  },
  {
    name: 'idempotence-forgotten',
    file: 'src/database/database-machine.ts',
    find: "    if (recorded !== undefined) return { kind: 'replayed', revision: toRevision(recorded) };",
    replace:
      "    if (recorded !== undefined && recorded < 0) return { kind: 'replayed', revision: toRevision(recorded) };",
    breaks: 'a transaction that is sent twice happens twice',
  },
  {
    name: 'idempotence-only-in-memory',
    file: 'src/database/database-machine.ts',
    find: '    const recorded = this.#writer.recordedRevision(body);',
    replace:
      '    const written = this.#writer.recordedRevision(body);\n    const recorded = written !== undefined && written > this.revision - 3 ? written : undefined;',
    breaks: 'a repeat that comes late happens twice',
  },
  {
    name: 'constraints-not-decided',
    file: 'src/database/database-machine.ts',
    find: '    if (violations.length > 0) return',
    replace: '    if (violations.length > 2) return',
    breaks: 'transactions are committed against their constraints',
  },
  {
    name: 'own-revision-in-l',
    file: 'src/database/database-machine.ts',
    find: '      let least = constraint.selector === undefined ? this.revision : 0;',
    replace: '      let least = constraint.selector === undefined ? this.revision + 1 : 0;',
    breaks: 'L of the whole database is wrong by one',
  },
  {
    name: 'first-alternative-only',
    file: 'src/database/database-machine.ts',
    find: '        least = Math.max(least, found);',
    replace: '        least = least === 0 ? found : least;',
    breaks: 'L of an Or is that of its first arm',
  },
  {
    name: 'prefix-looked-up-too-early',
    file: 'src/cluster/apply-loop.ts',
    find: '    for (const blocked of heldUp) this.#ports.keep(this.#answer(blocked));\n    this.#ports.written(',
    replace:
      '    const early = this.#blocked;\n    this.#blocked = [];\n    for (const blocked of [...heldUp, ...early]) this.#ports.keep(this.#answer(blocked));\n    this.#ports.written(',
    breaks: 'a constraint by prefix is decided over rows that lack what was applied last',
  },
  {
    name: 'catalog-not-synced',
    file: 'src/cluster/apply-loop.ts',
    find: '    await this.#ports.kv.write(turn.batch, { sync });',
    replace: '    await this.#ports.kv.write(turn.batch, { sync: sync && turn.entryCount < 0 });',
    breaks: 'a power failure takes databases back that were acknowledged',
  },
  {
    name: 'applied-before-written',
    file: 'src/cluster/apply-loop.ts',
    find: '    await this.#ports.kv.write(turn.batch, { sync });\n    this.#isWriting = false;',
    replace:
      '    this.#ports.kv.write(turn.batch, { sync }).catch(() => undefined);\n    await Promise.resolve();\n    this.#isWriting = false;',
    breaks: 'rows are said to be there that are still on their way',
  },
  {
    name: 'replayed-entries-skipped-by-one',
    file: 'src/cluster/group-lifecycle.ts',
    find: '    entries: entries.filter((entry) => entry.index > applied.index),',
    replace: '    entries: entries.filter((entry) => entry.index >= applied.index),',
    breaks: 'an entry is applied twice after a recovery',
    anchor: 'etcd #13766',
  },
  {
    name: 'handed-out-before-durable',
    file: 'src/raft/log.ts',
    find: '  return index <= log.persisted ? log : { ...log, persisted: index };',
    replace: '  return index <= log.persisted ? log : { ...log, persisted: lastId(log).index };',
    breaks: 'a completion counts for entries that were appended after its write',
    anchor: 'openraft #1960',
  },
  {
    name: 'completion-of-another-batch',
    file: 'src/cluster/log-feed.ts',
    find: 'next !== undefined && next.batch <= through;',
    replace: 'next !== undefined && next.batch <= through + 1;',
    breaks: 'a sync acknowledges the batch after it',
    anchor: 'etcd #14370',
  },
  {
    name: 'latest-without-barrier',
    file: 'src/cluster/read-barrier.ts',
    find: '    if (group.written.index >= index) this.#answer(group, tokens);',
    replace: '    if (group.written.index >= 0 || group.written.index >= index) this.#answer(group, tokens);',
    breaks: 'a latest read is answered before what is committed can be read',
    anchor: 'etcd #20418',
  },
  {
    name: 'recorded-time-of-the-clock',
    file: 'src/cluster/proposals.ts',
    find: '      const recordedTimeMs = group.nextRecordedTime(nowMs);',
    replace: '      group.nextRecordedTime(nowMs);\n      const recordedTimeMs = nowMs;',
    and: {
      file: 'src/database/database-writer.ts',
      find: '    const recordedTimeMs = Math.max(body.recordedTimeMs, this.#recordedTimeMs);',
      replace: '    const { recordedTimeMs } = body;',
    },
    breaks: 'recorded time goes back when the clock does',
  },
  {
    name: 'foreign-delete',
    file: 'src/database/catalog-machine.ts',
    find: '    const isWanted = entry.databaseId === undefined || entry.databaseId === binding?.databaseId;',
    replace: '    const isWanted = true;',
    breaks: 'a delete by the id of an old instance deletes the new one',
  },
  {
    name: 'create-over-existing',
    file: 'src/database/catalog-machine.ts',
    find: "    if (taken !== undefined) return { kind: 'exists', binding: taken };",
    replace:
      "    if (taken !== undefined && entry.createdAtMs < taken.createdAtMs) return { kind: 'exists', binding: taken };",
    breaks: 'a second create takes the name away from the first',
  },
  {
    name: 'group-used-again',
    file: 'src/database/catalog-machine.ts',
    find: '    this.#applied = { ...this.#applied, nextGroup: toGroupId(group + 1) };',
    replace: '    if (this.list().length > 0) this.#applied = { ...this.#applied, nextGroup: toGroupId(group + 1) };',
    breaks: 'a new database gets the group of a deleted one',
  },
  {
    name: 'orphan-not-ended',
    file: 'src/cluster/group-lifecycle.ts',
    find: '    group.close();',
    replace: '    void group.close;',
    breaks: 'a deleted database goes on taking and answering',
  },
  {
    name: 'drain-drops',
    file: 'src/cluster/core-runtime.ts',
    find: '    await this.#turns.until(() => this.#isIdle());\n    const handOverMs',
    replace: '    const handOverMs',
    breaks: 'a draining node leaves what it took in without an answer',
  },
  {
    name: 'chain-without-its-past',
    file: 'src/database/database-writer.ts',
    find: '    const chainHash = known ?? this.#reader.source.sha256([this.#chainHash, stored]);',
    replace: '    const chainHash = known ?? this.#reader.source.sha256([stored]);',
    breaks: 'the hash of a revision says nothing of those before it',
  },
  {
    name: 'tail-skips-the-first-kept',
    file: 'src/service/tail-feed.ts',
    find: '    return revision >= this.#first || (revision === this.#first - 1 && index >= endOf(revision).index);',
    replace: '    return revision >= this.#first - 1;',
    breaks: 'a subscriber misses the rest of the revision before what is kept',
  },
  {
    name: 'tail-forgets-what-it-drops',
    file: 'src/service/tail-feed.ts',
    find: '    this.#first = first;',
    replace: '    this.#first = Math.min(first, this.#first);',
    breaks: 'a subscriber that is behind is served from what is no longer kept',
  },
  {
    name: 'cached-below-the-floor',
    file: 'src/service/read-scope.ts',
    find: '  await untilApplied(context, request.signal, binding, minRevision);\n',
    replace: '',
    breaks: 'a read ignores the least revision that it asked for',
  },
  {
    name: 'old-instance-answers',
    file: 'src/cluster/front-node.ts',
    find: '      this.#catalog.apply(change);\n',
    replace:
      "      if (change.kind === 'created') this.#catalog.apply(change);\n      else this.#ports.schedule(() => this.#ports.schedule(() => this.#catalog.apply(change)));\n",
    breaks: 'reads are answered from a deleted instance after its delete was acknowledged',
  },
];
