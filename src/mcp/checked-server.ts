/** The SDK's server, with errors for wrong parameters and refusals in our own words. */
import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { GridError } from '../errors.ts'
import { parse } from '../lib/input.ts'

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
  ['resources/list', page],
  ['resources/templates/list', page],
  ['resources/read', resource],
  ['resources/subscribe', resource],
  ['resources/unsubscribe', resource],
])

/**
 * Answers wrong parameters with -32602 and a message that names the field, where the SDK sends -32603 and the output of
 * its validator. A `GridError` of a handler becomes an error with the code of its kind. Handlers must fail with nothing
 * but a `GridError` or a `ProtocolError`: any other error counts as the SDK's refusal of the parameters.
 */
export class CheckedServer extends Server {
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const checked = super._wrapHandler(method, handler)
    const schema = paramsOf.get(method)
    return async (request, context) => {
      try {
        if (schema) parse(schema, request.params ?? {})
        return await checked(request, context)
      } catch (error) {
        throw asProtocolError(error, method)
      }
    }
  }
}

function asProtocolError(error: unknown, method: string): ProtocolError {
  if (error instanceof GridError) return new ProtocolError(codeOf(error), error.message, dataOf(error))
  // For one method, the SDK puts the output of its validator into such an error.
  if (error instanceof ProtocolError && !/^Invalid \S+ request: /.test(error.message)) return error
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `The parameters of ${method} are not as MCP defines them.`)
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
