// Damages of LevelDB's files with which it does not open.
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface LevelDamage {
  readonly what: string;
  readonly damage: (storeDirectory: string) => void;
  /** Fault that is reported. */
  readonly says: RegExp;
}

/** Path of the last file of the store with such a name. */
export function storeFile(storeDirectory: string, pattern: RegExp): string {
  return join(storeDirectory, readdirSync(storeDirectory).findLast((name) => pattern.test(name)) ?? '');
}

/** Flips a bit of the byte at this share of the file. */
export function flipAt(path: string, share: number): void {
  const bytes = readFileSync(path);
  const at = Math.floor(bytes.length * share);
  writeFileSync(path, bytes.fill((bytes[at] ?? 0) ^ 16, at, at + 1));
}

const cutTo =
  (share: number) =>
  (path: string): void =>
    truncateSync(path, Math.floor(readFileSync(path).length * share));

const [CURRENT, MANIFEST, TABLE] = [/^CURRENT$/, /^MANIFEST-/, /\.ldb$/];

export const LEVEL_DAMAGES: readonly LevelDamage[] = [
  damageOf('CURRENT is missing', CURRENT, rmSync, /CURRENT is missing/),
  damageOf('CURRENT is empty', CURRENT, cutTo(0), /CURRENT names no MANIFEST/),
  damageOf('CURRENT is cut', CURRENT, cutTo(0.5), /CURRENT names no MANIFEST/),
  damageOf('the MANIFEST is missing', MANIFEST, rmSync, /MANIFEST-\d+ is missing, which CURRENT names/),
  damageOf('the MANIFEST is empty', MANIFEST, cutTo(0), /Corruption: /),
  damageOf('the MANIFEST is cut', MANIFEST, cutTo(0.4), /Corruption: /),
  damageOf('a byte of the MANIFEST is flipped', MANIFEST, (path) => flipAt(path, 0.5), /Corruption: /),
  damageOf('a table is missing', TABLE, rmSync, /Corruption: \d+ missing files/),
];

function damageOf(what: string, pattern: RegExp, damage: (path: string) => void, says: RegExp): LevelDamage {
  return { what, damage: (storeDirectory) => damage(storeFile(storeDirectory, pattern)), says };
}
