/** Sign-ups that are confirmed by a token, once and within the hour. */
import type { Decider, Fact } from '../decision.ts';
import type { Scenario } from './scenario.ts';

const NOW = Date.UTC(2024, 5, 10, 12);
const MINUTE_MS = 60_000;
const VALID_MINUTES = 60;

interface Confirm {
  readonly email: string;
  readonly token: string;
}

const initiated = (email: string, token: string, minutesAgo: number): Fact => ({
  type: 'sign-up-initiated',
  stream: email,
  subject: token,
  data: { name: 'Ada' },
  time: new Date(NOW - minutesAgo * MINUTE_MS).toISOString().replace('.000Z', 'Z'),
});
const confirmed = (email: string, token: string): Fact => ({
  type: 'sign-up-confirmed',
  stream: email,
  subject: token,
  data: { name: 'Ada' },
});

export const CONFIRM_SIGN_UP: Decider<Confirm> = {
  boundary: ({ email, token }) => ({ stream: email, subject: token }),
  decide: (past, { email, token }) => {
    const started = past.find((fact) => fact.type === 'sign-up-initiated');
    if (started === undefined) return 'No sign-up waits for this token';
    if (past.some((fact) => fact.type === 'sign-up-confirmed')) return 'The token was used';
    const ageMs = NOW - Date.parse(started.time ?? '');
    return ageMs > VALID_MINUTES * MINUTE_MS ? 'The token is too old' : confirmed(email, token);
  },
};

const command: Confirm = { email: 'ada@example.com', token: '444444' };

export const SIGN_UPS: readonly Scenario<Confirm>[] = [
  { name: 'a token that nobody got confirms nothing', past: [], command, outcome: 'No sign-up waits for this token' },
  {
    name: 'the token of another address confirms nothing',
    past: [initiated('bob@example.com', '444444', 5)],
    command,
    outcome: 'No sign-up waits for this token',
  },
  {
    name: 'a token is used once',
    past: [initiated('ada@example.com', '444444', 5), confirmed('ada@example.com', '444444')],
    command,
    outcome: 'The token was used',
  },
  {
    name: 'a token expires',
    past: [initiated('ada@example.com', '444444', 61)],
    command,
    outcome: 'The token is too old',
  },
  {
    name: 'a fresh token confirms',
    past: [initiated('ada@example.com', '444444', 60)],
    command,
    outcome: confirmed('ada@example.com', '444444'),
  },
];
