// Goal: key files that every user can read are named at start. Method: files with each mode.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { silentLogger } from '#observability';
import { readInvocation } from '../../../../src/main/settings/config.ts';
import { warnOfReadableSecrets } from '../../../../src/main/settings/setting-files.ts';
import { testDir } from '../../../support/test-scope.ts';

it.each([
  [0o600, []],
  [0o640, []],
  [0o644, ['auth-bootstrap-key-file']],
])('a key file of mode %o is warned of by %j', (mode, warned) => {
  const file = join(testDir(), 'key');
  writeFileSync(file, 'a secret of enough characters');
  chmodSync(file, mode);
  const read = readInvocation(['--auth=on', `--auth-bootstrap-key-file=${file}`], {});
  if (read.kind !== 'ok' || read.value.kind !== 'run') throw new Error('the settings start a node');
  const settings: unknown[] = [];
  const warn: typeof silentLogger.warn = (event, fields) =>
    settings.push(event === 'secret-readable' && fields?.['setting']);
  warnOfReadableSecrets(read.value.config, { ...silentLogger, warn });
  expect(settings).toEqual(warned);
});
