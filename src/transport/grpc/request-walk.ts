/**
 * Walks over the bytes of requests, for those of which every fault is told by its path, and whose bytes are not to be
 * copied.
 */
import { decodeUtf8, type ProtoReader } from '#base';
import { type Faults, foundBytes, refuseField } from '#model';
import { walkFields } from './messages.ts';

/** The bytes of a field: a view. */
export function readMessage(reader: ProtoReader): Uint8Array {
  const start = reader.lengthDelimited();
  return reader.bytes.subarray(start, reader.at);
}

export function readText(reader: ProtoReader, field: string, faults: Faults): string {
  const start = reader.lengthDelimited();
  const text = decodeUtf8(reader.bytes, start, reader.at);
  if (text === undefined) faults.add(field, 'must be well-formed UTF-8', foundBytes(reader.bytes, start, reader.at));
  return text ?? '';
}

/** What a message is made of: names of fields by their tags. */
export interface MessageShape {
  /** Without the package. */
  readonly type: string;
  readonly texts: ReadonlyMap<number, string>;
  /** Bytes, and messages. */
  readonly bytes?: ReadonlyMap<number, string>;
  /** Integers and enums. */
  readonly numbers?: ReadonlyMap<number, string>;
}

/** The fields of a message as they were sent: the last of each, and all of those that may be repeated. */
export class Fields {
  readonly #texts = new Map<string, string[]>();
  readonly #bytes = new Map<string, Uint8Array[]>();
  readonly #numbers = new Map<string, number | bigint>();
  readonly #shape: MessageShape;

  /**
   * `field` is the path of the message in its request; faults are added.
   * @throws DatabaseError invalid_argument: it is not the message, or has thousands of fields
   */
  constructor(message: Uint8Array, shape: MessageShape, { field, faults }: { field: string; faults: Faults }) {
    this.#shape = shape;
    walkFields(message, shape.type, (reader, tag) => {
      if (!this.#take(reader, tag, { field, faults })) {
        refuseField(reader, tag, { field, type: `cairn.v1.${shape.type}`, faults });
      }
    });
  }

  /** Undefined: it was not sent. */
  text(name: string): string | undefined {
    return this.#texts.get(name)?.at(-1);
  }

  texts(name: string): readonly string[] {
    return this.#texts.get(name) ?? [];
  }

  bytes(name: string): Uint8Array | undefined {
    return this.#bytes.get(name)?.at(-1);
  }

  all(name: string): readonly Uint8Array[] {
    return this.#bytes.get(name) ?? [];
  }

  number(name: string): number | bigint | undefined {
    return this.#numbers.get(name);
  }

  #take(reader: ProtoReader, tag: number, { field, faults }: { field: string; faults: Faults }): boolean {
    const { texts, bytes, numbers } = this.#shape;
    const text = texts.get(tag);
    const part = bytes?.get(tag);
    const number = numbers?.get(tag);
    if (text !== undefined) {
      append(this.#texts, text, readText(reader, field === '' ? text : `${field}.${text}`, faults));
    } else if (part !== undefined) append(this.#bytes, part, readMessage(reader));
    else if (number !== undefined) this.#numbers.set(number, reader.uint64());
    return (text ?? part ?? number) !== undefined;
  }
}

function append<Value>(lists: Map<string, Value[]>, name: string, value: Value): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [value]);
  else list.push(value);
}
