/**
 * Structured logs: the port that layers receive, and its adapter on pino.
 *
 * One log line is one thing that happened: a constant event name (kebab-case, searchable) and fields. Field names are
 * the field's standard words (`database`, `revision`, `group`, `term`). Event payloads and credentials are never
 * fields.
 *
 * stdout carries only the ready line, so logs go to stderr (O2).
 */
import { destination, type Logger as PinoLogger, pino } from 'pino';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  /** `fields.error` may be an Error; it is logged with its stack and its causes. */
  error(event: string, fields?: LogFields): void;
  /** A logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
  /** Writes what is buffered, synchronously; for the last words of a process. */
  flush(): void;
}

const REDACTED = ['authorization', 'cookie', 'apiKey', '*.authorization', '*.cookie', '*.apiKey'];

/** Logs at `level` and above to the file descriptor, 2 (stderr) unless told otherwise. Writes are synchronous. */
export function createLogger(options: { readonly level: LogLevel; readonly fd?: number }): Logger {
  // Synchronous writes: a line that explains an exit must not be lost with the process.
  const sink = destination({ fd: options.fd ?? 2, sync: true });
  const root = pino(
    {
      level: options.level,
      messageKey: 'event',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED, censor: '[redacted]' },
      serializers: { error: pino.stdSerializers.errWithCause },
    },
    sink,
  );
  return wrap(root, () => sink.flushSync());
}

/** Says nothing; for tests and tools. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => silentLogger,
  flush: () => undefined,
};

function wrap(target: PinoLogger, flush: () => void): Logger {
  return {
    debug: (event, fields) => target.debug(fields ?? {}, event),
    info: (event, fields) => target.info(fields ?? {}, event),
    warn: (event, fields) => target.warn(fields ?? {}, event),
    error: (event, fields) => target.error(fields ?? {}, event),
    with: (fields) => wrap(target.child(fields), flush),
    flush,
  };
}
