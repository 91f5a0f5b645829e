/** Reads the files that settings name, and warns when other users can read a secret file. */
import { readFileSync, statSync } from 'node:fs';
import { DatabaseError, messageOf, type Result } from '#base';
import type { Logger } from '#observability';
import type { Config } from './settings.ts';

/** Permission bit that lets every user of the machine read a file. */
const READ_BY_OTHERS = 0o004;

/** @throws DatabaseError `unavailable` when the file cannot be read; it names the file and the setting. */
export function contentOf(file: string, setting: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new DatabaseError('unavailable', `The file of ${setting} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/** The content of the file, as `read` parses it. @throws DatabaseError when the file cannot be read or is invalid */
export function readFile<Value>(file: string, setting: string, read: (text: string) => Result<Value, string>): Value {
  const found = read(contentOf(file, setting));
  if (found.kind === 'ok') return found.value;
  throw invalidFile(file, setting, found.reason);
}

/** `what` says what is wrong with the file, as in "has no certificate in PEM". */
export function invalidFile(file: string, setting: string, what: string, cause?: unknown): DatabaseError {
  return new DatabaseError('invalid_argument', `The file ${file} of ${setting} ${what}`, { cause });
}

/** Logs `secret-readable` for each key file that every user of the machine can read. */
export function warnOfReadableSecrets(config: Config, logger: Logger): void {
  const secrets = {
    'auth-bootstrap-key-file': config.authBootstrapKeyFile,
    'tls-key-file': config.tlsKeyFile,
    'peer-tls-key-file': config.peerTlsKeyFile,
    'peer-secret-file': config.peerSecretFile,
  };
  for (const [setting, file] of Object.entries(secrets)) {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
    if (file === 'none' || (mode & READ_BY_OTHERS) === 0) continue;
    const message = `Every user of this machine can read ${file} of ${setting}: chmod 600 it`;
    logger.warn('secret-readable', { setting, file, message });
  }
}
