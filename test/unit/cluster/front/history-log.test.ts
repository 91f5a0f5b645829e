// Goal: a diverged replica and lost acknowledged entries are logged, at their levels and with advice (K2). Method: a
// logger that keeps its lines.
import { expect, it } from 'vitest';
import { toGroupId, toLogIndex, toNodeId, toReplicaId } from '#base';
import { silentLogger } from '#observability';
import { historyLog } from '../../../../src/cluster/front/history-log.ts';

const SHOP = 'database "shop"';
const group = toGroupId(7);

function loggedOf(note: Parameters<ReturnType<typeof historyLog>>[0]): readonly unknown[] {
  const lines: unknown[] = [];
  const keep = (level: string) => (event: string, fields: unknown) => void lines.push([level, event, fields]);
  historyLog({ ...silentLogger, info: keep('info'), warn: keep('warn'), error: keep('error') })(note, SHOP);
  return lines;
}

it('logs an error with the reason for a replica that has diverged', () => {
  const [leader, reason] = [toNodeId(2), 'entry 5 has term 3 here, and 4 there'];
  const advice = expect.stringMatching(/kept unchanged and not used; .* replace this node/);
  expect(loggedOf({ kind: 'diverged', group, replica: toReplicaId(9), leader, reason })).toEqual([
    ['error', 'replica-diverged', { group, of: SHOP, leader, reason, advice }],
  ]);
});

it('logs a warning with the node for a member that has lost acknowledged entries', () => {
  const [node, acknowledged] = [toNodeId(3), toLogIndex(40)];
  const advice = expect.stringContaining('never restore the data directory of a member');
  expect(loggedOf({ kind: 'acknowledged-lost', group, node, acknowledged })).toEqual([
    ['warn', 'acknowledged-entries-lost', { group, of: SHOP, peer: node, acknowledged, advice }],
  ]);
});
