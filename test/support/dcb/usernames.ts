/** Usernames that are unique, are freed when an account is closed or renamed, and rest for three days before that. */
import type { Decider, Fact, PastFact } from '../decision.ts';
import type { Scenario } from './scenario.ts';

const DAY_MS = 86_400_000;
const RETENTION_DAYS = 3;
const NOW = Date.UTC(2024, 5, 10);

interface Register {
  readonly username: string;
}

// A renaming concerns two names, and an event has one subject: it is told as one event for each name.
const registered = (username: string): Fact => ({
  type: 'account-registered',
  stream: 'accounts',
  subject: username,
  data: {},
});
const closed = (username: string, daysAgo: number): Fact => freed('account-closed', username, daysAgo);
const renamedFrom = (username: string, daysAgo: number): Fact => freed('username-given-up', username, daysAgo);
const renamedTo = (username: string): Fact => ({
  type: 'username-taken',
  stream: 'accounts',
  subject: username,
  data: {},
});

function freed(type: string, username: string, daysAgo: number): Fact {
  const time = new Date(NOW - daysAgo * DAY_MS).toISOString().replace('.000Z', 'Z');
  return { type, stream: 'accounts', subject: username, data: {}, time };
}

function isClaimed(past: readonly PastFact[]): boolean {
  const last = past.at(-1);
  if (last === undefined) return false;
  if (last.type !== 'account-closed' && last.type !== 'username-given-up') return true;
  return NOW - Date.parse(last.time ?? '') <= RETENTION_DAYS * DAY_MS;
}

export const REGISTER: Decider<Register> = {
  boundary: ({ username }) => ({ stream: 'accounts', subject: username }),
  decide: (past, { username }) => (isClaimed(past) ? `Username ${username} is claimed` : registered(username)),
};

const claimed = 'Username u1 is claimed';
const command = { username: 'u1' };

export const USERNAMES: readonly Scenario<Register>[] = [
  { name: 'an unused name is free', past: [], command, outcome: registered('u1') },
  { name: 'a name in use is claimed', past: [registered('u1')], command, outcome: claimed },
  { name: 'the name of another account does not matter', past: [registered('u2')], command, outcome: registered('u1') },
  {
    name: 'the name of a closed account is free',
    past: [registered('u1'), closed('u1', 4)],
    command,
    outcome: registered('u1'),
  },
  {
    name: 'a name that was given up is free',
    past: [registered('u1'), renamedFrom('u1', 4), renamedTo('u9')],
    command,
    outcome: registered('u1'),
  },
  {
    name: 'a name that an account changed to is claimed',
    past: [registered('u9'), renamedFrom('u9', 4), renamedTo('u1')],
    command,
    outcome: claimed,
  },
  {
    name: 'the name of an account closed lately is claimed',
    past: [registered('u1'), closed('u1', 3)],
    command,
    outcome: claimed,
  },
  {
    name: 'a name given up lately is claimed',
    past: [registered('u1'), renamedFrom('u1', 3), renamedTo('u9')],
    command,
    outcome: claimed,
  },
];
