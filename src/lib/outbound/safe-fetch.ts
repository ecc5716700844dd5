/**
 * Requests to servers named by users. Their responses are read completely. See docs/security.md, "Outgoing requests".
 */
import { parseAnswer } from '../http/body.ts'
import { asRemoteError, RemoteError } from './remote-error.ts'
import {
  createSafeStream,
  defaultMaxBytes,
  reported,
  type RequestLimits,
  type SafeStreamOptions,
} from './safe-stream.ts'

export interface SafeRequest extends RequestLimits {
  /** JSON text or bytes to POST. Without a body, the request is a GET. */
  body?: string | Uint8Array
  /** Additional headers in printable ASCII. They cannot replace the connection's headers. */
  headers?: Record<string, string>
}

export interface SafeResponse {
  /** The response's status. Never 3xx. */
  readonly status: number
  readonly text: string
  header(name: string): string | undefined
  /**
   * Returns the parsed body. Fails with `remote_unreachable` if it is not JSON or exceeds the JSON limits. `maxTokens`
   * overrides the maximum number of values.
   */
  json(limits?: { maxTokens?: number }): unknown
}

/** Sends a GET or POST like `SafeStream`, and reads the complete response. */
export type SafeFetch = (url: string, request: SafeRequest) => Promise<SafeResponse>

const jsonLimits = { maxDepth: 32, maxTokens: 5_000 }

export function createSafeFetch(options: SafeStreamOptions, stream = createSafeStream(options)): SafeFetch {
  return async (url, request) => {
    const { body, headers } = request
    const response = await stream(url, {
      ...request,
      method: body === undefined ? 'GET' : 'POST',
      headers: { Accept: 'application/json', ...headers },
      ...(body !== undefined &&
        { contentType: typeof body === 'string' ? 'application/json' : 'application/octet-stream' }),
    })
    try {
      return readWhole(response, await response.arrayBuffer(), request.maxBytes)
    } catch (error) {
      throw reported(options.log, new URL(url).host, request, error)
    }
  }
}

function readWhole({ status, headers }: Response, bytes: ArrayBuffer, maxBytes = defaultMaxBytes): SafeResponse {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  return {
    status,
    text,
    header: (name) => headers.get(name) ?? undefined,
    json: ({ maxTokens = jsonLimits.maxTokens } = {}) =>
      parseJsonBody(text, headers.get('content-type') ?? '', { maxBytes, maxTokens }),
  }
}

function parseJsonBody(
  text: string,
  contentType: string,
  limits: { maxBytes: number; maxTokens: number },
): unknown {
  if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType)) {
    throw new RemoteError('invalid_response', 'It is not JSON')
  }
  try {
    return parseAnswer(text, { maxDepth: jsonLimits.maxDepth, ...limits }).value
  } catch (error) {
    throw asRemoteError({ message: (error as Error).message }, 'invalid_response')
  }
}
