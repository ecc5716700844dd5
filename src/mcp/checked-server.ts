/** The SDK's server, with errors for wrong parameters and refusals in our own words. */
import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import * as z from 'zod'
import type { GridError } from '../errors.ts'
import { parse } from '../lib/input.ts'
import type { Log } from '../lib/log.ts'
import { asGridError } from '../wire.ts'

/** The code of a reached limit, of the range that JSON-RPC leaves to servers. */
export const limitReached = -32000

type Handler = Parameters<Server['_wrapHandler']>[1]

const page = z.object({ cursor: z.string().optional() })
const resource = z.object({ uri: z.string() })
const anObject = z.looseObject({})

/** What the requests served here need in every revision. The rest of their parameters is checked by the SDK. */
const paramsOf = new Map<string, z.ZodType>([
  [
    'initialize',
    z.object({
      protocolVersion: z.string(),
      capabilities: anObject,
      clientInfo: z.object({ name: z.string(), version: z.string() }),
    }),
  ],
  ['tools/list', page],
  ['tools/call', z.object({ name: z.string(), arguments: anObject.optional() })],
  ['prompts/list', page],
  ['prompts/get', z.object({ name: z.string(), arguments: anObject.optional() })],
  ['resources/list', page],
  ['resources/templates/list', page],
  ['resources/read', resource],
  ['resources/subscribe', resource],
  ['resources/unsubscribe', resource],
])

/**
 * Answers wrong parameters with -32602 and a message that names the field, where the SDK sends -32603 and the output of
 * its validator. A `GridError` of a handler becomes an error with the code of its kind. Any other error is logged.
 */
export class CheckedServer extends Server {
  readonly #log: Log

  constructor(log: Log, ...options: ConstructorParameters<typeof Server>) {
    super(...options)
    this.#log = log
  }

  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const checked = super._wrapHandler(method, handler)
    const schema = paramsOf.get(method)
    return async (request, context) => {
      try {
        if (schema) parse(schema, request.params ?? {})
        return await checked(request, context)
      } catch (error) {
        throw this.#asProtocolError(error, method)
      }
    }
  }

  #asProtocolError(error: unknown, method: string): ProtocolError {
    if (isWrongParams(error)) {
      const message = `The parameters of ${method} are not as MCP defines them.`
      return new ProtocolError(ProtocolErrorCode.InvalidParams, message)
    }
    if (error instanceof ProtocolError) return error
    const known = asGridError(error, this.#log)
    return new ProtocolError(codeOf(known), known.message, dataOf(known))
  }
}

/** Whether the SDK's validator refused the parameters. The message is its output; for `tools/call` behind a prefix. */
function isWrongParams(error: unknown): boolean {
  return error instanceof Error && /^(?:Invalid tools\/call request: )?\[\n/.test(error.message)
}

function codeOf({ kind }: GridError): number {
  if (kind === 'limited') return limitReached
  return kind === 'internal' || kind === 'unavailable'
    ? ProtocolErrorCode.InternalError
    : ProtocolErrorCode.InvalidParams
}

/** As `rpcFrameError` in `wire.ts` says it. */
function dataOf({ kind, code, details }: GridError) {
  if (kind !== 'limited') return undefined
  return { code, retry_after_seconds: details.retryAfterSeconds }
}
