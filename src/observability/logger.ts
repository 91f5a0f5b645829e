/**
 * Structured logs: the port that layers receive, and its adapter on pino.
 *
 * One log line is one event: a constant event name (kebab-case, searchable) and fields. Field names are the field's
 * standard words (`database`, `revision`, `group`, `term`). Event payloads and credentials are never fields. A field
 * with the name of a standard key of the line (`level`, `time`, `event`) is renamed to `field_level` and so on, because
 * readers resolve duplicate keys differently.
 *
 * stdout carries only the ready line, so logs go to stderr (O2).
 */
import { destination, type Logger as PinoLogger, pino } from 'pino';
import { inSources } from './source-places.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  /** `fields.error` may be an Error; it is logged with its stack and its causes. */
  error(event: string, fields?: LogFields): void;
  /** Logs why the process exits or does not start, at every level including `silent`. */
  fatal(event: string, fields?: LogFields): void;
  /** A logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
  /** Writes buffered lines synchronously, before the process exits. */
  flush(): void;
}

const REDACTED = ['authorization', 'cookie', 'apiKey', '*.authorization', '*.cookie', '*.apiKey'];

/** The highest level of pino, above every level of the settings. */
const LAST_WORDS = 'fatal';

/** Standard keys of every line. */
const OWN_KEYS: readonly string[] = ['level', 'time', 'event'];

/**
 * Logs at `level` and above, and fatal errors at every level, to the file descriptor, 2 (stderr) by default. Writes are
 * synchronous.
 */
export function createLogger(options: { readonly level: LogLevel; readonly fd?: number }): Logger {
  // Synchronous writes: a line that explains an exit must not be lost with the process.
  const sink = destination({ fd: options.fd ?? 2, sync: true });
  const root = pino(
    {
      level: options.level === 'silent' ? LAST_WORDS : options.level,
      messageKey: 'event',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label === LAST_WORDS ? 'error' : label }) },
      redact: { paths: REDACTED, censor: '[redacted]' },
      serializers: { error: serializeError },
    },
    sink,
  );
  return wrap(root, () => sink.flushSync());
}

/** Logs nothing; for tests and tools. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  fatal: () => undefined,
  with: () => silentLogger,
  flush: () => undefined,
};

function wrap(target: PinoLogger, flush: () => void): Logger {
  return {
    debug: (event, fields) => target.debug(besideOwn(fields), event),
    info: (event, fields) => target.info(besideOwn(fields), event),
    warn: (event, fields) => target.warn(besideOwn(fields), event),
    error: (event, fields) => target.error(besideOwn(fields), event),
    fatal: (event, fields) => target[LAST_WORDS](besideOwn(fields), event),
    with: (fields) => wrap(target.child(besideOwn(fields)), flush),
    flush,
  };
}

/** An error with its causes and with stack traces that name the sources. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const serialized = pino.stdSerializers.errWithCause(error);
  nameSources(serialized);
  return serialized;
}

function nameSources(serialized: { stack?: unknown; cause?: unknown }): void {
  if (typeof serialized.stack === 'string') serialized.stack = inSources(serialized.stack);
  if (typeof serialized.cause === 'object' && serialized.cause !== null) nameSources(serialized.cause);
}

/** Renames fields that have the name of a standard key. */
function besideOwn(fields: LogFields = {}): LogFields {
  if (!OWN_KEYS.some((key) => Object.hasOwn(fields, key))) return fields;
  const renamed: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) renamed[OWN_KEYS.includes(key) ? `field_${key}` : key] = value;
  return renamed;
}
