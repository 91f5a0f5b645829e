/**
 * An artifact, which publishing produces and executors run: the component with its core modules capped and metered,
 * and the functions that the host calls.
 *
 *   u8 format   varint policy   u8 kind   digest, 32 bytes   binding   component, to the end
 *
 * It is a cache: its contents follow from the component, the limits and the policy, which together are its key.
 */
import { ByteReader, ByteWriter, parseHex, toHex } from '#base';
import { readText, writeText } from '../abi/value-codec.ts';
import type { ComponentKind } from '../reading/allowed-imports.ts';
import type { Binding, ExportedFunction } from '../reading/worlds.ts';

/**
 * Version of the rules that publishing applies: names, features, fixed limits, cap and meter. It changes with them, so
 * that older artifacts are made again.
 */
export const ARTIFACT_POLICY = 2;

const FORMAT = 1;
const DIGEST_BYTES = 32;
const KINDS: readonly ComponentKind[] = ['state-view', 'state-change', 'presenter'];

export interface Artifact {
  readonly digest: string;
  readonly kind: ComponentKind;
  readonly binding: Binding;
  readonly component: Uint8Array;
}

export function encodeArtifact({ digest, kind, binding, component }: Artifact): Uint8Array {
  const writer = new ByteWriter(component.length + 512);
  writer.u8(FORMAT);
  writer.varint(ARTIFACT_POLICY);
  writer.u8(KINDS.indexOf(kind));
  writer.bytes(parseHex(digest) ?? new Uint8Array(DIGEST_BYTES));
  writer.u8(binding.shape === 'own' ? 0 : 1);
  for (const exported of [binding.main, binding.batch, binding.query]) writeExported(writer, exported);
  writer.bytes(component);
  // A view saves a copy: the writer is not used again.
  return writer.view();
}

/** Returns the artifact, or undefined for bytes of another format or policy. */
export function decodeArtifact(bytes: Uint8Array): Artifact | undefined {
  const reader = new ByteReader(bytes);
  if (reader.u8() !== FORMAT || reader.varint() !== ARTIFACT_POLICY) return undefined;
  const kind = KINDS[reader.u8()];
  const digest = toHex(reader.bytes(DIGEST_BYTES));
  const shape = reader.u8() === 0 ? 'own' : 'sdk';
  const [main, batch, query] = [readExported(reader), readExported(reader), readExported(reader)];
  if (kind === undefined || main === undefined || reader.failed) return undefined;
  return { digest, kind, binding: { main, shape, batch, query }, component: reader.bytes(reader.left) };
}

function writeExported(writer: ByteWriter, exported: ExportedFunction | undefined): void {
  writer.u8(exported === undefined ? 0 : exported.interface === undefined ? 1 : 2);
  if (exported === undefined) return;
  writeText(writer, exported.name);
  writeText(writer, exported.shape);
  if (exported.interface !== undefined) writeText(writer, exported.interface);
}

function readExported(reader: ByteReader): ExportedFunction | undefined {
  const form = reader.u8();
  if (form === 0) return undefined;
  const [name, shape] = [readText(reader), readText(reader)];
  return form === 1 ? { name, shape } : { name, shape, interface: readText(reader) };
}
