// Goal: an allowance gives what it has and no more, and gets back once what it gave (TM1). Method: examples.
import { expect, it } from 'vitest';
import { Allowance } from '../../../src/transport/allowance.ts';

it('gives shares up to its bound', () => {
  const allowance = new Allowance(100);
  expect(allowance.tryTake(60)).toBeDefined();
  expect(allowance.tryTake(41)).toBeUndefined();
  expect(allowance.tryTake(40)).toBeDefined();
  expect(allowance.used).toBe(100);
});

it('takes a share back once', () => {
  const allowance = new Allowance(100);
  const share = allowance.tryTake(60);
  allowance.tryTake(10);
  share?.release();
  share?.release();
  expect(allowance.used).toBe(10);
});
