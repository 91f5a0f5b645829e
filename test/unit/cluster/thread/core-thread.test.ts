// Goal: an answer of the core counts before its next message, or its end, even when all arrive at once; its errors are
// logged. Method: a thread that emits them without a pause, as Node does with the messages that are left when a thread
// ends.
import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import type { ErrorLog } from '#base';
import { silentLogger } from '#observability';
import { CoreThread, type CoreWorker } from '../../../../src/cluster/thread/core-thread.ts';
import { packFailure } from '../../../../src/cluster/thread/core-thread-messages.ts';
import { LoggedErrors } from '../../../support/logged-errors.ts';

/** Emits these events as soon as the core is called. */
class AnsweringWorker extends EventEmitter {
  readonly #events: readonly (readonly [string, unknown])[];

  constructor(...events: readonly (readonly [string, unknown])[]) {
    super();
    this.#events = events;
  }

  postMessage({ id }: { readonly id: number }): void {
    this.emit('message', { kind: 'answered', id, answer: undefined });
    for (const [name, value] of this.#events) this.emit(name, value);
  }

  async terminate(): Promise<number> {
    return 0;
  }
}

function started(
  worker: AnsweringWorker,
  log: ErrorLog = silentLogger,
): { readonly core: CoreThread; readonly failures: string[] } {
  const failures: string[] = [];
  const ignore = (): void => undefined;
  const core = new CoreThread(worker as unknown as CoreWorker, {
    onFatal: ({ message }) => failures.push(message),
    onStopRequested: ignore,
    onDrain: ignore,
    onAdministered: ignore,
    onTelemetry: ignore,
    log,
  });
  return { core, failures };
}

const ORDER = {} as Parameters<CoreThread['open']>[0];

it('a core that ends with its answer to a drain has not failed', async () => {
  const worker = new AnsweringWorker();
  const { core, failures } = started(worker);
  await core.open(ORDER);
  const draining = core.drain();
  worker.emit('exit', 0);
  await draining;
  expect(failures).toEqual([]);
});

it('a core that fails with its answer to open is a failure', async () => {
  const failed = { kind: 'failed', failure: packFailure(new Error('the disk is gone')) };
  const { core, failures } = started(new AnsweringWorker(['message', failed]));
  await core.open(ORDER);
  expect(failures).toEqual(['the disk is gone']);
});

it('an error of the core is logged with its fields and its causes', () => {
  const error = new Error('a handler has failed', { cause: new Error('the disk is gone') });
  const log = new LoggedErrors();
  const worker = new AnsweringWorker();
  started(worker, log);
  const fields = { method: 'Join' };
  worker.emit('message', { kind: 'logged', event: 'grpc-call-failed', fields, failure: packFailure(error) });
  const said = { message: error.message, stack: expect.stringMatching(/Caused by: Error: the disk is gone/) };
  expect(log.errors).toEqual([['grpc-call-failed', { ...fields, error: expect.objectContaining(said) }]]);
});
