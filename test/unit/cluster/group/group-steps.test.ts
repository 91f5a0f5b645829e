// Goal: what is traced of entries does not outlive the log that they were in. Method: the steps of a group that is
// closed, so that only what happens beside a step does; a log that says what it has synced, and real traced calls.
import { expect, it } from 'vitest';
import { toGroupId, toLogIndex, toTerm } from '#base';
import type { Input } from '#raft';
import { GroupSteps } from '../../../../src/cluster/group/group-steps.ts';
import { TracedCalls } from '../../../../src/cluster/requests/traced-calls.ts';
import type { SpanFact } from '../../../../src/cluster/thread/link.ts';

const GROUP = toGroupId(7);
const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

it('a log that begins anew behind a snapshot has no traced entries of the one before', () => {
  const told: SpanFact[] = [];
  const calls = new TracedCalls({
    isTraced: true,
    monotonicMs: () => 0,
    random: { bytes: (length) => new Uint8Array(length).fill(1) },
    told: (span) => told.push(span),
  });
  const group: object = { id: GROUP, isOpen: false };
  const parts: object = {
    calls,
    replication: { restarted: () => undefined },
    feed: { persisted: (input: Input, complete: (of: object, input: Input) => void) => complete(group, input) },
  };
  const observer: object = { synced: () => undefined };
  const steps = new GroupSteps({ observer } as never, parts as never);
  const at = { index: toLogIndex(9), term: toTerm(3) };
  const applied = (input: Input): void => {
    calls.entered({ traceparent: TRACEPARENT }, GROUP, at.index, at.term);
    steps.persisted(input as never, {} as never);
    calls.applied(GROUP, at);
  };
  applied({ kind: 'persisted', term: at.term, vote: undefined, index: at.index, logTerm: at.term });
  expect(told).toEqual([expect.objectContaining({ what: 'entry', events: [{ name: 'cairn.synced', atMs: 0 }] })]);
  applied({ kind: 'snapshot-installed', snapshot: {} } as never);
  expect(told).toHaveLength(1);
});
