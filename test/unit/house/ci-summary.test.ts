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
    const broken = [{ status: 'failed', assertionResults: [] }];
    expect(summary(report(5, 0, broken), ['packages=0', 'check=0', 'test=1']).line).toBe('6 passed, 1 failed');
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

function summary(text: string, steps: readonly string[]): { line: string | undefined; status: number | null } {
  const path = testDir();
  writeFileSync(join(path, 'report.json'), text);
  const { stdout, status } = spawnSync(process.execPath, [SCRIPT, join(path, 'report.json'), ...steps], {
    encoding: 'utf8',
  });
  return { line: stdout.trimEnd().split('\n').at(-1), status };
}
