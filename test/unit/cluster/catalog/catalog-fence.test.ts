// Goal: a deletion of a name, or a creation with a deleted name, is answered when no lease from before the deletion is
// left, and as soon as that is known (C26, C27). Method: one fence, with clock, group and messages under control of the
// test.
import { describe, expect, it } from 'vitest';
import { type NodeId, toDatabaseId, toGroupId, toLogIndex, toNodeId } from '#base';
import { type Binding, LIMITS } from '#cluster';
import { CatalogFence, type FenceView } from '../../../../src/cluster/catalog/catalog-fence.ts';
import type { Settlement } from '../../../../src/cluster/link.ts';

const [SECOND, THIRD] = [toNodeId(2), toNodeId(3)];
const FENCE_MS = 10_000;

function bindingOf(name: string): Binding {
  const databaseId = toDatabaseId('0199a5c8-3c1e-7a2b-9f00-0123456789ab');
  const held = { replicas: [], leaving: [], founders: [], placement: 0, isSettled: true, copies: 0 };
  return { name, databaseId, group: toGroupId(7), createdAtMs: 5, ...held };
}

class Fenced {
  nowMs = 100_000;
  written = 50;
  members: readonly NodeId[];
  leads = true;
  leader: NodeId | undefined;
  readonly heard = new Map<NodeId, number>([
    [SECOND, 100_000],
    [THIRD, 100_000],
  ]);
  readonly told: number[] = [];
  posts: string[] = [];
  readonly fence: CatalogFence;

  /** Defaults: the process has run for long, and is the leader of three nodes. */
  constructor({
    sinceMs = 0,
    leads = true,
    members = [SECOND, THIRD],
  }: { readonly sinceMs?: number; readonly leads?: boolean; readonly members?: readonly NodeId[] } = {}) {
    this.leads = leads;
    this.members = members;
    this.leader = leads ? undefined : SECOND;
    this.fence = new CatalogFence({
      limits: { fenceMs: FENCE_MS, fenceAskMs: 250 },
      view: () => this.#view(),
      post: (to, { kind, index }) => this.posts.push(`${kind} ${index} to ${to}`),
      tell: (settlements) => this.told.push(...settlements.map(({ token }) => token)),
    });
    this.fence.skipped({ index: 40, atMs: sinceMs }, [SECOND, THIRD]);
    this.fence.advance();
    if (sinceMs === 0) this.pass(0);
    this.posts = [];
  }

  #view(): FenceView {
    const { nowMs, members, leads, leader, heard } = this;
    const heardMs = leads ? (node: NodeId): number => heard.get(node) ?? 0 : undefined;
    return { nowMs, written: toLogIndex(this.written), members, heardMs, leader };
  }

  /** Applies and writes a deletion, reports it to the front, and has the front show it. */
  delete(name: string, index: number, token?: number): void {
    const binding = bindingOf(name);
    this.fence.note({ kind: 'deleted', binding }, { index, atMs: this.nowMs });
    this.written = index;
    this.fence.sentToFront(toLogIndex(index));
    if (token !== undefined) this.settle({ kind: 'outcome', token, outcome: { kind: 'deleted', binding } });
    this.fence.shownHere(index);
    this.fence.advance();
  }

  create(name: string, token: number): void {
    this.settle({ kind: 'outcome', token, outcome: { kind: 'created', binding: bindingOf(name) } });
  }

  settle(settlement: Settlement): void {
    this.fence.settle([settlement]);
  }

  say(from: NodeId, kind: 'shown' | 'past' | 'await-past' | 'await-shown', index: number): void {
    this.heard.set(from, this.nowMs);
    this.fence.take(from, { kind, index: toLogIndex(index) });
    this.fence.advance();
  }

  allShow(index: number): void {
    for (const node of [SECOND, THIRD]) this.say(node, 'shown', index);
  }

  pass(ms: number): void {
    this.nowMs += ms;
    this.fence.advance();
  }
}

/** State after the deletion of `shop` by a client of this node, as entry 51. */
function deleting(options?: ConstructorParameters<typeof Fenced>[0]): Fenced {
  const fenced = new Fenced(options);
  fenced.delete('shop', 51, 1);
  return fenced;
}

describe('a leader of the catalog with a deletion (C26, C27)', () => {
  it('answers when every other node shows the deletion, and then notifies all of them', () => {
    const fenced = deleting();
    expect(fenced.posts).toEqual(['await-shown 51 to 2', 'await-shown 51 to 3']);
    fenced.say(SECOND, 'shown', 51);
    expect(fenced.told).toEqual([]);
    fenced.posts = [];
    fenced.say(THIRD, 'shown', 52);
    expect(fenced.told).toEqual([1]);
    expect(fenced.posts).toEqual(['past 51 to 2', 'past 51 to 3']);
  });

  it('waits for a silent node until it has no lease left', () => {
    const fenced = new Fenced();
    fenced.heard.set(THIRD, fenced.nowMs - 4000);
    fenced.delete('shop', 51, 1);
    fenced.say(SECOND, 'shown', 51);
    fenced.pass(FENCE_MS - 4001);
    expect(fenced.told).toEqual([]);
    fenced.pass(1);
    expect(fenced.told).toEqual([1]);
  });

  it('repeats its request only to nodes that have not confirmed', () => {
    const fenced = deleting();
    fenced.say(THIRD, 'shown', 51);
    fenced.posts = [];
    fenced.pass(249);
    expect(fenced.posts).toEqual([]);
    fenced.pass(1);
    expect(fenced.posts).toEqual(['await-shown 51 to 2']);
  });

  it('waits at most the time of the fence after the deletion, for any answers', () => {
    const fenced = deleting();
    fenced.pass(FENCE_MS - 1);
    fenced.say(SECOND, 'shown', 50);
    fenced.say(THIRD, 'shown', 51);
    expect(fenced.told).toEqual([]);
    fenced.pass(1);
    expect(fenced.told).toEqual([1]);
    fenced.posts = [];
    fenced.pass(1000);
    expect(fenced.posts).toEqual([]);
    expect(fenced.fence.deadlineMs).toBeUndefined();
  });

  it('waits for a node that has left the group, as long as it may hold a lease', () => {
    const fenced = new Fenced();
    fenced.members = [SECOND];
    fenced.pass(0);
    fenced.pass(1000);
    fenced.delete('shop', 51, 1);
    fenced.say(SECOND, 'shown', 51);
    expect(fenced.told).toEqual([]);
    fenced.pass(FENCE_MS - 1000);
    expect(fenced.told).toEqual([1]);
  });

  it('waits for a node of the catalog that may have been a member before this process started', () => {
    const fenced = deleting({ sinceMs: 99_000, members: [SECOND] });
    fenced.say(SECOND, 'shown', 51);
    fenced.pass(FENCE_MS - 1001);
    expect(fenced.told).toEqual([]);
    fenced.pass(1);
    expect(fenced.told).toEqual([1]);
  });

  it('notifies others only when its own front shows the deletion', () => {
    const fenced = new Fenced();
    fenced.fence.note({ kind: 'deleted', binding: bindingOf('shop') }, { index: 51, atMs: fenced.nowMs });
    fenced.written = 51;
    fenced.fence.sentToFront(toLogIndex(51));
    fenced.allShow(51);
    expect(fenced.posts.filter((post) => post.startsWith('past'))).toEqual([]);
    fenced.fence.shownHere(51);
    fenced.fence.advance();
    expect(fenced.posts.filter((post) => post.startsWith('past'))).toEqual(['past 51 to 2', 'past 51 to 3']);
  });

  it('answers requests about past deletions at once, and asks the other nodes about later ones', () => {
    const fenced = deleting();
    fenced.allShow(51);
    fenced.posts = [];
    fenced.say(SECOND, 'await-past', 45);
    expect(fenced.posts).toEqual(['past 51 to 2']);
    fenced.written = 60;
    fenced.posts = [];
    fenced.say(SECOND, 'await-past', 60);
    expect(fenced.posts).toEqual(['await-shown 60 to 2', 'await-shown 60 to 3']);
    // No node can confirm an entry that this node does not have.
    fenced.posts = [];
    fenced.say(THIRD, 'await-past', 61);
    expect(fenced.posts).toEqual([]);
  });
});

describe('a follower of the catalog with a deletion (C26)', () => {
  it('asks the leader repeatedly, and answers when the deletion is confirmed', () => {
    const fenced = deleting({ leads: false });
    expect(fenced.posts).toEqual(['await-past 51 to 2']);
    fenced.pass(250);
    expect(fenced.posts).toHaveLength(2);
    fenced.say(SECOND, 'past', 50);
    expect(fenced.told).toEqual([]);
    fenced.say(SECOND, 'past', 51);
    expect(fenced.told).toEqual([1]);
  });

  it('waits at most the time of the fence, also without a leader', () => {
    const fenced = new Fenced({ leads: false });
    fenced.leader = undefined;
    fenced.delete('shop', 51, 1);
    fenced.pass(FENCE_MS - 1);
    expect([fenced.told, fenced.posts]).toEqual([[], []]);
    fenced.pass(1);
    expect(fenced.told).toEqual([1]);
  });

  it('confirms when its front shows the entry', () => {
    const fenced = new Fenced({ leads: false });
    fenced.fence.sentToFront(toLogIndex(50));
    fenced.say(SECOND, 'await-shown', 50);
    expect(fenced.posts).toEqual([]);
    fenced.fence.shownHere(50);
    fenced.fence.advance();
    expect(fenced.posts).toEqual(['shown 50 to 2']);
  });

  it('confirms entries that change nothing, and every entry when its front does not answer any more', () => {
    const fenced = new Fenced({ leads: false });
    fenced.fence.sentToFront(toLogIndex(50));
    fenced.fence.shownHere(50);
    fenced.written = 55;
    fenced.say(SECOND, 'await-shown', 55);
    fenced.fence.sentToFront(toLogIndex(56));
    fenced.written = 56;
    fenced.fence.closeFront();
    fenced.say(SECOND, 'await-shown', 56);
    expect(fenced.posts).toEqual(['shown 55 to 2', 'shown 56 to 2']);
  });

  it('ignores a confirmation of entries that it does not have itself', () => {
    const fenced = new Fenced({ leads: false });
    fenced.say(SECOND, 'past', 1000);
    fenced.delete('shop', 51, 1);
    expect(fenced.told).toEqual([]);
  });
});

describe('a name (C26)', () => {
  it('that was not deleted recently is created without a wait', () => {
    const fenced = new Fenced();
    fenced.delete('shop', 51);
    fenced.create('other', 2);
    expect(fenced.told).toEqual([2]);
  });

  it.each<[string, Settlement]>([
    ['a creation', { kind: 'outcome', token: 2, outcome: { kind: 'created', binding: bindingOf('shop') } }],
    ['an absence of any name', { kind: 'outcome', token: 2, outcome: { kind: 'absent' } }],
  ])('that was deleted by any node delays %s until the deletion is confirmed', (_what, settlement) => {
    const fenced = new Fenced();
    fenced.delete('shop', 51);
    fenced.settle(settlement);
    expect(fenced.told).toEqual([]);
    fenced.allShow(51);
    expect(fenced.told).toEqual([2]);
  });

  it.each(['at its start', 'by a snapshot'])('may be among the entries that the node has skipped %s', (when) => {
    const fenced = when === 'at its start' ? new Fenced({ sinceMs: 99_000 }) : new Fenced();
    if (when === 'by a snapshot') fenced.fence.skipped({ index: 50, atMs: fenced.nowMs }, [SECOND, THIRD]);
    fenced.create('shop', 2);
    expect(fenced.told).toEqual([]);
    fenced.allShow(50);
    expect(fenced.told).toEqual([2]);
    fenced.create('other', 3);
    expect(fenced.told).toEqual([2, 3]);
  });

  it('delays only outcomes about names', () => {
    const fenced = new Fenced({ sinceMs: 99_000 });
    const outcome = { kind: 'exists', binding: bindingOf('shop') } as const;
    fenced.fence.settle([{ kind: 'outcome', token: 4, outcome }]);
    expect(fenced.told).toEqual([4]);
    expect(fenced.fence.count).toBe(0);
  });
});

it('the wait of the fence is a quarter longer than a lease, because clocks differ (C26)', () => {
  expect(LIMITS.fenceMs).toBeGreaterThanOrEqual(1.25 * LIMITS.leaseMs);
  expect(LIMITS.fenceAskMs).toBeLessThan(LIMITS.leaseRenewMs);
});
