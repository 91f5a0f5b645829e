/**
 * A world as one number: the same for two worlds that nothing can tell apart from here on.
 *
 * Left out are clocks, deadlines and the generator, which the search does not use, and what follows from the rest.
 */
import type { Entry, Message, RaftState } from '#raft';
import type { Replica, World } from './world.ts';

export function keyOf(world: World, budget: readonly number[]): number {
  const replicas = [...world.replicas.values()].map(replicaText).join('#');
  const network = world.network.map(({ from, to, message }) => `${from}>${to}${messageText(message)}`);
  const { committed, leaders } = world.history;
  const history = `${entriesText(committed)}|${[...leaders].join(';')}`;
  return hash(`${replicas}#${network.toSorted().join('#')}#${history}#${budget.join(',')}`);
}

function replicaText({ id, state, disk, writing }: Replica): string {
  const { hardState, machine } = disk;
  const writes = writing.map((write) => {
    if (write.kind === 'install-snapshot') return `i${write.snapshot.last.index}`;
    const { term, vote, index, logTerm, truncateFrom, entries } = write;
    return `${term}.${vote}.${index}.${logTerm}.${truncateFrom}.${write.hardState === undefined}${entriesText(entries)}`;
  });
  const onDisk = `${hardState.term}.${hardState.vote}.${disk.start.index}.${machine.last.index}${entriesText(disk.entries)}`;
  return `${id}:${state === undefined ? 'down' : stateText(state)}:${onDisk}:${writes.join('/')}`;
}

function stateText({ hardState, durable, log, commit, applied, role, changes, installing }: RaftState): string {
  const shared = `${hardState.term}.${hardState.vote}.${durable.term}.${durable.vote}.${log.base.index}.${log.persisted}`;
  const rest = `${commit}.${applied}.${changes.length}.${installing?.last.index}`;
  return `${shared}.${rest}${log.runs.map(entriesText).join('')}${roleText(role)}`;
}

function roleText(role: RaftState['role']): string {
  switch (role.kind) {
    case 'follower':
      return `f${role.leader}.${role.verified}.${role.owesAck}`;
    case 'pre-candidate':
      return `p${[...role.votes].join(';')}`;
    case 'candidate':
      return `c${[...role.votes]
        .map(([voter, isGranted]) => `${voter}${isGranted}`)
        .toSorted()
        .join(';')}`;
    case 'leader':
      return `l${role.first}${[...role.peers].map(([id, { progress, toldCommit }]) => `${id}${JSON.stringify(progress)}${toldCommit}`).join(';')}`;
  }
}

function messageText(message: Message): string {
  if (message.kind !== 'append') return JSON.stringify(message);
  const { term, previous, entries, commit } = message;
  return `a${term}.${previous.index}.${previous.term}.${commit}${entriesText(entries)}`;
}

function entriesText(entries: readonly Entry[]): string {
  let text = '';
  for (const { index, term, payload, membership } of entries) {
    text += `,${index}@${term}`;
    if (payload.length > 0) text += 'p';
    if (membership !== undefined) text += `m${membership.voters.outgoing.length}`;
  }
  return text;
}

// Two multiplicative hashes of 32 bits, of which 53 bits are kept.
function hash(text: string): number {
  let one = 0x811c9dc5;
  let other = 0x9747b28c;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    one = Math.imul(one ^ code, 0x01000193);
    other = Math.imul(other ^ code, 0x5bd1e995) ^ (other >>> 13);
  }
  return (one >>> 0) * 2 ** 21 + ((other ^ (other >>> 15)) & 0x1fffff);
}
