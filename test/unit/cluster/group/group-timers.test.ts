// Goal: a group is due exactly when its deadline has passed; after a gap, groups with other members wait one tick more
// (C10). Method: random deadlines, compared with a scan of every group.
import { array, assert, constant, integer, nat, oneof, option, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AskingPace } from '../../../../src/cluster/group/asking-pace.ts';
import { GroupTimers, type TimedGroup } from '../../../../src/cluster/group/group-timers.ts';

class FakeGroup implements TimedGroup {
  isOpen = true;
  isAlone = false;
  leads = false;
  deadlineMs: number | undefined;

  constructor(electionMs: number | undefined) {
    this.setDeadline(electionMs);
  }

  setDeadline(election: number | undefined): void {
    this.deadlineMs = election;
  }

  isDue(nowMs: number): boolean {
    return (this.deadlineMs ?? Infinity) <= nowMs;
  }
}

const GROUPS = 5;
const deadline = option(integer({ min: 0, max: 3000 }), { nil: undefined });
const action = oneof(
  record({ kind: constant('step' as const), group: nat(GROUPS - 1), inMs: deadline }),
  record({ kind: constant('look' as const), afterMs: integer({ min: 0, max: 240 }) }),
);

describe('the timers of groups', () => {
  it('find the due groups, with random deadlines', () => {
    assert(
      property(array(deadline, { minLength: GROUPS, maxLength: GROUPS }), array(action), (first, actions) => {
        const timers = new GroupTimers<FakeGroup>();
        const groups = first.map((each) => new FakeGroup(each));
        for (const group of groups) timers.review(group);
        let nowMs = 0;
        for (const each of actions) {
          if (each.kind === 'step') {
            const group = groups[each.group];
            group?.setDeadline(each.inMs === undefined ? undefined : nowMs + each.inMs);
            if (group !== undefined) timers.stepped(group);
            continue;
          }
          nowMs += each.afterMs;
          const due = timers.due(nowMs);
          expect(new Set(due)).toEqual(new Set(groups.filter((group) => group.isDue(nowMs))));
          expect(due.length).toBe(new Set(due).size);
          // A tick moves the deadline.
          for (const group of due) {
            group.setDeadline(nowMs + 1000);
            timers.stepped(group);
          }
        }
      }),
    );
  });

  it('give messages precedence after a gap, once (C10)', () => {
    const timers = new GroupTimers<FakeGroup>();
    const [alone, follower] = [new FakeGroup(400), new FakeGroup(400)];
    alone.isAlone = true;
    for (const group of [alone, follower]) timers.review(group);
    expect(timers.due(100)).toEqual([]);
    expect(timers.due(500)).toEqual([alone]);
    expect(timers.due(1000)).toEqual([follower]);
  });

  it('limit the number of groups that campaign at a time, and let all leaders send heartbeats', () => {
    const timers = new GroupTimers<FakeGroup>(new AskingPace(2));
    const groups = Array.from({ length: 6 }, () => new FakeGroup(100));
    const [leader] = groups.splice(3, 1);
    if (leader === undefined) throw new Error('There are six groups');
    leader.leads = true;
    for (const group of [...groups, leader]) timers.review(group);
    const looks = [100, 150, 200, 250].map((nowMs) => {
      const due = timers.due(nowMs);
      for (const group of due) group.setDeadline(nowMs + 3000);
      return due;
    });
    expect(looks).toEqual([[...groups.slice(0, 2), leader], groups.slice(2, 4), groups.slice(4), []]);
  });

  it('drop a group with a single replica that leads, and a closed group', () => {
    const timers = new GroupTimers<FakeGroup>();
    const [leader, closed] = [new FakeGroup(100), new FakeGroup(100)];
    for (const group of [leader, closed]) timers.review(group);
    expect(timers.deadlineMs).toBe(100);
    leader.isAlone = true;
    leader.leads = true;
    closed.isOpen = false;
    for (const group of [leader, closed]) timers.review(group);
    expect([timers.deadlineMs, [...timers.groups], timers.due(200)]).toEqual([undefined, [], []]);
  });
});

function roomAt(pace: AskingPace, apartMs: readonly number[]): readonly number[] {
  let nowMs = 0;
  return apartMs.map((each) => {
    nowMs += each;
    pace.look(nowMs);
    return pace.room;
  });
}

it('the rate of campaigns is lower when ticks are late, recovers in steps, and never reaches zero', () => {
  expect(roomAt(new AskingPace(128), [50, 50, 100, 50, 50, 50, 50])).toEqual([128, 128, 32, 50, 78, 122, 128]);
  expect(roomAt(new AskingPace(128), [50, 3000, 50])).toEqual([128, 8, 8]);
});
