// Changes that look like defects but break no guarantee, here or because other code keeps it, with the reason. Other
// known bugs of similar systems are in the catalogues.
import type { Equivalent } from './mutant.ts';

export const EQUIVALENTS: readonly Equivalent[] = [
  {
    name: 'read-answered-in-a-later-term',
    breaks: 'a read that was confirmed in one term is answered in the next (etcd #20418)',
    why: 'a read index is committed, and confirmed after the read came: whoever has applied it, in whatever term, has all that was acknowledged before; the core asks again all the same, which a unit test holds',
  },
  {
    name: 'lease-kept-during-transfer',
    breaks: 'a leader answers by its lease while it hands over',
    why: 'no leader has a lease; that of the catalog counts from a read index, whoever leads (C21)',
  },
  {
    name: 'campaign-with-an-unapplied-change',
    breaks: 'a replica campaigns with a membership that it knows to be past (etcd #7280)',
    why: 'a membership holds with the commit of its entry, in the same step (R11, ADR 0019): there is no moment between',
  },
  {
    name: 'revision-lost-by-compaction',
    breaks: 'a crash within a compaction takes revisions back (etcd #17780)',
    why: 'revisions are not compacted; what goes back to a checkpoint is holes-not-verified',
  },
  {
    name: 'idempotence-at-the-leader-only',
    breaks: 'followers do not know which transactions were recorded',
    why: 'only the machines know, on every replica alike; what they might forget is idempotence-only-in-memory',
  },
  {
    name: 'corrupt-snapshot-installed',
    breaks: 'a part of a snapshot in which a bit was flipped (NATS #7556)',
    why: 'frames, rows and the chain of hashes are each enough to refuse it; with all three broken seed 5 shows the frame that was believed, before any part of a snapshot could: that is frame-checksum-ignored',
  },
  {
    name: 'frame-of-a-removed-incarnation',
    breaks: 'what a node said before it was removed or replaced is taken',
    why: 'a connection names cluster, node and store at both ends, and replica ids are never given twice; who does not vote is not counted',
  },
  {
    name: 'term-behind-its-entries',
    breaks: 'entries are on disk before the term that they are of',
    why: 'a step persists a term and entries by two effects, in their order, and never by one; the ledger of the log refuses an entry of a later term than the one that it holds',
  },
];
