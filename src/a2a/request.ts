/** What both bindings of A2A check of a request, and read of its headers. See docs/protocol.md, "A2A order of checks". */
import { activatedExtensions, authenticateAgent } from './caller.ts'
import { extensionUris } from './extensions.ts'
import type { MethodCall } from './method-call.ts'
import type { AuthenticateCall } from '../auth/bearer.ts'
import type { Config } from '../config.ts'
import { apiLimits, type BodyLimits, checkDeclaredLength, taskLimits } from '../lib/http/body.ts'
import { CallerConnection } from '../lib/http/caller-connection.ts'
import type { AppContext } from '../request-context.ts'

export const mediaTypes = ['application/json', 'application/a2a+json']

/** What a call has from its request and not from its body. */
export type AdmittedCall = Omit<MethodCall, 'cards' | 'codec' | 'method' | 'params'>

/** The limits of a body: larger on the endpoint of an agent, which takes files. */
export function limitsOf(aliases: readonly string[]): BodyLimits {
  return aliases.length > 0 ? taskLimits : apiLimits
}

/**
 * The caller and what its headers say, before the body is read. Fails with `payload_too_large` if the request declares
 * so, `unauthenticated` or `rate_limit_exceeded`, in this order. `aliases`: those that the path names.
 */
export async function admit(
  authenticateCall: AuthenticateCall,
  config: Config,
  c: AppContext,
  aliases: readonly string[],
): Promise<AdmittedCall> {
  const request = c.req.raw
  checkDeclaredLength(request, limitsOf(aliases))
  const { account, check } = await authenticateAgent(authenticateCall, c)
  const { headers } = request
  return {
    account,
    aliases,
    extensions: activatedExtensions(request, extensionUris(config)),
    idempotencyKey: headers.get('Idempotency-Key') ?? undefined,
    waitSeconds: wholeNumber(headers.get('Prefer')?.match(/(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])/i)?.[1]),
    lastEventId: wholeNumber(headers.get('Last-Event-ID')?.match(/^\d{1,15}$/)?.[0]),
    connection: new CallerConnection(request, c.env),
    check,
  }
}

function wholeNumber(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits)
}
