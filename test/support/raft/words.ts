/** Parses the words of data-driven tests into values of #raft. */
import { assert, toLogIndex, toTerm } from '#base';
import {
  type Config,
  type Entry,
  type EntryId,
  type Input,
  type Message,
  membershipOf,
  ORIGIN,
  REPLICATION,
  type ReplicaId,
  toReplicaId,
} from '#raft';

type Options = ReadonlyMap<string, string>;

export function configOf(self: ReplicaId, options: Options): Config {
  return {
    self,
    electionWindowMs: 2500,
    electionJitterMs: 1000,
    uncommittedBytesMax: number(options, 'budget', 1000),
    pendingReadsMax: number(options, 'reads', 10),
    replication: {
      ...REPLICATION,
      appendBytesMax: number(options, 'append', REPLICATION.appendBytesMax),
      gatherBytes: number(options, 'gather', REPLICATION.gatherBytes),
      inFlightMessagesMax: number(options, 'window', REPLICATION.inFlightMessagesMax),
      inFlightBytesMax: number(options, 'window-bytes', REPLICATION.inFlightBytesMax),
      retainedBytesMax: number(options, 'retained', REPLICATION.retainedBytesMax),
      catchUpEntriesMax: number(options, 'catch-up', REPLICATION.catchUpEntriesMax),
    },
  };
}

/** The input of a replica for a command. */
export function inputOf(name: string, words: readonly string[], options: Options): Input {
  switch (name) {
    case 'campaign':
    case 'diverge':
    case 'tick':
      return { kind: name };
    case 'owe':
      return { kind: 'owe', acknowledged: parseId(options.get('last')) };
    case 'forget':
      return { kind: 'forget-leader' };
    case 'propose':
      return { kind: 'propose', payloads: words.map(payload) };
    case 'read':
      return { kind: 'read', id: Number(words[0]) };
    case 'transfer':
      return { kind: 'transfer-leadership', to: parseReplica(words[0]) };
    case 'receive':
      return { kind: 'receive', from: parseReplica(words[0]), message: messageOf(words[1] ?? 'nothing', options) };
    case 'unreachable':
      return { kind: 'unreachable', replica: parseReplica(words[0]) };
    case 'change': {
      const target = { voters: parseIds(options.get('voters')), learners: parseIds(options.get('learners')) };
      return { kind: 'change-membership', target, isRepeated: options.get('again') === 'yes' };
    }
    default:
      throw new Error(`The script knows no command "${name}"`);
  }
}

/** A message of a leader or candidate, such as `append term=2 after=1@1 entries=2:a,2:b commit=1`. */
function messageOf(kind: string, options: Options): Message {
  const term = toTerm(number(options, 'term', 0));
  const last = parseId(options.get('last'));
  const commitId = parseId(options.get('commit'));
  const index = (name: string) => toLogIndex(number(options, name, 0));
  switch (kind) {
    case 'pre-vote-request':
      return { kind, term, last, commit: commitId };
    case 'vote-request':
      return { kind, term, last, commit: commitId, isTransfer: options.has('transfer') };
    case 'pre-vote-reply':
    case 'vote-reply':
      return { kind, term, isGranted: options.get('granted') !== 'no', commit: commitId };
    case 'append': {
      const previous = parseId(options.get('after'));
      return { kind, term, previous, entries: parseEntries(previous, options.get('entries')), commit: index('commit') };
    }
    case 'append-ack':
      return { kind, term, match: index('match') };
    case 'append-reject':
      return { kind, term, rejected: index('of'), hint: parseId(options.get('hint')) };
    case 'commit':
      return { kind, term, commit: index('commit') };
    case 'beat':
      return { kind, term, commit: index('commit'), round: number(options, 'round', 0) };
    case 'install-snapshot': {
      const membership = membershipOf(parseIds(options.get('voters')), parseIds(options.get('learners')));
      return { kind, term, snapshot: { last, membership } };
    }
    case 'timeout-now':
      return { kind, term };
    default:
      throw new Error(`A script knows no message "${kind}"`);
  }
}

/** `1,1,2` or `1:a,2:b`: the terms of entries, with their payloads if relevant. */
export function parseEntries(previous: EntryId, text: string | undefined): readonly Entry[] {
  const words = (text ?? '').split(',').filter(Boolean);
  return words.map((word, at) => {
    const [term, name] = word.split(':');
    const index = toLogIndex(previous.index + 1 + at);
    return { index, term: toTerm(Number(term)), payload: payload(name ?? `old${index}`) };
  });
}

export function parseId(text: string | undefined): EntryId {
  if (text === undefined) return ORIGIN;
  const [index, term] = text.split('@').map(Number);
  return { index: toLogIndex(index ?? 0), term: toTerm(term ?? 0) };
}

export function parseIds(text: string | undefined): readonly ReplicaId[] {
  return (text ?? '').split(',').filter(Boolean).map(parseReplica);
}

export function parseReplica(text: string | undefined): ReplicaId {
  assert(text !== undefined, 'A replica is named');
  return toReplicaId(Number(text));
}

function payload(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.codePointAt(0) ?? 0);
}

export function number(options: Options, name: string, otherwise: number): number {
  const text = options.get(name);
  return text === undefined ? otherwise : Number(text);
}
