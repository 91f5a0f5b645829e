/**
 * Runs one node from its settings to its end: builds it, prints the ready line, and drains it when it receives a
 * signal. A signal that arrives before anything is built ends the process with code 0 at once.
 *
 * ```
 *   build ──> ready line on stdout ──> serving ── SIGTERM, SIGINT, or an operator ──> draining ──> exit 0
 *     └─ cannot start: exit 1             └─ broken: one line, exit 70 (#cluster)         └─ not in time, or SIGINT: exit 1
 * ```
 */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { DatabaseError } from '#base';
import { BELONGS_NOWHERE, forgetStarts, stopProcess } from '#cluster';
import { createLogger, type LogFields, type Logger } from '#observability';
import { collectUnderPressure, lackingMemory, usableMemoryBytes } from '../process/memory-limit.ts';
import { usableProcessors } from '../process/processors.ts';
import { EXIT_REFUSED, EXIT_USAGE, isRefusal } from '../process/refusals.ts';
import { endAtOnce, type StopSignals } from '../process/stop-signals.ts';
import { ownLackingV8Options } from '../process/v8-options.ts';
import { warnOfReadableSecrets } from '../settings/setting-files.ts';
import type { Config } from '../settings/settings.ts';
import { type RunningNode, startServers } from './servers.ts';

/** EX_IOERR of sysexits. The operator enlarges the volume of a node that exits with it. */
const EXIT_DISK_FULL = 74;
const EXITS: Readonly<Record<string, number>> = {
  [BELONGS_NOWHERE]: EXIT_USAGE,
  LearnerFixed: EXIT_USAGE,
  DiskFull: EXIT_DISK_FULL,
};
const BY_OPERATOR = 'cairn cluster drain';

/** After the grace period, the time for the last responses and for closing; then the process exits anyway. */
const CLOSING_MS = 15_000;

/** Resolves when the node has stopped, with the exit code set. */
export async function serve(config: Config, signals: StopSignals): Promise<void> {
  const logger = createLogger({ level: config.logLevel }).with({ node: config.nodeName });
  // The process must not continue after an unexpected error: the next start recovers from the log.
  const remains = { logger, dataDirectory: config.dataDir };
  process.on('uncaughtException', (error) => stopProcess(remains, 'front', error));
  process.on('unhandledRejection', (reason) => stopProcess(remains, 'front', reason));
  // The reader of stdout may have closed it. The log has the same line.
  process.stdout.on('error', ({ message }: Error) => logger.warn('stdout-lost', { message }));
  const lacking = ownLackingV8Options();
  if (lacking.length > 0) logger.warn('v8-options-lacking', { lacking });
  const lackingBytes = lackingMemory();
  if (lackingBytes !== undefined)
    logger.warn('memory-too-small', { memoryBytes: usableMemoryBytes(), ...lackingBytes });
  collectUnderPressure();
  signals.onAnother = (signal) => {
    logger.fatal('stopped-without-drain', {
      signal,
      message: 'Another stop signal arrived before the drain was complete',
    });
    logger.flush();
    endAtOnce();
  };
  const early = await signals.firstSoFar();
  if (early !== undefined) {
    // Nothing was opened.
    logger.info('stopped', { signal: early });
    logger.flush();
    return;
  }
  const forget = (): void => forgetStarts(config.dataDir);
  process.once('exit', forget);
  void signals.arrived.then(forget);
  // From here on a signal stops the node when it has started, or at once while it waits for a cluster.
  let isWaiting = false;
  const endWhileWaiting = (): void => {
    if (!isWaiting || signals.first === undefined) return;
    logger.info('stopped', { signal: signals.first });
    logger.flush();
    process.exit(0);
  };
  void signals.arrived.then(endWhileWaiting);
  const running = await start(config, logger, (waits) => {
    isWaiting = waits;
    endWhileWaiting();
  });
  logger.info('resources', resources());
  process.stdout.write(`${JSON.stringify({ event: 'ready', ...running.addresses })}\n`);
  logger.info('ready', { ...running.addresses });
  // For a person at a terminal. Programs that collect stderr expect only lines of JSON.
  if (process.stderr.isTTY) process.stderr.write(`Open ${running.addresses.http}\n`);
  const by = await Promise.race([signals.arrived, running.stopRequested.then(() => BY_OPERATOR)]);
  logger.info('draining', { by, graceMs: config.shutdownGraceMs });
  await drained(running, config.shutdownGraceMs + CLOSING_MS, logger);
  const { leads } = running.unfinished;
  logger.info('stopped', leads === 0 ? {} : { leadsLeft: leads });
  logger.flush();
}

/** Resources that the process may use and derived values, so that a container without visible limits is noticed. */
function resources(): LogFields {
  const heapBytesMax = getHeapStatistics().heap_size_limit;
  const poolThreads = Number(process.env['UV_THREADPOOL_SIZE']);
  const memoryFrom = usableMemoryBytes() < totalmem() ? 'container' : 'machine';
  const memory = { memoryBytes: usableMemoryBytes(), memoryFrom, heapBytesMax };
  return { ...memory, processors: usableProcessors(), poolThreads };
}

/** Drains within a limit, then exits the process: the log has everything that was acknowledged. */
async function drained(running: RunningNode, withinMs: number, logger: Logger): Promise<void> {
  const late = setTimeout(() => {
    const message = `Not drained within ${withinMs} ms; something hangs, such as a disk`;
    logger.fatal('stopped-without-drain', { ...running.unfinished, message });
    logger.flush();
    endAtOnce();
  }, withinMs);
  await running.drain();
  clearTimeout(late);
}

async function start(config: Config, logger: Logger, waiting: (isWaiting: boolean) => void): Promise<RunningNode> {
  warnOfReadableSecrets(config, logger);
  try {
    return await startServers(config, logger, waiting);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const { message } = error;
    const reason = error instanceof DatabaseError ? error.details.reason : undefined;
    logger.fatal('cannot-start', { message, ...(reason === undefined ? {} : { reason }) });
    logger.debug('cannot-start-because', { error });
    logger.flush();
    // At once, because a thread that was starting may still run.
    process.exit(EXITS[reason ?? ''] ?? EXIT_REFUSED);
  }
}
