// Goal: the last line of CI never says better than it was. Method: reports and exit codes, and the real script.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testDir } from '../../support/test-scope.ts';

const SCRIPT = resolve(import.meta.dirname, '../../../scripts/ci-summary.mjs');
const GREEN = ['packages=0', 'check=0', 'test=0', 'chaos=0'];

describe('the last line of CI', () => {
  it('counts the tests, and check and chaos as one each', () => {
    expect(summary(report(5, 0), GREEN)).toEqual({ line: '7 passed, 0 failed', status: 0 });
  });

  it('fails with the failed tests', () => {
    expect(summary(report(5, 2), ['packages=0', 'check=0', 'test=1'])).toEqual({
      line: '6 passed, 2 failed',
      status: 1,
    });
  });

  it('counts a failed check although every test passed', () => {
    expect(summary(report(5, 0), ['packages=0', 'check=1', 'test=0'])).toEqual({
      line: '5 passed, 1 failed',
      status: 1,
    });
  });

  it('counts a failed run of chaos', () => {
    expect(summary(report(5, 0), ['packages=0', 'check=0', 'test=0', 'chaos=1'])).toEqual({
      line: '6 passed, 1 failed',
      status: 1,
    });
  });

  it('counts packages that could not be installed', () => {
    expect(summary(report(5, 0), ['packages=100', 'check=0', 'test=0'])).toEqual({
      line: '6 passed, 1 failed',
      status: 1,
    });
  });

  it('counts a test file that could not be loaded', () => {
    const broken = [
      { name: resolve('test/a.test.ts'), status: 'failed', assertionResults: [], message: 'No such file' },
    ];
    expect(summary(report(5, 0, broken), ['packages=0', 'check=0', 'test=1']).line).toBe('6 passed, 1 failed');
  });

  it('names each failed test, with what it says first', () => {
    const assertionResults = [
      { status: 'passed', fullName: 'a sum is known', failureMessages: [] },
      { status: 'failed', fullName: 'a sum of two is more', failureMessages: ['Error: 2 is not 3\n    at sum.ts:7'] },
    ];
    const results = [
      { name: resolve('test/sum.test.ts'), status: 'failed', assertionResults },
      { name: resolve('test/a.test.ts'), status: 'failed', assertionResults: [], message: 'No such file' },
    ];
    expect(summaryLines(report(1, 1, results), ['packages=0', 'check=0', 'test=1']).before).toEqual([
      'failed: test/sum.test.ts > a sum of two is more: Error: 2 is not 3',
      'failed: test/a.test.ts > is not loaded: No such file',
      'failed steps: test',
    ]);
  });

  it('counts a test run that failed without a failed test', () => {
    expect(summary(report(5, 0), ['packages=0', 'check=0', 'test=1'])).toEqual({
      line: '6 passed, 1 failed',
      status: 1,
    });
  });

  it('prints the line although there is no report', () => {
    expect(summary('', ['packages=0', 'check=1', 'test=1'])).toEqual({ line: '0 passed, 2 failed', status: 1 });
  });
});

function report(numPassedTests: number, numFailedTests: number, testResults: readonly object[] = []): string {
  return JSON.stringify({ numPassedTests, numFailedTests, testResults });
}

interface Summary {
  readonly line: string | undefined;
  readonly status: number | null;
}

function summary(text: string, steps: readonly string[]): Summary {
  const { before: _, ...rest } = summaryLines(text, steps);
  return rest;
}

function summaryLines(text: string, steps: readonly string[]): Summary & { readonly before: readonly string[] } {
  const path = testDir();
  writeFileSync(join(path, 'report.json'), text);
  const { stdout, status } = spawnSync(process.execPath, [SCRIPT, join(path, 'report.json'), ...steps], {
    encoding: 'utf8',
  });
  const lines = stdout.trimEnd().split('\n');
  return { before: lines.slice(0, -1), line: lines.at(-1), status };
}
