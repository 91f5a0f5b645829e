/**
 * The last lines of .ci/run: each failed test with the first line of its error, the failed steps, and "N passed, N
 * failed", from the JSON report of vitest and the exit codes of the steps.
 *
 *   node scripts/ci-summary.mjs <report> packages=<code> check=<code> test=<code> chaos=<code> …
 *
 * `check` and each run of chaos count as one, passed or failed; `packages` does only when it failed. A test file
 * that failed without running a test counts as one failed, and so does a step that failed without any failed test to
 * show for it: the line never says "0 failed" about a failed run. Exits with 1 when anything failed. Plain JavaScript,
 * because it must work when nothing could be installed.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const LINE_MAX = 300;

const [reportPath, ...steps] = process.argv.slice(2);
const failedSteps = steps.filter((step) => !step.endsWith('=0')).map((step) => step.split('=')[0]);
const tests = countTests(reportPath);

if (failedSteps.includes('test') && tests.failed === 0) tests.failed = 1;
const otherFailed = failedSteps.filter((step) => step !== 'test').length;
const UNCOUNTED = ['packages=0', 'test=0'];
const passed = tests.passed + steps.filter((step) => step.endsWith('=0') && !UNCOUNTED.includes(step)).length;
const failed = tests.failed + otherFailed;

for (const line of tests.failures) console.log(line);
if (failedSteps.length > 0) console.log(`failed steps: ${failedSteps.join(', ')}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

// The report is missing or empty when vitest did not get as far as writing it; then the step itself has failed.
function countTests(path) {
  const text = readFileSync(path, 'utf8');
  if (text === '') return { passed: 0, failed: 0, failures: [] };
  const report = JSON.parse(text);
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  );
  const failedTests = report.testResults.flatMap((file) =>
    file.assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => failure(file.name, fullName, failureMessages[0])),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + brokenFiles.length,
    failures: [...failedTests, ...brokenFiles.map(({ name, message }) => failure(name, 'is not loaded', message))],
  };
}

function failure(path, name, message = '') {
  return `failed: ${relative(process.cwd(), path)} > ${name}: ${message.split('\n')[0].slice(0, LINE_MAX)}`;
}
