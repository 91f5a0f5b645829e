/**
 * The numbered invariants of #raft as executable claims: `checkState` of any one state, `checkStep` of a step.
 *
 * They are for tests and simulation, which run them after every step; they share no code with what they check beyond
 * reading the log. A broken one throws `BrokenInvariant` with its number.
 */
import { assert, unreachable } from '#base';
import type { Effect, Persist } from './effect.ts';
import type { Input } from './input.ts';
import { type Entry, type Log, lastId } from './log.ts';
import type { RaftState, Step } from './state.ts';

/** Claims about one state. */
export function checkState(state: RaftState): void {
  const { log, commit, applying, applied, hardState, role, config } = state;
  const last = lastId(log);
  assert(log.base.index <= applied, 'R1: only applied entries are released', [log.base.index, applied]);
  assert(applied <= applying, 'R1: only what was handed out is applied', [applied, applying]);
  assert(applying <= commit, 'R1: only what is committed is handed out', [applying, commit]);
  assert(applying <= log.persisted, 'R1: only what is durable here is handed out', [applying, log.persisted]);
  assert(log.base.index <= log.persisted && log.persisted <= last.index, 'R2: persisted lies inside the log', log);
  assert(commit <= last.index, 'R2: only what exists is committed', [commit, last.index]);
  checkChain(log);
  assert(last.term <= hardState.term, 'R3: no entry is of a future term', [last.term, hardState.term]);
  if (role.kind === 'follower') return;
  assert(hardState.vote === config.self, 'R7: who campaigns or leads has voted for itself', hardState);
  if (role.kind === 'candidate') return;
  const opened = entries(log).find((entry) => entry.index === role.first);
  const released = role.first <= log.base.index;
  assert(released || opened?.term === hardState.term, 'R4: a leadership begins with an entry of its term', role.first);
  assert(role.match.get(config.self) === log.persisted, 'R4: a leader counts of itself what its disk holds', role);
  let bytes = 0;
  for (const entry of entries(log)) if (entry.index > commit) bytes += entry.payload.length;
  assert(role.uncommittedBytes === bytes, 'R4: a leader knows how many bytes wait', [role.uncommittedBytes, bytes]);
}

/** Claims about two states in a row, the input between them and the effects that came out. */
export function checkStep(before: RaftState, input: Input, { state: after, effects }: Step): void {
  checkState(after);
  const termBefore = before.hardState.term;
  const termAfter = after.hardState.term;
  assert(termAfter >= termBefore, 'R7: a term never goes back', [termBefore, termAfter]);
  const kept = termAfter > termBefore || before.hardState.vote === undefined;
  assert(kept || after.hardState.vote === before.hardState.vote, 'R7: a vote of a term is never changed', input);
  assert(after.commit >= before.commit, 'R4: the commit index never goes back', [before.commit, after.commit]);
  assert(after.applying >= before.applying, 'R1: nothing is handed out twice', [before.applying, after.applying]);
  assert(after.applied >= before.applied, 'R1: the applied index never goes back', [before.applied, after.applied]);
  if (before.role.kind === 'leader' && termAfter === termBefore) {
    assert(after.role.kind === 'leader', 'R4: a leader leads until its term ends', after.role.kind);
    checkAppendOnly(before.log, after.log);
  }
  if (after.role.kind === 'leader' && after.commit > before.commit) {
    const found = entries(before.log).find((entry) => entry.index === after.commit);
    assert(found?.term === termAfter, 'R4: a leader commits by an entry of its own term', found);
  }
  checkPersists(before, after, effects);
  for (const effect of effects) checkEffect(before, after, effect);
}

function checkPersists(before: RaftState, after: RaftState, effects: readonly Effect[]): void {
  const persists = effects.filter((effect): effect is Persist => effect.kind === 'persist');
  const changed = before.hardState.term !== after.hardState.term || before.hardState.vote !== after.hardState.vote;
  const written = persists.findLast((effect) => effect.hardState !== undefined)?.hardState;
  assert(
    !changed || (written?.term === after.hardState.term && written.vote === after.hardState.vote),
    'R8: a changed term or vote is persisted in the same step',
    written,
  );
  const added = entries(after.log).filter((entry) => entry.index > lastId(before.log).index);
  const persisted = persists.flatMap((effect) => effect.entries);
  assert(persisted.length === added.length, 'R8: every new entry is persisted, and only once', persisted.length);
  assert(
    persisted.every((entry, at) => entry === added[at]),
    'R8: entries are persisted in order',
  );
}

function checkEffect(before: RaftState, after: RaftState, effect: Effect): void {
  switch (effect.kind) {
    case 'apply': {
      const [first] = effect.entries;
      assert(first?.index === before.applying + 1, 'R1: entries are handed out in order', first?.index);
      assert(effect.entries.at(-1)?.index === after.applying, 'R1: entries are handed out without a gap');
      return;
    }
    case 'read-ready': {
      assert(after.role.kind === 'leader', 'R5: only a leader answers a read', after.role.kind);
      assert(effect.index >= after.role.first, 'R5: a read waits for the first commit of the term', effect);
      assert(effect.term === after.hardState.term, 'R5: a read is answered in the term that confirmed it', effect);
      return;
    }
    case 'persist':
      assert(effect.term === after.hardState.term, 'R6: a persist effect carries the term it was issued in', effect);
      return;
    case 'proposed':
    case 'send':
    case 'read-refused':
    case 'fact':
      return;
    default:
      unreachable(effect);
  }
}

function checkChain(log: Log): void {
  let previous = log.base;
  for (const entry of entries(log)) {
    assert(entry.index === previous.index + 1, 'R3: the log has no gap', [previous.index, entry.index]);
    assert(entry.term >= previous.term, 'R3: terms never fall along the log', [previous.term, entry.term]);
    previous = entry;
  }
}

function checkAppendOnly(before: Log, after: Log): void {
  const kept = new Map(entries(after).map((entry) => [entry.index, entry]));
  for (const entry of entries(before)) {
    const released = entry.index <= after.base.index;
    assert(released || kept.get(entry.index) === entry, 'R4: a leader only appends', entry.index);
  }
}

function entries(log: Log): readonly Entry[] {
  return log.runs.flat();
}
