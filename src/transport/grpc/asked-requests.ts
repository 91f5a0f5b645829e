/**
 * The requests of one answer that name a revision or a time. The generated code has no number for a uint64 from 2^53
 * on, nor for an int64 that is as far from 0: both are valid, and the answer names them as they were sent.
 */
import { type BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { type AskedRevision, toAskedRevision } from '#base';
import type { SentTimestamp } from '#model';

export interface AtRevision {
  readonly databaseName: string;
  readonly revision: AskedRevision;
}

export interface AtTimestamp {
  readonly databaseName: string;
  readonly timestamp: SentTimestamp | undefined;
}

/** What is asked of a State View: the latest, or as of a revision. */
export interface AskedStateView {
  readonly databaseName: string;
  readonly name: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly revision: AskedRevision;
  readonly version: number | bigint | undefined;
  readonly effectiveTimeEndAt: SentTimestamp | undefined;
}

/** FetchDatabaseAtRevisionRequest and AwaitDatabaseRequest: `string database_name = 1; uint64 revision = 2`. */
export const AtRevision: { readonly decode: (reader: BinaryReader) => AtRevision } = {
  decode: (reader) => {
    let databaseName = '';
    let revision: AskedRevision = toAskedRevision(0);
    readFields(reader, reader.len, (field, wireType) => {
      if (field === 1 && wireType === WireType.LengthDelimited) databaseName = reader.string();
      else if (field === 2 && wireType === WireType.Varint) revision = toAskedRevision(exact(reader.uint64()));
      else return false;
      return true;
    });
    return { databaseName, revision };
  },
};

/** DatabaseEffectiveAtTimestampRequest: `string database_name = 1; Timestamp at_timestamp = 2`. */
export const AtTimestamp: { readonly decode: (reader: BinaryReader) => AtTimestamp } = {
  decode: (reader) => {
    let databaseName = '';
    let timestamp: SentTimestamp | undefined;
    readFields(reader, reader.len, (field, wireType) => {
      if (wireType !== WireType.LengthDelimited) return false;
      if (field === 1) databaseName = reader.string();
      else if (field === 2) timestamp = readTimestamp(reader);
      else return false;
      return true;
    });
    return { databaseName, timestamp };
  },
};

/**
 * FetchStateViewRequest: `string database_name = 1; string state_view_name = 2; map<string, string> parameters = 3`.
 * FetchStateViewAtRevisionRequest goes on: `uint64 revision = 4; optional uint64 version = 5; Timestamp
 * effective_time_end_at = 6`.
 */
export const AskedStateView: { readonly decode: (reader: BinaryReader) => AskedStateView } = {
  decode: (reader) => {
    let databaseName = '';
    let name = '';
    const parameters = new Map<string, string>();
    let revision: AskedRevision = toAskedRevision(0);
    let version: number | bigint | undefined;
    let effectiveTimeEndAt: SentTimestamp | undefined;
    readFields(reader, reader.len, (field, wireType) => {
      if (wireType === WireType.LengthDelimited) {
        if (field === 1) databaseName = reader.string();
        else if (field === 2) name = reader.string();
        else if (field === 3) parameters.set(...readEntry(reader));
        else if (field === 6) effectiveTimeEndAt = readTimestamp(reader);
        else return false;
        return true;
      }
      if (wireType !== WireType.Varint) return false;
      if (field === 4) revision = toAskedRevision(exact(reader.uint64()));
      else if (field === 5) version = exact(reader.uint64());
      else return false;
      return true;
    });
    return { databaseName, name, parameters, revision, version, effectiveTimeEndAt };
  },
};

/** An entry of a map of strings to strings. */
function readEntry(reader: BinaryReader): [string, string] {
  const entry: [string, string] = ['', ''];
  const length = reader.uint32();
  readFields(reader, reader.pos + length, (field, wireType) => {
    if (wireType !== WireType.LengthDelimited || (field !== 1 && field !== 2)) return false;
    entry[field - 1] = reader.string();
    return true;
  });
  return entry;
}

/** Of a message that is given twice the last one counts. */
function readTimestamp(reader: BinaryReader): SentTimestamp {
  let seconds: number | bigint = 0;
  let nanos = 0;
  const length = reader.uint32();
  readFields(reader, reader.pos + length, (field, wireType) => {
    if (wireType !== WireType.Varint) return false;
    if (field === 1) seconds = exact(reader.int64());
    else if (field === 2) nanos = reader.int32();
    else return false;
    return true;
  });
  return { seconds, nanos };
}

/** `take` answers whether the field is one that it knows. */
function readFields(reader: BinaryReader, end: number, take: (field: number, wireType: WireType) => boolean): void {
  while (reader.pos < end) {
    const [field, wireType] = reader.tag();
    if (!take(field, wireType)) reader.skip(wireType, field);
  }
}

/** A uint64 as a number where that is exact. */
function exact(value: bigint | string): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value);
}
