#!/usr/bin/env node
/**
 * The operator as a process: `cairn-operator [--image REPOSITORY] [--watch-namespace NAMESPACE] [--port 8080]
 * [--pod-name NAME] [--pod-namespace NAMESPACE]`. It finds the API server as kubectl does.
 *
 * Exit codes: 0 after SIGTERM or SIGINT, and when the API server serves further kinds, for which it starts again; 2 for
 * a wrong flag, 1 for anything else.
 */
import { Api, asError, HttpsTransport } from './kube/index.ts';
import { assemble } from './operator.ts';
import { type OperatorOptions, readOptions, Telemetry } from './process/index.ts';

const options = optionsOf(process.argv.slice(2));
if (options !== undefined) await run(options).catch(fail);

function optionsOf(args: readonly string[]): OperatorOptions | undefined {
  try {
    return readOptions(args);
  } catch (error) {
    log('error', 'cannot-start', error);
    process.exitCode = 2;
    return undefined;
  }
}

async function run(given: OperatorOptions): Promise<void> {
  const over = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => over.abort());
  const telemetry = new Telemetry();
  const server = await telemetry.listen(given.port);
  server.on('error', (error) => log('error', 'port-failed', error));
  const onError = (error: unknown): void => log('warn', 'request-failed', error);
  try {
    const operator = await assemble(given, { api: new Api(HttpsTransport.fromFile()), telemetry, onError });
    log('info', 'started');
    await operator.run(over.signal);
    log('info', over.signal.aborted ? 'stopped' : 'further-kinds-served');
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function fail(error: unknown): void {
  log('error', 'failed', error);
  process.exitCode = 1;
}

/** A line of JSON on stderr. */
function log(level: string, event: string, error?: unknown): void {
  const reason = error === undefined ? {} : { reason: asError(error).message };
  process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level, event, ...reason })}\n`);
}
