/** The HTTP API of this node, as a client of it on loopback (ADR 0121). */
import { quote } from '#base';
import { ANSWER_BYTES_MAX, ANSWER_MS } from './limits.ts';

/** A request whose path is known to be one of the API (paths.ts). */
export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  /** With its query. */
  readonly path: string;
  readonly accept: string;
  readonly authorization: string | undefined;
  readonly body?: { readonly contentType: string; readonly bytes: Uint8Array<ArrayBuffer> | string };
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
  /** Where to go on, of a redirect or of what was created. */
  readonly location: string | undefined;
}

/** The API cannot be asked, or answers more than a tool can show. The message is for whoever called the tool. */
export class ApiFailure extends Error {}

const REDIRECTS_MAX = 3;

export class Api {
  /** Where it is served: `http://host:port`. */
  readonly #origin: string;

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Follows redirects within the API, such as that of `latest`. @throws ApiFailure */
  async ask(request: ApiRequest, signal: AbortSignal): Promise<ApiAnswer> {
    let answer = await this.#send(request, signal);
    for (let n = 0; n < REDIRECTS_MAX && isRedirect(answer); n++) {
      answer = await this.#send({ ...request, path: this.#pathOf(answer.location) }, signal);
    }
    return answer;
  }

  async #send(
    { method, path, accept, authorization, body, headers }: ApiRequest,
    signal: AbortSignal,
  ): Promise<ApiAnswer> {
    const timeout = AbortSignal.timeout(ANSWER_MS);
    try {
      const response = await fetch(`${this.#origin}${path}`, {
        method,
        redirect: 'manual',
        signal: AbortSignal.any([signal, timeout]),
        headers: {
          ...headers,
          accept,
          ...(authorization !== undefined && { authorization }),
          ...(body !== undefined && { 'content-type': body.contentType }),
        },
        ...(body !== undefined && { body: body.bytes }),
      });
      const text = await textOf(response, path);
      return { status: response.status, text, location: response.headers.get('location') ?? undefined };
    } catch (cause) {
      if (cause instanceof ApiFailure || signal.aborted) throw cause;
      const why = timeout.aborted ? `has not answered in ${ANSWER_MS} ms` : 'cannot be reached';
      throw new ApiFailure(`The HTTP API ${why}; try again`, { cause });
    }
  }

  /** Of a place that the API itself has named. */
  #pathOf(location = ''): string {
    const url = new URL(location, this.#origin);
    if (url.origin !== new URL(this.#origin).origin) throw new ApiFailure(`The API leads away, to ${quote(location)}`);
    return `${url.pathname}${url.search}`;
  }
}

function isRedirect({ status, location }: ApiAnswer): boolean {
  return (status === 307 || status === 302 || status === 308) && location !== undefined;
}

async function textOf({ body }: Response, path: string): Promise<string> {
  if (body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    bytes += part.value.length;
    if (bytes > ANSWER_BYTES_MAX) {
      await reader.cancel();
      const rule = `answers more than ${ANSWER_BYTES_MAX} bytes; ask for less, such as by limit`;
      throw new ApiFailure(`The path ${quote(path)} ${rule}`);
    }
    chunks.push(part.value);
  }
  return Buffer.concat(chunks).toString();
}
