/**
 * An artifact, which publishing produces and executors run: the component with its core modules capped and metered,
 * and the functions that the host calls.
 *
 *   u8 format   varint policy   u8 kind   digest, 32 bytes   binding   component, to the end
 *
 * It is a cache: its contents follow from the component, the limits and the policy, which together are its key.
 */
import {
  ByteReader,
  ByteWriter,
  type Field,
  fail,
  fieldsOf,
  fixedBytes,
  mapped,
  NO_BYTES,
  oneOf,
  parseHex,
  REST,
  TEXT,
  toHex,
  valid,
} from '#base';
import { COMPONENT_KINDS, type ComponentKind } from '../reading/allowed-imports.ts';
import type { Binding, ExportedFunction, Shape } from '../reading/required-exports.ts';

/**
 * Version of the rules that publishing applies: names, features, fixed limits, cap and meter. It changes with them, so
 * that older artifacts are made again.
 */
export const ARTIFACT_POLICY = 2;

const FORMAT = 1;
const DIGEST_BYTES = 32;

export interface Artifact {
  readonly digest: string;
  readonly kind: ComponentKind;
  readonly binding: Binding;
  readonly component: Uint8Array;
}

const EXPORTED: Field<ExportedFunction | undefined> = {
  write: (writer, exported) => {
    writer.u8(exported === undefined ? 0 : exported.interface === undefined ? 1 : 2);
    if (exported === undefined) return;
    TEXT.write(writer, exported.name);
    TEXT.write(writer, exported.shape);
    if (exported.interface !== undefined) TEXT.write(writer, exported.interface);
  },
  read: (reader) => {
    const form = reader.u8();
    if (form === 0 || form > 2) return form === 0 ? undefined : fail(reader);
    const [name, shape] = [TEXT.read(reader), TEXT.read(reader)];
    return form === 1 ? { name, shape } : { name, shape, interface: TEXT.read(reader) };
  },
};

const ARTIFACT = fieldsOf<Artifact>({
  kind: oneOf(COMPONENT_KINDS),
  digest: mapped(fixedBytes(DIGEST_BYTES), (digest: string) => parseHex(digest) ?? NO_BYTES, toHex),
  binding: fieldsOf<Binding>({
    shape: oneOf<Shape>(['own', 'sdk']),
    main: valid(EXPORTED, (exported) => exported !== undefined),
    batch: EXPORTED,
    query: EXPORTED,
  }),
  component: REST,
});

export function encodeArtifact(artifact: Artifact): Uint8Array {
  const writer = new ByteWriter(artifact.component.length + 512);
  writer.u8(FORMAT);
  writer.varint(ARTIFACT_POLICY);
  ARTIFACT.write(writer, artifact);
  // A view saves a copy: the writer is not used again.
  return writer.view();
}

/** Returns the artifact, or undefined for bytes of another format or policy. */
export function decodeArtifact(bytes: Uint8Array): Artifact | undefined {
  const reader = new ByteReader(bytes);
  if (reader.u8() !== FORMAT || reader.varint() !== ARTIFACT_POLICY) return undefined;
  const artifact = ARTIFACT.read(reader);
  return reader.failed ? undefined : artifact;
}
