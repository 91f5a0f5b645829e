// Goal: the last line of a test run never reports a better result than the run had. Method: reports of vitest, and exit
// codes of suites.
import { expect, it } from 'vitest';
import { type Suite, summary } from '../../../scripts/support/summary.ts';

const PASSED = { status: 'passed', fullName: 'a sum is known', failureMessages: [] };
const FAILED = { status: 'failed', fullName: 'a sum is more', failureMessages: ['Error: 2 is not 3\n    at sum.ts:7'] };
const BROKEN = { name: '/root/test/a.test.ts', status: 'failed', assertionResults: [], message: 'No such file' };

const report = (numPassedTests: number, ...testResults: readonly object[]): string =>
  JSON.stringify({ numPassedTests, testResults });
const sums = (...tests: readonly object[]): object => ({
  name: '/root/test/sum.test.ts',
  status: 'passed',
  assertionResults: tests,
});

const test = (status: number | string, text?: string): Suite => ({ name: 'test', status, report: text });
const chaos = (status: number): Suite => ({ name: 'chaos', status, report: undefined });

it.each([
  ['tests, and each suite without a report as one', [test(0, report(5, sums(PASSED))), chaos(0)], '6 passed, 0 failed'],
  ['failed tests', [test(1, report(5, sums(PASSED, FAILED, FAILED))), chaos(0)], '6 passed, 2 failed'],
  ['a failed suite without a report', [test(0, report(5, sums(PASSED))), chaos(1)], '5 passed, 1 failed'],
  ['a file that could not be loaded', [test(1, report(5, BROKEN)), chaos(0)], '6 passed, 1 failed'],
  ['a run that failed without a failed test', [test(1, report(5, sums(PASSED))), chaos(0)], '6 passed, 1 failed'],
  ['a run that ended without a report', [test('SIGKILL'), chaos(0)], '1 passed, 1 failed'],
])('the last lines of a run count %s', (_what, suites, last) => {
  expect(summary(suites, '/root').lines.at(-1)).toBe(last);
});

it('the last lines of a run count skipped tests', () => {
  const skipping = JSON.stringify({ numPassedTests: 5, numPendingTests: 4, testResults: [sums(PASSED)] });
  expect(summary([test(0, skipping)], '/root').lines).toEqual(['4 skipped', '5 passed, 0 failed']);
});

it('the last lines of a run name each failed test with the first line of its error, and each failed suite', () => {
  const suites = [{ name: 'test', status: 1, report: report(1, sums(PASSED, FAILED), BROKEN) }];
  expect(summary(suites, '/root')).toEqual({
    lines: [
      'failed: test/sum.test.ts > a sum is more: Error: 2 is not 3',
      'failed: test/a.test.ts > is not loaded: No such file',
      'failed suites: test',
      '1 passed, 2 failed',
    ],
    failed: 2,
  });
});
