/** The last lines of a run of several suites: failed tests and suites, how many were skipped, "N passed, N failed". */
import { relative } from 'node:path';

export interface Suite {
  readonly name: string;
  /** The exit code, or the signal that ended it. */
  readonly status: number | string;
  /** The JSON report of vitest. Absent: the suite is no run of vitest, or ended before it wrote one. */
  readonly report: string | undefined;
}

interface Report {
  readonly numPassedTests: number;
  readonly numPendingTests?: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

const LINE_MAX = 300;

/**
 * A suite without a report counts as one, passed or failed. A file that failed without running a test counts as one
 * failed, and so does a suite that failed without a failed test: the line never says "0 failed" about a failed run.
 */
export function summary(
  suites: readonly Suite[],
  root: string,
): { readonly lines: readonly string[]; readonly failed: number } {
  const counts = suites.map((suite) => count(suite, root));
  const passed = counts.reduce((sum, each) => sum + each.passed, 0);
  const failed = counts.reduce((sum, each) => sum + each.failed, 0);
  const names = suites.filter(({ status }) => status !== 0).map(({ name }) => name);
  const failures = counts.flatMap((each) => each.failures);
  const failedSuites = names.length === 0 ? [] : [`failed suites: ${names.join(', ')}`];
  const skipped = counts.reduce((sum, each) => sum + each.skipped, 0);
  const skips = skipped === 0 ? [] : [`${skipped} skipped`];
  return { lines: [...failures, ...failedSuites, ...skips, `${passed} passed, ${failed} failed`], failed };
}

interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly string[];
}

function count({ status, report }: Suite, root: string): Count {
  if (report === undefined) {
    return { passed: status === 0 ? 1 : 0, failed: status === 0 ? 0 : 1, skipped: 0, failures: [] };
  }
  const { numPassedTests, numPendingTests = 0, testResults }: Report = JSON.parse(report);
  const failures = testResults.flatMap(({ name, status: ended, message, assertionResults }) => {
    if (ended === 'failed' && assertionResults.length === 0)
      return [failure(relative(root, name), 'is not loaded', message)];
    const failed = assertionResults.filter((test) => test.status === 'failed');
    return failed.map((test) => failure(relative(root, name), test.fullName, test.failureMessages[0]));
  });
  const unnamed = status !== 0 && failures.length === 0 ? 1 : 0;
  return { passed: numPassedTests, failed: failures.length + unnamed, skipped: numPendingTests, failures };
}

function failure(path: string, name: string, message = ''): string {
  return `failed: ${path} > ${name}: ${message.split('\n')[0]?.slice(0, LINE_MAX)}`;
}
