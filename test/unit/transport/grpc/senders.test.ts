// Goal: how much patience a connection has with those who stand still follows from what its own requests have shown
// (TM2). Method: the rows of its states, at a time that the test moves.
import { expect, it } from 'vitest';
import { createByteBudgets } from '../../../../src/transport/byte-budgets.ts';
import { Senders } from '../../../../src/transport/grpc/wire/senders.ts';
import { ManualTime } from '../../../support/budget-time.ts';

const PATIENCE_MS = 1_000;
const [PROVEN, NEW, IDLER] = [PATIENCE_MS / 10, PATIENCE_MS / 4, PATIENCE_MS];

it.each([
  { shown: [], has: NEW },
  { shown: ['whole'], has: PROVEN },
  { shown: ['still'], has: IDLER },
  { shown: ['whole', 'still'], has: IDLER },
  { shown: ['still', 'whole'], has: IDLER },
  { shown: ['still', 'pause'], has: NEW },
  { shown: ['whole', 'still', 'pause'], has: NEW },
  { shown: ['still', 'pause', 'whole'], has: PROVEN },
])('$shown makes a patience of $has ms', ({ shown, has }) => {
  const time = new ManualTime();
  const senders = new Senders(
    createByteBudgets({ requestBytesMax: 1, unsentBytesMax: 1, patienceMs: PATIENCE_MS, time }).requests,
  );
  const connection = {};
  const does: Readonly<Record<string, () => void>> = {
    whole: () => senders.of(connection).cameWhole(),
    still: () => senders.of(connection).stoodStill(),
    pause: () => time.advance(PATIENCE_MS),
  };
  for (const step of shown) does[step]?.();
  expect([senders.of(connection).patienceMs, senders.of({}).patienceMs]).toEqual([has, NEW]);
});
