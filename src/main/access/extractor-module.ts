/** Loads the extractor of the operator, a JavaScript module, at startup. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { customExtractor, type Extractor } from '#auth';
import { DatabaseError, messageOf } from '#base';
import { wallClock } from '#cluster';
import type { Logger } from '#observability';
import type { Config } from '../settings/settings.ts';

/** Name of the function that the module exports. */
const FACTORY = 'createExtractor';
const LOAD_MS = 10_000;
/** Minimum time between two log lines about the same fault of the extractor. */
const LOGGED_MS = 10_000;

/** @throws DatabaseError when the module cannot be loaded or returns no extractor. */
export async function loadExtractor(
  { auth, authExtractorModule: file }: Config,
  logger: Logger,
): Promise<Extractor | undefined> {
  if (auth === 'off' || file === 'none') return undefined;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`it has not ended within ${LOAD_MS} ms`)), LOAD_MS);
  let made: unknown;
  try {
    made = await Promise.race([madeBy(file), late.promise]);
  } catch (cause) {
    throw unusable(file, `cannot be loaded: ${messageOf(cause)}`, cause);
  } finally {
    clearTimeout(timer);
  }
  const read = customExtractor(made, { nowMs: () => wallClock.nowMs(), onFault: faultLog(logger) });
  if (read.kind === 'ok') return read.value;
  throw unusable(file, read.reason);
}

async function madeBy(file: string): Promise<unknown> {
  const module: unknown = await import(pathToFileURL(resolve(file)).href);
  const create: unknown = typeof module === 'object' && module !== null ? Reflect.get(module, FACTORY) : undefined;
  if (!isFactory(create)) throw new Error(`it exports no function ${FACTORY}`);
  return create();
}

function isFactory(value: unknown): value is () => unknown {
  return typeof value === 'function';
}

function faultLog(logger: Logger): (why: string) => void {
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  let unsaid = 0;
  return (why) => {
    const nowMs = performance.now();
    if (nowMs - loggedAtMs < LOGGED_MS) {
      unsaid++;
      return;
    }
    logger.warn('auth-extractor-failed', { why, unsaid });
    loggedAtMs = nowMs;
    unsaid = 0;
  };
}

function unusable(file: string, what: string, cause?: unknown): DatabaseError {
  return new DatabaseError('invalid_argument', `The module ${file} of auth-extractor-module ${what}`, { cause });
}
