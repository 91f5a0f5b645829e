// Goal: each failed attempt to lead a group is counted once, by its reason. Method: facts of steps in a table.
import { expect, it } from 'vitest';
import { replicaOf, toGroupId, toLogIndex, toNodeId, toTerm } from '#base';
import type { Fact } from '#raft';
import { Campaigns, type LostCampaign } from '../../../../src/cluster/group/campaigns.ts';

const term = toTerm(3);
const leader = replicaOf(toNodeId(2));
const ASKS: Fact = { kind: 'became-pre-candidate', term };
const CAMPAIGNS: Fact = { kind: 'became-candidate', term };
const LEADS: Fact = { kind: 'became-leader', term, first: toLogIndex(1) };
const FOLLOWS: Fact = { kind: 'became-follower', term, leader };
const WAITS: Fact = { kind: 'became-follower', term, leader: undefined };

it.each<readonly [string, readonly Fact[], readonly LostCampaign[]]>([
  ['that is won', [ASKS, CAMPAIGNS, LEADS], []],
  ['that loses its votes', [ASKS, CAMPAIGNS, WAITS], ['lost']],
  ['that finds another leader', [ASKS, CAMPAIGNS, FOLLOWS], ['lost']],
  ['that no replica answers', [ASKS, CAMPAIGNS, ASKS, ASKS], ['timed_out', 'not_held']],
  ['that is not started, because no replica would vote', [ASKS, WAITS], ['not_held']],
  ['that a leader has requested, and that another one wins', [CAMPAIGNS, FOLLOWS], ['lost']],
  ['of a replica that leads, and then follows', [ASKS, CAMPAIGNS, LEADS, FOLLOWS], []],
  ['that never began, because another leads', [FOLLOWS, WAITS, FOLLOWS], []],
])('an attempt %s', (_what, facts, expected) => {
  const group = { id: toGroupId(1) };
  const failed: LostCampaign[] = [];
  const campaigns = new Campaigns((result) => failed.push(result));
  for (const fact of facts) campaigns.note(group, fact);
  expect(failed).toEqual(expected);
});
