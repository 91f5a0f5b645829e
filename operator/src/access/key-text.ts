/** The text of an API key, as clients send it: `cairn_<id>_<secret><check>`. */
import { sha256Of } from '../kube/index.ts';

export interface KeyText {
  readonly id: string;
  /** SHA-256 of the secret, which is all that the cluster keeps of it. */
  readonly sha256: string;
}

const TEXT = /^cairn_([0-9a-f]{16})_([0-9a-f]{64})([0-9a-f]{8})$/;
const CHECK_LENGTH = 8;
/** Digits of an id that follow from the EventAccess; the others are random. */
const PREFIX_LENGTH = 10;
const ID_LENGTH = 16;

/** All keys of an EventAccess have ids that begin like this, so the cluster finds those that were left by a crash. */
export function idPrefixOf(uid: string): string {
  return sha256Of(uid).slice(0, PREFIX_LENGTH);
}

/** `random` are 40 bytes. */
export function newKeyText(uid: string, random: Buffer): string {
  const digits = random.toString('hex');
  const id = `${idPrefixOf(uid)}${digits.slice(0, ID_LENGTH - PREFIX_LENGTH)}`;
  const begin = `cairn_${id}_${digits.slice(-64)}`;
  return `${begin}${sha256Of(begin).slice(0, CHECK_LENGTH)}`;
}

/** Undefined when it is not the text of a key. */
export function parseKeyText(text: string | undefined): KeyText | undefined {
  const [, id, secret = '', check] = TEXT.exec(text ?? '') ?? [];
  if (id === undefined || sha256Of(`cairn_${id}_${secret}`).slice(0, CHECK_LENGTH) !== check) return undefined;
  return { id, sha256: sha256Of(secret) };
}
