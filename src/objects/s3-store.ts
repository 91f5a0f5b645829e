/**
 * An object store in a bucket of S3, or of a service with the same API that knows conditional writes.
 *
 * Region, endpoint and credentials are those of the environment, as all tools of AWS read them. The service verifies
 * the SHA-256 of what it receives. The client repeats failed calls, except for uploads that are streams.
 */
import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  NoSuchBucket,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { bytesOf, contentOf, hashOf, type NewHash, type ObjectContent, type ObjectStore } from '#archive';
import { DatabaseError } from '#base';

export interface S3Place {
  readonly bucket: string;
  /** Begin of the names of all objects: empty, or ending with a slash. */
  readonly prefix: string;
  /** The service has no DNS name for each bucket, as seldom another one than that of AWS. */
  readonly isPathStyle: boolean;
}

/** Content up to this size is sent from memory, and may be sent again. */
const SMALL_BYTES = 1024 * 1024;
const BYTES = { objectMode: false };
/** Time for a connection, and for the next byte; otherwise a call would hang. */
const TIMEOUTS = { connectionTimeout: 5_000, socketTimeout: 30_000 };
/** Without one, the client writes to the console. Every failure is an error anyway. */
const LOGGER = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const MISSING = [404];
/** Another object has the name, or is being created under it. */
const EXISTS = [412, 409];
const IGNORES_CONDITIONS =
  'the service ignores If-None-Match, so two nodes could replace the manifests of each other; use another one';

export class S3Store implements ObjectStore {
  readonly #client: S3Client;
  readonly #place: S3Place;
  readonly #newHash: NewHash;
  /** The service is known to create an object only once. */
  #isConditional = false;

  constructor(place: S3Place, newHash: NewHash) {
    this.#place = place;
    this.#newHash = newHash;
    this.#client = new S3Client({
      forcePathStyle: place.isPathStyle,
      requestHandler: TIMEOUTS,
      logger: LOGGER,
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
  }

  async get(name: string): Promise<ObjectContent | undefined> {
    const command = new GetObjectCommand(this.#named(name));
    const found = await this.#call(name, MISSING, () => this.#client.send(command));
    if (found === undefined) return undefined;
    const { Body: body, ContentLength: byteLength } = found;
    if (!(body instanceof Readable) || byteLength === undefined) throw this.#failure(name, 'its answer has no length');
    return { byteLength, chunks: () => body };
  }

  async size(name: string): Promise<number | undefined> {
    const command = new HeadObjectCommand(this.#named(name));
    return (await this.#call(name, MISSING, () => this.#client.send(command)))?.ContentLength;
  }

  async put(name: string, content: ObjectContent): Promise<void> {
    await this.#write(name, content);
  }

  async create(name: string, content: ObjectContent): Promise<boolean> {
    const isNew = await this.#write(name, content, '*');
    if (isNew && !this.#isConditional) {
      if (await this.#write(name, content, '*')) throw this.#failure(name, IGNORES_CONDITIONS);
      this.#isConditional = true;
    }
    return isNew;
  }

  async list(prefix: string): Promise<readonly string[]> {
    const { bucket, prefix: own } = this.#place;
    const names: string[] = [];
    let token: string | undefined;
    do {
      const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: own + prefix, ContinuationToken: token });
      const page = await this.#call(prefix, [], () => this.#client.send(command));
      names.push(...(page?.Contents ?? []).flatMap(({ Key: key }) => key?.slice(own.length) ?? []));
      token = page?.NextContinuationToken;
    } while (token !== undefined);
    return names.toSorted();
  }

  async remove(name: string): Promise<void> {
    const command = new DeleteObjectCommand(this.#named(name));
    await this.#call(name, MISSING, () => this.#client.send(command));
  }

  /** Returns false when there must be no object with the name, and there is one. */
  async #write(name: string, content: ObjectContent, unless?: '*'): Promise<boolean> {
    const { byteLength: ContentLength } = content;
    const held = ContentLength <= SMALL_BYTES ? contentOf(await bytesOf(content)) : content;
    const sha256 = content.sha256 ?? (await hashOf(this.#newHash, held));
    const ChecksumSHA256 = Buffer.from(sha256, 'hex').toString('base64');
    const Body = held === content ? Readable.from(content.chunks(), BYTES) : await bytesOf(held);
    const condition = unless && { IfNoneMatch: unless };
    const command = new PutObjectCommand({ ...this.#named(name), Body, ContentLength, ChecksumSHA256, ...condition });
    // The client does not notice that its source has failed.
    const aborting = new AbortController();
    if (Body instanceof Readable) Body.once('error', (failure) => aborting.abort(failure));
    const { signal: abortSignal } = aborting;
    try {
      const sent = await this.#call(name, unless ? EXISTS : [], () => this.#client.send(command, { abortSignal }));
      return sent !== undefined;
    } catch (failure) {
      throw abortSignal.aborted ? abortSignal.reason : failure;
    } finally {
      if (Body instanceof Readable) Body.destroy();
    }
  }

  /** Undefined when the service answers with one of these statuses. */
  async #call<Output>(
    name: string,
    statuses: readonly number[],
    call: () => Promise<Output>,
  ): Promise<Output | undefined> {
    try {
      return await call();
    } catch (failure) {
      if (!(failure instanceof S3ServiceException)) throw this.#failure(name, String(failure), failure);
      const { httpStatusCode: status = 0 } = failure.$metadata;
      if (statuses.includes(status) && !(failure instanceof NoSuchBucket)) return undefined;
      throw this.#failure(name, `${failure.name}: ${failure.message} (HTTP ${status})`, failure);
    }
  }

  #named(name: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#place.bucket, Key: this.#place.prefix + name };
  }

  #failure(name: string, reason: string, cause?: unknown): DatabaseError {
    const { bucket, prefix } = this.#place;
    return new DatabaseError('unavailable', `s3://${bucket}/${prefix}${name}: ${reason}`, { cause });
  }
}

function quiet(): void {}
